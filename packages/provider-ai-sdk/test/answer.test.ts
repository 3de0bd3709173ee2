import { textOf } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";
import { ask, failureOf, FINISH, fixedModel, notingLogger, STOP, streamed, USAGE } from "./support.ts";

describe("T10: an answer", () => {
  test("keeps files that the model made, and leaves out what the provider ran by itself", async () => {
    const model = fixedModel({
      result: {
        content: [
          { type: "source", id: "s", url: "https://example.org" },
          { type: "tool-call", toolCallId: "p", toolName: "web", input: "{}", providerExecuted: true },
          { type: "tool-result", toolCallId: "p", toolName: "web", result: {} },
          { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
          { type: "file", mediaType: "text/csv", data: "YSxi" },
          { type: "file", mediaType: "text/csv", data: { type: "url", url: "https://x.example/a.csv" } },
          { type: "text", text: "Here." },
        ],
        finishReason: STOP,
        usage: USAGE,
      },
    });
    const response = await fromAiSdk(model).generate(ask("go"));
    expect(response.message).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Here." },
        { type: "image", url: "data:image/png;base64,AQI=", mediaType: "image/png" },
        { type: "file", url: "data:text/csv;base64,YSxi", mediaType: "text/csv" },
        { type: "file", url: "https://x.example/a.csv", mediaType: "text/csv" },
      ],
    });
    expect(response.finishReason).toBe("stop");
  });

  test("keeps text and thoughts in their order, so that they go back as they came", async () => {
    const said = [
      { type: "reasoning", text: "first", providerMetadata: { p: { signature: "1" } } },
      { type: "text", text: "a" },
      { type: "text", text: "b" },
      { type: "reasoning", text: "second", providerMetadata: { p: { signature: "2" } } },
      { type: "text", text: "c" },
    ];
    const parts = said.flatMap(({ text, ...part }, index) => [
      { ...part, type: `${part.type}-start`, id: `${index}` },
      { ...part, type: `${part.type}-delta`, id: `${index}`, delta: text },
    ]);
    const model = fixedModel({
      result: { content: said, finishReason: STOP, usage: USAGE },
      parts: [...parts, FINISH],
    });
    const client = fromAiSdk(model);
    const whole = await client.generate(ask("go"));
    const { response } = await streamed(client);
    expect(response.message).toEqual(whole.message);
    await client.generate({ messages: [...ask("go").messages, whole.message, ...ask("on").messages] });
    const options = (signature: string) => ({ providerOptions: { p: { signature } } });
    expect(model.seen[2]?.prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "first", ...options("1") },
        { type: "text", text: "ab" },
        { type: "reasoning", text: "second", ...options("2") },
        { type: "text", text: "c" },
      ],
    });
  });

  test("gives calls with the same id, or none, ids of their own", async () => {
    const content = ["a", "a", "", undefined].map((toolCallId) => ({
      type: "tool-call",
      toolCallId,
      toolName: "t",
      input: { n: 1 },
    }));
    const model = fixedModel({ result: { content, finishReason: STOP, usage: USAGE } });
    const { message, finishReason } = await fromAiSdk(model).generate(ask("go"));
    const ids = message.toolCalls?.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(4);
    expect(message.toolCalls?.[0]?.arguments).toBe('{"n":1}');
    expect(finishReason).toBe("toolCalls");
  });

  test("streams a call whose arguments come at the end, in the middle, or both", async () => {
    const model = fixedModel({
      parts: [
        { type: "tool-call", toolCallId: "whole", toolName: "t", input: '{"a":1}' },
        { type: "tool-input-start", id: "cut", toolName: "t" },
        { type: "tool-input-delta", id: "cut", delta: '{"b"' },
        { type: "tool-input-end", id: "cut" },
        { type: "tool-call", toolCallId: "cut", toolName: "t", input: '{"b":2}' },
        { type: "tool-input-start", id: "open", toolName: "t" },
        { type: "tool-input-delta", id: "open", delta: '{"c":' },
        { ...FINISH, finishReason: { unified: "length", raw: "max_tokens" } },
      ],
    });
    const tools = [{ name: "t", description: "", parameters: { type: "object" } }];
    const { events, response } = await streamed(fromAiSdk(model), ask("go", { tools }));
    expect(response.message.toolCalls?.map((call) => call.arguments)).toEqual([
      '{"a":1}',
      '{"b":2}',
      '{"c":',
    ]);
    expect(response.finishReason).toBe("length");
    const told = events.flatMap((event) =>
      event.type === "toolCall" ? [[event.index, event.delta] as const] : [],
    );
    const sums = [0, 1, 2].map((index) =>
      told
        .filter(([at]) => at === index)
        .map(([, delta]) => delta)
        .join(""),
    );
    expect(sums).toEqual(['{"a":1}', '{"b":2}', '{"c":']);
  });

  test("keeps the signature that comes with the end of the reasoning", async () => {
    const providerMetadata = { anthropic: { signature: "c2ln" } };
    const model = fixedModel({
      parts: [
        { type: "reasoning-start", id: "1" },
        { type: "reasoning-delta", id: "1", delta: "hm" },
        { type: "reasoning-delta", id: "1", delta: "", providerMetadata },
        { type: "reasoning-end", id: "1" },
        { type: "text-delta", id: "2", delta: "ok" },
        FINISH,
      ],
    });
    const { response, events } = await streamed(fromAiSdk(model));
    expect(JSON.stringify(response.message.content)).toContain("c2ln");
    expect(textOf(response.message)).toBe("ok");
    expect(events.map(({ type }) => type)).toEqual(["reasoning", "text", "finish"]);
  });

  test("is not waited for any longer once it is finished, also where the stream stays open", async () => {
    const model = fixedModel({
      parts: [{ type: "text-delta", id: "1", delta: "ok" }, FINISH],
      closes: false,
    });
    expect(textOf((await streamed(fromAiSdk(model))).response.message)).toBe("ok");
  });

  test("with a shape comes as text also where the provider keeps it apart", async () => {
    const model = fixedModel({
      result: { content: [], structuredOutputText: "{}", finishReason: STOP, usage: USAGE },
    });
    expect(textOf((await fromAiSdk(model).generate(ask("go"))).message)).toBe("{}");
  });
});

