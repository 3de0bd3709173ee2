import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { type Fixture, LLMock } from "@copilotkit/aimock";
import { isPromiseLike, type ModelRequest } from "@ravi/kernel";
import type { Answer, Script } from "@ravi/testing";
import { describeModel, type ModelAbility } from "@ravi/testing/suites";
import { describe, expect, test } from "vitest";
import { type AiSdkModel, fromAiSdk } from "../src/index.ts";
import { ask, failureOf, streamed } from "./support.ts";

// A server that we did not write.

type FixtureResponse = Exclude<Fixture["response"], (...args: never) => unknown>;

const MODELS: Readonly<Record<string, (url: string, apiKey: string) => AiSdkModel>> = {
  "@ai-sdk/openai (chat)": (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat("gpt-4.1"),
  "@ai-sdk/openai (responses)": (url, apiKey) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses("gpt-4.1"),
  "@ai-sdk/anthropic": (url, apiKey) =>
    createAnthropic({ baseURL: `${url}/v1`, apiKey })("claude-sonnet-4-5"),
};

/** What aimock cannot be told to do, or does not show. */
const WITHOUT: readonly ModelAbility[] = [
  "cachedUsage",
  "cacheWriteUsage",
  "reasoningUsage",
  "silentUsage",
  "refused",
  "filtered",
  "cut",
  "errorEvent",
  "unfinished",
  "malformed",
  "hang",
  "seesClose",
  "idempotencyKey",
  "seesRequests",
  "translates",
  "stop",
  "seed",
  "reasoning",
  // It sends it with 429 only.
  "retryAfter",
  "cutCalls",
];

async function serving(script: Script<unknown>): Promise<LLMock> {
  if (typeof script !== "function") throw new Error("the suite gives a function");
  const mock = new LLMock({ port: 0 });
  mock.on({ predicate: () => true }, async (request) => {
    const messages = request.messages.map(({ content }) => ({
      role: "user" as const,
      content: typeof content === "string" ? content : "",
    }));
    const answer = script({ messages } satisfies ModelRequest, {});
    return fixtureOf(isPromiseLike(answer) ? await answer : answer);
  });
  await mock.start();
  return mock;
}

/** What a script answers, as aimock has it. */
function fixtureOf(answer: Answer): FixtureResponse {
  if (answer instanceof Error) return { error: { message: answer.message }, status: 500 };
  if (typeof answer === "string") return { content: answer };
  const { fault, text = "", toolCalls = [], finishReason, usage } = answer;
  if (fault?.type === "status") {
    const { status, message = "refused", code } = fault;
    return { error: { message, ...(code === undefined ? {} : { code }) }, status };
  }
  const shared = {
    ...(finishReason === "length" ? { finishReason } : {}),
    ...(usage === undefined || usage === null
      ? {}
      : {
          usage: {
            prompt_tokens: usage.inputTokens ?? 1,
            completion_tokens: usage.outputTokens ?? 1,
            input_tokens: usage.inputTokens ?? 1,
            output_tokens: usage.outputTokens ?? 1,
          },
        }),
  };
  if (toolCalls.length === 0) return { content: text, ...shared };
  const calls = toolCalls.map(({ id, name, arguments: args = {} }, index) => ({
    name,
    arguments: typeof args === "string" ? args : JSON.stringify(args),
    id: id ?? `call_${index}`,
  }));
  return text === "" ? { toolCalls: calls, ...shared } : { content: text, toolCalls: calls, ...shared };
}

for (const [name, make] of Object.entries(MODELS)) {
  describeModel(`fromAiSdk over ${name}, against aimock`, {
    async open({ script, apiKey, idleTimeoutMs }) {
      const mock = await serving(script);
      return {
        client: fromAiSdk(make(mock.url, apiKey), { idleTimeoutMs }),
        requests: () => mock.getRequests().length,
        close: () => mock.stop(),
      };
    },
    // Its Responses do not say what cut them off.
    without: name.includes("responses") ? [...WITHOUT, "length"] : WITHOUT,
  });
}

describe.each(Object.entries(MODELS))("fromAiSdk over %s, against aimock", (_name, make) => {
  test.each(["dropRate", "malformedRate", "disconnectRate"] as const)(
    "T10: its chaos (%s) is a failure that can be tried again, after one request",
    async (rate) => {
      const mock = new LLMock({ port: 0, chaos: { [rate]: 1 } });
      mock.onMessage(/.*/, { content: "a text of some length, in several pieces" }, { chunkSize: 4 });
      await mock.start();
      try {
        const client = fromAiSdk(make(mock.url, "sk-test-0001"));
        expect(await failureOf(client.generate(ask("go")))).toMatchObject({
          code: "PROVIDER_ERROR",
          retryable: true,
        });
        expect(await failureOf(streamed(client))).toMatchObject({ code: "PROVIDER_ERROR", retryable: true });
      } finally {
        await mock.stop();
      }
    },
  );
});
