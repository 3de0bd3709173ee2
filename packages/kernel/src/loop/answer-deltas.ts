import type { ModelEvent, ModelResponse } from "../model/llm.ts";

type TextDelta = Extract<ModelEvent, { type: "text" | "reasoning" }>;

/** What observers have of an answer already. */
interface Shown {
  readonly hasText: boolean;
  readonly hasThoughts: boolean;
}

/**
 * What an answer says as deltas, one for each part, for observers of an answer that was not streamed: its model cannot, it comes from a
 * cache, or it was held back until it was judged. Without the thoughts if they were streamed; nothing if text was.
 */
export function answerDeltas(
  { message: { content } }: ModelResponse,
  shown: Shown | undefined,
): readonly TextDelta[] {
  if (shown?.hasText === true) return [];
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part) => {
    const isNew = part.type === "text" || (part.type === "reasoning" && shown?.hasThoughts !== true);
    // A model in plain JavaScript may leave out the text of a thought.
    return isNew && Boolean(part.text) ? [{ type: part.type, delta: part.text }] : [];
  });
}

/** The same with its tool calls, for a reader of the stream. */
export function answerEvents(response: ModelResponse): readonly ModelEvent[] {
  const calls = (response.message.toolCalls ?? []).map(
    ({ id, name, arguments: delta }, index): ModelEvent => {
      return { type: "toolCall", index, id, name, delta };
    },
  );
  return [...answerDeltas(response, undefined), ...calls];
}