describe("T10: an answer that is none", () => {
  test.each([
    ["ends without a finish", [{ type: "text-delta", id: "1", delta: "ok" }]],
    ["has a finish that nobody said", [{ ...FINISH, finishReason: { unified: "other", raw: undefined } }]],
    ["has a finish of v2 that nobody said", [{ ...FINISH, finishReason: "unknown" }]],
    ["stopped because of an error", [{ ...FINISH, finishReason: { unified: "error", raw: "boom" } }]],
    [
      "stopped because of an error that its provider has no word for",
      [{ ...FINISH, finishReason: { unified: "other", raw: "ERROR" } }],
    ],
  ])("is a failure that can be tried again: it %s", async (_, parts) => {
    const error = await failureOf(streamed(fromAiSdk(fixedModel({ parts }))));
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind: "SERVER_ERROR", retryable: true });
  });

  test("with an ending that we have no word for is an answer all the same", async () => {
    const parts = [
      { type: "text-delta", id: "1", delta: "ok" },
      { ...FINISH, finishReason: { unified: "other", raw: "pause" } },
    ];
    expect((await streamed(fromAiSdk(fixedModel({ parts })))).response.finishReason).toBe("other");
  });
});

describe("T10: an ending that only its server has a word for", () => {
  test.each([
    ["MAX_TOKENS", "length"],
    ["max_output_tokens", "length"],
    ["model_length", "length"],
    ["SAFETY", "filtered"],
    ["recitation", "filtered"],
    ["STOP", "stop"],
    ["refusal", "refused"],
    ["abort", "length"],
    ["insufficient_system_resource", "length"],
    ["constructor", "other"],
  ])("%s is %s", async (raw, expected) => {
    const finishReason = { unified: "other", raw };
    const parts = [
      { type: "text-delta", id: "1", delta: "ok" },
      { ...FINISH, finishReason },
    ];
    const client = fromAiSdk(fixedModel({ parts, result: { content: [], finishReason, usage: USAGE } }));
    expect((await streamed(client)).response.finishReason).toBe(expected);
    expect((await client.generate(ask("go"))).finishReason).toBe(expected);
  });

  test("what its provider has a word for stays as it says", async () => {
    const parts = [{ ...FINISH, finishReason: { unified: "stop", raw: "max_tokens" } }];
    expect((await streamed(fromAiSdk(fixedModel({ parts })))).response.finishReason).toBe("stop");
  });
});

