import fc from "fast-check";
import type { AssistantMessage, ChatMessage, ContentPart, ToolMessage } from "@ravi/kernel";

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.integer({ min: 400, max: 1_500 }).map((length) => "long ".repeat(length / 5)),
);

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  text.map((value): ContentPart => ({ type: "text", text: value })),
  fc.constant<ContentPart>({ type: "image", url: "data:image/png;base64,AAAA", mediaType: "image/png" }),
  fc.constant<ContentPart>({
    type: "file",
    url: "https://a.example/report.pdf",
    mediaType: "application/pdf",
  }),
  text.map((value): ContentPart => ({ type: "reasoning", text: value })),
);

const content = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.array(part, { maxLength: 3 }) },
);

interface Turn {
  readonly kind: "user" | "assistant" | "notice" | "calls";
  readonly content: string | readonly ContentPart[];
  readonly results: readonly { content: string | readonly ContentPart[]; isError: boolean; late: boolean }[];
}

const turn: fc.Arbitrary<Turn> = fc.record({
  kind: fc.constantFrom<Turn["kind"]>("user", "assistant", "calls", "calls", "calls", "notice"),
  content,
  results: fc.array(fc.record({ content, isError: fc.boolean(), late: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  }),
});

/** A transcript as a run leaves it: system prompts, the task, then talk and tool calls, up to four at once. */
export const transcript: fc.Arbitrary<readonly ChatMessage[]> = fc
  .record({
    system: fc.array(fc.string({ maxLength: 40 }), { maxLength: 2 }),
    task: content,
    turns: fc.array(turn, { maxLength: 25 }),
  })
  .map(({ system, task, turns }) => {
    const messages: ChatMessage[] = system.map((value) => ({ role: "system", content: value }));
    messages.push({ role: "user", content: task });
    turns.forEach((one, at) => {
      for (const message of messagesOf(one, at)) messages.push(message);
    });
    return Object.freeze(messages.map((message) => Object.freeze(message)));
  });

function messagesOf(one: Turn, at: number): ChatMessage[] {
  if (one.kind === "user") return [{ role: "user", content: one.content }];
  if (one.kind === "assistant") return [{ role: "assistant", content: one.content }];
  if (one.kind === "notice") return [{ role: "system", content: "80 % of the budget is used" }];
  const calls = one.results.map((_, n) => ({ id: `c${at}_${n}`, name: `tool${n}`, arguments: "{}" }));
  const said: AssistantMessage = { role: "assistant", content: one.content, toolCalls: calls };
  const results = one.results.map((result, n): ToolMessage => ({
    role: "tool",
    toolCallId: `c${at}_${n}`,
    name: `tool${n}`,
    content: result.content,
    ...(result.isError ? { isError: true } : {}),
  }));
  // Results come back in the order in which the tools end.
  const early = results.filter((_, n) => one.results[n]?.late !== true);
  const late = results.filter((_, n) => one.results[n]?.late === true);
  return [said, ...early, ...late];
}

/** `count` messages of an agent at work: a task, then groups of a call and its result. */
export function longTranscript(count: number, length = 100): ChatMessage[] {
  const messages: ChatMessage[] = [
    { role: "system", content: "You are careful." },
    { role: "user", content: "Do the long task." },
  ];
  for (let n = 0; messages.length < count - 1; n++) {
    const id = `call_${n}`;
    messages.push({
      role: "assistant",
      content: "",
      toolCalls: [{ id, name: "read", arguments: `{"n":${n}}` }],
    });
    messages.push({ role: "tool", toolCallId: id, name: "read", content: `${n} `.repeat(length / 4) });
  }
  return messages;
}

export const runs = (short: number, long: number): number => (process.env["RAVI_LONG"] ? long : short);
