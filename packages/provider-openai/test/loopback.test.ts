import { type ChatMessage, type LLMClient, ProviderError, textOf } from "@ravi/kernel";
import type { OpenAIOptions } from "@ravi/provider-openai";
import { loopbackOpenAI } from "@ravi/testing";
import { OpenAI } from "openai";
import { describe, expect, test } from "vitest";
import { client as clientOf, deltasOf, failureOf, HELLO, streamed } from "./support.ts";

const CALLS = [
  { name: "weather", arguments: { city: "Zürich" }, id: "call_a" },
  { name: "weather", arguments: { city: "Oslo" }, id: "call_b" },
];

describe.each(["chat", "responses"] as const)("against the loopback server, over %s", (api) => {
  const client = (server: { readonly url: string }, options: OpenAIOptions = {}): LLMClient =>
    clientOf(server, { api, ...options });

  test("generate and stream give the same response, and both are billed once", async () => {
    const usage = {
      inputTokens: 11,
      outputTokens: 7,
      cachedInputTokens: 3,
      cacheWriteTokens: 1,
      reasoningTokens: 2,
    };
    const answer = {
      reasoning: "Two cities.",
      text: "I will look.",
      toolCalls: CALLS,
      usage,
      id: "r1",
      model: "test-model-0101",
    };
    await using server = await loopbackOpenAI({ script: () => answer, requireKey: "sk-test-key-0001" });
    const model = client(server);
    const generated = await model.generate(HELLO, { idempotencyKey: "k1" });
    const { events, response } = await streamed(model);
    expect(response).toEqual(generated);
    expect(generated).toEqual({
      message: {
        role: "assistant",
        content: [
          {
            type: "reasoning",
            text: "Two cities.",
            opaque: { provider: "openai", data: expect.any(String) },
          },
          { type: "text", text: "I will look." },
        ],
        toolCalls: CALLS.map(({ id, name, arguments: args }) => ({
          id,
          name,
          arguments: JSON.stringify(args),
        })),
      },
      finishReason: "toolCalls",
      usage,
      model: "test-model-0101",
      id: "r1",
    });
    expect(deltasOf(events, "text")).toBe("I will look.");
    expect(deltasOf(events, "reasoning")).toBe("Two cities.");
    const { entries } = server.bill();
    expect(entries.map((entry) => [entry.inputTokens, entry.outputTokens, entry.idempotencyKey])).toEqual([
      [11, 7, "k1"],
      [11, 7, undefined],
    ]);
  });

  test("T10: a conversation in which calls were not finished, as after an abort, goes on", async () => {
    await using server = await loopbackOpenAI({ script: [{ toolCalls: CALLS }, "Both are cold."] });
    const model = client(server);
    const { message } = await model.generate(HELLO);
    const messages: ChatMessage[] = [
      ...HELLO.messages,
      message,
      { role: "user", content: "hurry" },
      { role: "tool", toolCallId: "call_b", name: "weather", content: "2 °C" },
      { role: "user", content: "and?" },
    ];
    expect(textOf((await model.generate({ messages })).message)).toBe("Both are cold.");
  });

  test("a conversation with a tool goes there and back", async () => {
    await using server = await loopbackOpenAI({ script: [{ toolCalls: CALLS }, "Both are cold."] });
    const model = client(server);
    const first = await model.generate(HELLO);
    const results = (first.message.toolCalls ?? []).map(({ id, name }) => ({
      role: "tool" as const,
      toolCallId: id,
      name,
      content: "2 °C",
    }));
    const last = await model.generate({ messages: [...HELLO.messages, first.message, ...results] });
    expect(textOf(last.message)).toBe("Both are cold.");
    expect(last.finishReason).toBe("stop");
  });

  test.each(["length", "refused", "filtered", "other"] as const)(
    "an answer that ended by %s says so",
    async (finishReason) => {
      await using server = await loopbackOpenAI({ script: () => ({ text: "so far", finishReason }) });
      const model = client(server);
      expect(await model.generate(HELLO)).toMatchObject({ finishReason, message: { content: "so far" } });
      expect((await streamed(model)).response).toMatchObject({
        finishReason,
        message: { content: "so far" },
      });
    },
  );

  test("an answer that does not say what it used has no usage", async () => {
    await using server = await loopbackOpenAI({ script: () => ({ text: "hi", usage: null }) });
    expect(await client(server).generate(HELLO)).not.toHaveProperty("usage");
    expect((await streamed(client(server))).response).not.toHaveProperty("usage");
  });

  test.each([
    ["cut", { type: "cut", afterDeltas: 2 }, "SERVER_ERROR"],
    [
      "cut with an error",
      { type: "cut", error: new ProviderError({ kind: "OVERLOADED", message: "busy", status: 503 }) },
      "SERVER_ERROR",
    ],
    ["unfinished", { type: "unfinished" }, "SERVER_ERROR"],
    ["malformed", { type: "malformed" }, "SERVER_ERROR"],
    ["status", { type: "status", status: 429, headers: { "retry-after": "2" } }, "RATE_LIMIT"],
  ] as const)("T10: the fault %s is a failure that says what to do", async (_, fault, kind) => {
    await using server = await loopbackOpenAI({ script: () => ({ text: "a long enough answer", fault }) });
    expect(await failureOf(streamed(client(server)))).toMatchObject({ kind, retryable: true });
    expect(server.requests).toHaveLength(1);
  });

  test("a wrong key and an unknown model are final", async () => {
    await using server = await loopbackOpenAI({ script: () => "hi", requireKey: "right", models: ["other"] });
    expect(await failureOf(client(server).generate(HELLO))).toMatchObject({ kind: "AUTH", retryable: false });
    expect(await failureOf(client(server, { apiKey: "right" }).generate(HELLO))).toMatchObject({
      kind: "MODEL_NOT_FOUND",
      retryable: false,
    });
    expect(server.bill().entries).toHaveLength(0);
  });

  test("fifty streams at once do not mix", async () => {
    await using server = await loopbackOpenAI({
      script: (request) => `echo ${textOf(request.messages[0] ?? { content: "" })}`,
    });
    const model = client(server);
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const texts = await Promise.all(
      numbers.map(async (n) =>
        textOf((await streamed(model, { messages: [{ role: "user", content: `n${n}` }] })).response.message),
      ),
    );
    expect(texts).toEqual(numbers.map((n) => `echo n${n}`));
  });
});

test("the official client reads the loopback server's responses too, so both mean the same protocol", async () => {
  const answer = { reasoning: "Two cities.", text: "I will look.", toolCalls: CALLS };
  await using server = await loopbackOpenAI({ script: () => answer });
  const official = new OpenAI({ baseURL: server.url, apiKey: "sk-test-key-0001", maxRetries: 0 });
  const asked = { model: "test-model", input: "hello" };
  const whole = await official.responses.create(asked);
  const streamedWhole = await official.responses.stream(asked).finalResponse();
  for (const response of [whole, streamedWhole]) {
    expect(response.output_text).toBe("I will look.");
    expect(response.output.map((item) => item.type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "function_call",
    ]);
    expect(response.output.at(-1)).toMatchObject({ call_id: "call_b", arguments: '{"city":"Oslo"}' });
  }
});