describe("T10: usage", () => {
  test.each([
    [
      { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 },
      { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 },
    ],
    // A provider that counts what was cached beside the input.
    [
      { inputTokens: 10, outputTokens: 5, cachedInputTokens: 90 },
      { inputTokens: 100, outputTokens: 5, cachedInputTokens: 90 },
    ],
    [{ inputTokens: 10, outputTokens: undefined }, undefined],
    [{ inputTokens: Number.NaN, outputTokens: 5 }, undefined],
    [{ inputTokens: { total: -1 }, outputTokens: { total: 1 } }, undefined],
    [
      { inputTokens: { total: 10, cacheRead: 2, cacheWrite: 3 }, outputTokens: { total: 5, reasoning: 9 } },
      { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: 3, reasoningTokens: 5 },
    ],
    [undefined, undefined],
    // A prompt is never empty: the server does not count.
    [{ inputTokens: { total: 0, cacheRead: 0 }, outputTokens: { total: 0 } }, undefined],
    [{ inputTokens: 0, outputTokens: 0, totalTokens: 0 }, undefined],
    // Google's, in v2: thoughts are counted beside the output, and only the total has them.
    [
      { inputTokens: 20, outputTokens: 198, reasoningTokens: 405, totalTokens: 623 },
      { inputTokens: 20, outputTokens: 603, reasoningTokens: 405 },
    ],
    // The output has its thoughts already, and only the total has what was read from a cache.
    [
      { inputTokens: 10, outputTokens: 50, reasoningTokens: 20, totalTokens: 65 },
      { inputTokens: 15, outputTokens: 50, reasoningTokens: 20 },
    ],
    // Bedrock's, in v2: what was read from a cache and written into it is in the total alone.
    [
      { inputTokens: 100, outputTokens: 5, cachedInputTokens: 90, totalTokens: 225 },
      { inputTokens: 220, outputTokens: 5, cachedInputTokens: 90 },
    ],
  ])("%j is %j", async (usage, expected) => {
    const model = fixedModel({ result: { content: [], finishReason: STOP, usage } });
    expect((await fromAiSdk(model).generate(ask("go"))).usage).toEqual(expected);
  });

  test("of Anthropic says which writes to the cache are kept for an hour", async () => {
    const usage = { inputTokens: { total: 100, cacheWrite: 30 }, outputTokens: { total: 5 } };
    const told = (tokens: unknown) => ({
      anthropic: { usage: { cache_creation: { ephemeral_1h_input_tokens: tokens } } },
    });
    for (const [tokens, expected] of [
      [20, 20],
      [40, 30],
      [0, undefined],
      ["20", undefined],
    ]) {
      const result = { content: [], finishReason: STOP, usage, providerMetadata: told(tokens) };
      const answer = await fromAiSdk(fixedModel({ result })).generate(ask("go"));
      expect(answer.usage?.cacheWrite1hTokens).toBe(expected);
    }
  });

  test("of Bedrock, as @ai-sdk/amazon-bedrock 5.0.101 gives it, says which writes are kept for an hour", async () => {
    const usage = { inputTokens: { total: 315, cacheWrite: 300 }, outputTokens: { total: 7 } };
    for (const [cacheDetails, expected] of [
      [
        [
          { ttl: "1h", inputTokens: 200 },
          { ttl: "5m", inputTokens: 100 },
        ],
        200,
      ],
      [[{ ttl: "5m", inputTokens: 300 }], undefined],
      [[{ ttl: "1h", inputTokens: "200" }, null], undefined],
      ["1h", undefined],
    ]) {
      const providerMetadata = { bedrock: { usage: { cacheWriteInputTokens: 300, cacheDetails } } };
      const result = { content: [], finishReason: STOP, usage, providerMetadata };
      const answer = await fromAiSdk(fixedModel({ result })).generate(ask("go"));
      expect(answer.usage?.cacheWrite1hTokens).toBe(expected);
    }
  });

  test.each(["anthropic.messages", "vertex.anthropic.messages"])(
    "of %s in v2 has the cache beside the input",
    async (provider) => {
      const usage = { inputTokens: 100, outputTokens: 5, cachedInputTokens: 90, totalTokens: 105 };
      const providerMetadata = { anthropic: { cacheCreationInputTokens: 30 } };
      const ending = { finishReason: "stop", usage, providerMetadata };
      const client = fromAiSdk(
        fixedModel({
          version: "v2",
          provider,
          result: { content: [], ...ending },
          parts: [{ type: "finish", ...ending }],
        }),
      );
      const expected = { inputTokens: 220, outputTokens: 5, cachedInputTokens: 90, cacheWriteTokens: 30 };
      expect((await client.generate(ask("go"))).usage).toEqual(expected);
      expect((await streamed(client)).response.usage).toEqual(expected);
    },
  );
});

test("warnings of the model go to the logger, in the words of every version", async () => {
  const warnings = [
    { type: "unsupported", feature: "topK" },
    { type: "unsupported-setting", setting: "seed", details: "no seeds here" },
    { type: "unsupported-tool", tool: { name: "web" } },
    { type: "deprecated", setting: "user", message: "use safetyIdentifier" },
    { type: "other", message: "hello" },
  ];
  const logger = notingLogger();
  const result = { content: [], finishReason: STOP, usage: USAGE, warnings };
  await fromAiSdk(fixedModel({ result }), { logger }).generate(ask("go"));
  await streamed(
    fromAiSdk(fixedModel({ parts: [{ type: "stream-start", warnings: warnings.slice(-1) }, FINISH] }), {
      logger,
    }),
  );
  expect(logger.notes.map(([what]) => what)).toEqual([
    "test/small: the model warns (unsupported): topK",
    "test/small: the model warns (unsupported-setting): seed: no seeds here",
    "test/small: the model warns (unsupported-tool): web",
    "test/small: the model warns (deprecated): user: use safetyIdentifier",
    "test/small: the model warns (other): hello",
    "test/small: the model warns (other): hello",
  ]);
  expect(logger.notes[0]?.[1]).toEqual({ provider: "test", model: "small" });
});
