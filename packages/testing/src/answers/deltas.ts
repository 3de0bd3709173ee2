import type { ModelEvent } from "@ravi/kernel";
import type { Plan } from "./plan.ts";

/** One piece of a streamed answer. */
export type Delta = Exclude<ModelEvent, { type: "finish" }>;

/** In characters. Small, so that no test passes only because an answer came in one piece. */
export const DEFAULT_CHUNK_SIZE = 8;

/** The answer in the order in which it is streamed: reasoning, text, then each tool call, which begins with its id and name. */
export function deltasOf(
  answer: Pick<Plan, "text" | "reasoning" | "toolCalls">,
  chunkSize: number,
): readonly Delta[] {
  return [
    ...pieces(answer.reasoning, chunkSize).map((delta) => ({ type: "reasoning", delta }) as const),
    ...pieces(answer.text, chunkSize).map((delta) => ({ type: "text", delta }) as const),
    ...answer.toolCalls.flatMap(({ id, name, arguments: text }, index): Delta[] => [
      { type: "toolCall", index, id, name, delta: "" },
      ...pieces(text, chunkSize).map((delta) => ({ type: "toolCall", index, delta }) as const),
    ]),
  ];
}

/** Splits between characters and never inside a surrogate pair: half a pair is not valid text in JSON. */
function pieces(text: string, size: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + size, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++;
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
