// A LanguageModelV4, for the peers that speak it (the AI SDK, Mastra). Plain, and not the mock of `ai/test`, which keeps every
// prompt for ever: that would be charged to the framework's memory.
import { DONE } from "../src/fake.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const STOP = { unified: "stop", raw: "stop" };
const TOOL_CALLS = { unified: "tool-calls", raw: "tool_calls" };

/** The number in the last tool result; 0 on the user's turn. */
function lastOf(prompt) {
  const message = prompt.at(-1);
  return message.role === "tool" ? Number(message.content.at(-1).output.value) : 0;
}

function answer(calls) {
  if (calls === null) return { finishReason: STOP, content: [{ type: "text", text: DONE }] };
  const content = calls.map(({ id, name, args }) => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: JSON.stringify(args),
  }));
  return { finishReason: TOOL_CALLS, content };
}

function* textParts(deltas) {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "t" };
  for (let n = 0; n < deltas; n++) yield { type: "text-delta", id: "t", delta: "x" };
  yield { type: "text-end", id: "t" };
  yield { type: "finish", finishReason: STOP, usage };
}

export function model(plan, deltas = 0) {
  return {
    specificationVersion: "v4",
    provider: "fake",
    modelId: "fake",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      return { ...answer(await plan(lastOf(prompt))), usage, warnings: [] };
    },
    async doStream() {
      const parts = textParts(deltas);
      const stream = new ReadableStream({
        pull(controller) {
          const { value, done } = parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      });
      return { stream };
    },
  };
}
