import { type ChaosConfig, type Fixture, LLMock } from "@copilotkit/aimock";
import { isPromiseLike, textOf, type UserMessage } from "@ravi/kernel";
import type { Answer } from "@ravi/testing";
import { describeModel, type ModelAbility, type ModelSuite } from "@ravi/testing/suites";
import { afterEach, describe, expect, test } from "vitest";
import { anthropic, type AnthropicOptions } from "@ravi/provider-anthropic";
import { failureOf, HELLO, streamed, told } from "./support.ts";

// Against a server that we did not write.

type Reply = Exclude<Fixture["response"], (...args: never) => unknown>;

const started: LLMock[] = [];
afterEach(async () => {
  for (const mock of started.splice(0)) await mock.stop();
});

async function start(prepare: (mock: LLMock) => unknown): Promise<LLMock> {
  const mock = new LLMock({ port: 0, strict: true });
  prepare(mock);
  await mock.start();
  started.push(mock);
  return mock;
}

const clientOf = (mock: LLMock, options: AnthropicOptions = {}) =>
  anthropic("claude-opus-4-5", { baseURL: mock.url, apiKey: "sk-ant-test-0001", ...options });

/** An answer of the suite in aimock's words. */
function replyOf(answer: Answer): Reply {
  if (typeof answer === "string") return { content: answer };
  if (answer instanceof Error) return { error: { message: answer.message }, status: 500 };
  const { text = "", reasoning, toolCalls = [], usage, finishReason, fault } = answer;
  if (fault?.type === "status") {
    const retryAfter = Number(fault.headers?.["retry-after"]);
    const error = { message: fault.message ?? "refused", type: fault.code ?? "some_error" };
    return { error, status: fault.status, ...(Number.isNaN(retryAfter) ? {} : { retryAfter }) };
  }
  const rest = {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(finishReason === undefined
      ? {}
      : { finishReason: finishReason === "refused" ? "refusal" : finishReason }),
    usage: { input_tokens: usage?.inputTokens ?? 1, output_tokens: usage?.outputTokens ?? 1 },
  };
  const calls = toolCalls.map((call, n) => ({
    name: call.name,
    id: call.id ?? `toolu_${n}`,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }));
  if (calls.length === 0) return { content: text, ...rest };
  return text === "" ? { toolCalls: calls, ...rest } : { content: text, toolCalls: calls, ...rest };
}

const suite: ModelSuite = {
  async open({ script, apiKey, idleTimeoutMs }) {
    if (typeof script !== "function") throw new TypeError("the suite's script is a function");
    const mock = await start((server) =>
      server.on({ predicate: () => true }, async ({ messages }) => {
        const seen = messages.map(({ content }): UserMessage => ({ role: "user", content: String(content) }));
        const answer = script({ messages: seen }, {});
        return replyOf(isPromiseLike(answer) ? await answer : answer);
      }),
    );
    return {
      client: clientOf(mock, { apiKey, idleTimeoutMs }),
      requests: () => mock.getRequests().length,
    };
  },
  // What aimock cannot do, or does not show of a request; and what the API has not: a seed, a filter.
  without: [
    "seed",
    "filtered",
    "temperature",
    "topP",
    "cachedUsage",
    "cacheWriteUsage",
    "reasoningUsage",
    "silentUsage",
    "cut",
    "errorEvent",
    "unfinished",
    "malformed",
    "hang",
    "seesClose",
    "idempotencyKey",
    "seesRequests",
    "translates",
    // It sends it with 429 alone.
    "retryAfter",
  ] satisfies readonly ModelAbility[],
};

describeModel("of Anthropic, against aimock", suite);

describe("aimock", () => {
  test("a tool turn goes there and back, with thoughts that it demands and redacted ones", async () => {
    const mock = await start((server) => {
      server.on(
        { userMessage: "weather", hasToolResult: false },
        {
          reasoning: "Two cities.",
          reasoningSignature: "c2lnbmF0dXJl",
          redactedThinking: ["ZW5jcnlwdGVk"],
          toolCalls: ["Oslo", "Rome"].map((city, n) => ({
            name: "weather",
            arguments: JSON.stringify({ city }),
            id: `toolu_${n}`,
          })),
        },
        { chunkSize: 3 },
      );
      server.on({ hasToolResult: true }, { content: "Rome is warmer." });
    });
    // With a budget, aimock refuses a turn of tools that does not begin with its thoughts.
    const model = clientOf(mock, { thinking: { budgetTokens: 2_000 } });
    const question: UserMessage = { role: "user", content: "How is the weather in Oslo and Rome?" };
    const { events, response } = await streamed(model, { messages: [question] });
    expect(told(events, "reasoning")).toBe("Two cities.");
    expect(response.message.toolCalls).toHaveLength(2);
    const results = (response.message.toolCalls ?? []).map(({ id, name }) => ({
      role: "tool" as const,
      toolCallId: id,
      name,
      content: "fine",
    }));
    const last = await model.generate({ messages: [question, response.message, ...results] });
    expect(textOf(last.message)).toBe("Rome is warmer.");
    // Without its thoughts, thinking is left out, and it is taken too.
    const { content: _, ...calls } = response.message;
    const bare = { ...calls, content: "" };
    expect(textOf((await model.generate({ messages: [question, bare, ...results] })).message)).toBe(
      "Rome is warmer.",
    );
  });

  const CHAOS: readonly (readonly [string, ChaosConfig, string])[] = [
    ["a dropped request", { dropRate: 1 }, "SERVER_ERROR"],
    ["malformed JSON", { malformedRate: 1 }, "SERVER_ERROR"],
    ["a connection that breaks", { disconnectRate: 1 }, "SERVER_ERROR"],
    ["a rate limit", { rateLimitRate: 1 }, "RATE_LIMIT"],
  ];
  test.each(CHAOS)("T10: %s is a failure that says what to do, streamed or not", async (_, chaos, kind) => {
    const mock = await start((server) => server.onMessage("hello", { content: "Hello." }, { chaos }));
    for (const failed of [clientOf(mock).generate(HELLO), streamed(clientOf(mock))]) {
      expect(await failureOf(failed)).toMatchObject({ kind, retryable: true });
    }
    expect(mock.getRequests()).toHaveLength(2);
  });

  test("T10: a stream that stops after some chunks is a failure, not an answer", async () => {
    const mock = await start((server) =>
      server.onMessage("hello", { content: "Hello there." }, { chunkSize: 2, truncateAfterChunks: 4 }),
    );
    expect(await failureOf(streamed(clientOf(mock)))).toMatchObject({
      kind: "SERVER_ERROR",
      retryable: true,
    });
  });

  test("O6: Retry-After of a 429, and an overload of 529", async () => {
    const mock = await start((server) => {
      server.onMessage("slow", { error: { message: "slow down" }, status: 429, retryAfter: 7 });
      server.onMessage("busy", { error: { message: "Overloaded", type: "overloaded_error" }, status: 529 });
    });
    const asked = (content: string) => clientOf(mock).generate({ messages: [{ role: "user", content }] });
    expect(await failureOf(asked("slow"))).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs: 7_000 });
    expect(await failureOf(asked("busy"))).toMatchObject({ kind: "OVERLOADED", retryable: true });
  });
});
