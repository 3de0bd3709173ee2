import { defineTool, type LLMClient, type ModelEvent, type ModelResponse } from "@ravi/kernel";
import * as z from "zod";
import { type Asked, DONE, inc, type Plan } from "./fake.ts";

// The fake model and the tool in the shapes that Ravi's agents take.

export const tools = [
  defineTool({
    name: "inc",
    description: "n -> n + 1",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: inc,
  }),
];
const info = { provider: "fake", model: "fake" };
const usage = { inputTokens: 1, outputTokens: 1 };

export function fakeModel(plan: Plan): LLMClient {
  return {
    id: "fake",
    info,
    async generate({ messages }): Promise<ModelResponse> {
      const last = messages.at(-1);
      const asked = plan(last?.role === "tool" ? Number(last.content) : 0);
      return answer(asked instanceof Promise ? await asked : asked);
    },
  };
}

function answer(calls: Asked): ModelResponse {
  if (calls === null) return { message: { role: "assistant", content: DONE }, finishReason: "stop", usage };
  const toolCalls = calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) }));
  return { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls", usage };
}

/** Streams an answer of `deltas` characters, one at a time. */
export function streamingModel(deltas: number): LLMClient {
  const response: ModelResponse = {
    message: { role: "assistant", content: "x".repeat(deltas) },
    finishReason: "stop",
    usage,
  };
  return {
    id: "fake",
    info,
    generate: async () => response,
    async *stream(): AsyncGenerator<ModelEvent> {
      for (let n = 0; n < deltas; n++) yield { type: "text", delta: "x" };
      yield { type: "finish", response };
    },
  };
}
