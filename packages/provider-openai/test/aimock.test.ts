import { type ChaosConfig, type Fixture, LLMock } from "@copilotkit/aimock";
import { isPromiseLike, type ModelRequest, textOf } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import type { Answer, Script } from "@ravi/testing";
import { describeModel, type ModelAbility } from "@ravi/testing/suites";
import { describe, expect, onTestFinished, test } from "vitest";
import { deltasOf, failureOf, HELLO, streamed } from "./support.ts";

// A server that we did not write.

type FixtureResponse = Exclude<Fixture["response"], (...args: never) => unknown>;

const APIS = ["responses", "chat"] as const;

/** What a script answers, as aimock has it. */
function fixtureOf(answer: Answer): FixtureResponse {
  if (answer instanceof Error) return { error: { message: answer.message }, status: 500 };
  if (typeof answer === "string") return { content: answer };
  const { fault, text = "", reasoning, toolCalls = [], finishReason, usage, model } = answer;
  if (fault?.type === "status") {
    const { status, message = "refused", code, headers = {} } = fault;
    const after = headers["retry-after"];
    return {
      error: { message, ...(code === undefined ? {} : { code }) },
      status,
      ...(after === undefined ? {} : { retryAfter: Number(after) }),
    };
  }
  const shared = {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(model === undefined ? {} : { model }),
    ...(finishReason === "length" ? { finishReason: "length" } : {}),
    ...(finishReason === "filtered" ? { finishReason: "content_filter" } : {}),
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

async function aimock(set: (mock: LLMock) => void): Promise<LLMock> {
  const mock = new LLMock({ port: 0 });
  set(mock);
  await mock.start();
  return mock;
}

async function answering(script: Script<unknown>): Promise<LLMock> {
  if (typeof script !== "function") throw new Error("the suite gives a function");
  return aimock((mock) =>
    mock.on({ predicate: () => true }, async (request) => {
      const messages = request.messages.map(({ content }) => ({
        role: "user" as const,
        content: typeof content === "string" ? content : "",
      }));
      const answer = script({ messages } satisfies ModelRequest, {});
      return fixtureOf(isPromiseLike(answer) ? await answer : answer);
    }),
  );
}

/** What aimock cannot be told to do, or does not show. */
const WITHOUT: readonly ModelAbility[] = [
  "cachedUsage",
  "cacheWriteUsage",
  "reasoningUsage",
  "silentUsage",
  "refused",
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
  // It sends it with 429 only.
  "retryAfter",
];
/** Its answers have reasoning with an id of its own each time, no calls that were cut off, and no filter. */
const WITHOUT_IN_RESPONSES: readonly ModelAbility[] = ["reasoning", "length", "filtered"];

for (const api of APIS) {
  describeModel(`openai over ${api}, against aimock`, {
    async open({ script, apiKey, idleTimeoutMs }) {
      const mock = await answering(script);
      return {
        client: openai("gpt-4.1", { api, baseURL: `${mock.url}/v1`, apiKey, idleTimeoutMs }),
        requests: () => mock.getRequests().length,
        close: () => mock.stop(),
      };
    },
    without: api === "chat" ? WITHOUT : [...WITHOUT, ...WITHOUT_IN_RESPONSES],
  });
}

describe.each(APIS)("aimock over %s", (api) => {
  const opened = async (set: (mock: LLMock) => void, model = "gpt-4.1") => {
    const mock = await aimock(set);
    onTestFinished(() => mock.stop());
    return { mock, client: openai(model, { api, baseURL: `${mock.url}/v1`, apiKey: "sk-test-0001" }) };
  };

  test("a conversation with tools goes there and back, with reasoning between", async () => {
    const { mock, client } = await opened((server) => {
      server.on(
        { userMessage: "weather", hasToolResult: false },
        { reasoning: "Two cities.", toolCalls: [weather("Oslo", "call_a"), weather("Rome", "call_b")] },
        { chunkSize: 3 },
      );
      server.on({ hasToolResult: true }, { content: "Rome is warmer." });
    }, "gpt-5");
    const question = { role: "user" as const, content: "How is the weather in Oslo and Rome?" };
    const { events, response } = await streamed(client, { messages: [question] });
    expect(response.message.toolCalls).toEqual([
      { id: "call_a", name: "weather", arguments: '{"city":"Oslo"}' },
      { id: "call_b", name: "weather", arguments: '{"city":"Rome"}' },
    ]);
    expect(response.finishReason).toBe("toolCalls");
    expect(deltasOf(events, "reasoning")).toBe("Two cities.");
    const results = ["call_a", "call_b"].map((toolCallId) => ({
      role: "tool" as const,
      toolCallId,
      name: "weather",
      content: "fine",
    }));
    const last = await client.generate({ messages: [question, response.message, ...results] });
    expect(textOf(last.message)).toBe("Rome is warmer.");
    expect(mock.getRequests()).toHaveLength(2);
  });

  test("a response that is incomplete without saying why was cut off", async () => {
    const { client } = await opened((server) =>
      server.onMessage("hello", { content: "so f", finishReason: "length" }),
    );
    expect((await client.generate(HELLO)).finishReason).toBe("length");
    expect((await streamed(client)).response.finishReason).toBe("length");
  });

  const CHAOS: readonly (readonly [string, ChaosConfig, string])[] = [
    ["a dropped request", { dropRate: 1 }, "SERVER_ERROR"],
    ["malformed JSON", { malformedRate: 1 }, "SERVER_ERROR"],
    ["a connection that breaks", { disconnectRate: 1 }, "SERVER_ERROR"],
    ["a rate limit", { rateLimitRate: 1 }, "RATE_LIMIT"],
  ];
  test.each(CHAOS)("T10: %s is a failure that says what to do, streamed or not", async (_, chaos, kind) => {
    const { mock, client } = await opened((server) =>
      server.onMessage("hello", { content: "Hello." }, { chaos }),
    );
    expect(await failureOf(client.generate(HELLO))).toMatchObject({ kind, retryable: true });
    expect(await failureOf(streamed(client))).toMatchObject({ kind, retryable: true });
    expect(mock.getRequests()).toHaveLength(2);
  });

  test("T10: a stream that stops after some chunks is a failure, not an answer", async () => {
    const { client } = await opened((server) =>
      server.onMessage("hello", { content: "Hello there." }, { chunkSize: 2, truncateAfterChunks: 4 }),
    );
    expect(await failureOf(streamed(client))).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
  });

  test("O6: Retry-After of a 429 is read", async () => {
    const { client } = await opened((server) =>
      server.onMessage("hello", { error: { message: "slow down" }, status: 429, retryAfter: 7 }),
    );
    expect(await failureOf(client.generate(HELLO))).toMatchObject({
      kind: "RATE_LIMIT",
      retryAfterMs: 7_000,
    });
  });
});

function weather(city: string, id: string): { name: string; arguments: string; id: string } {
  return { name: "weather", arguments: JSON.stringify({ city }), id };
}
