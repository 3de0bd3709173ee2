import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { collectAnswer } from "../src/chat/answer.ts";
import {
  chunk,
  client,
  CUTS,
  deltasOf,
  DONE,
  failureOf,
  frame,
  HELLO,
  type RawServer,
  rawServer,
  sendPieces,
  streamed,
} from "./support.ts";

interface Sent {
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

let server: RawServer;
let next: Sent;

beforeAll(async () => {
  server = await rawServer((response) => {
    const type = next.type === "" ? {} : { "content-type": next.type };
    response.writeHead(200, { ...type, "x-request-id": "req-7" });
    sendPieces(response, next.pieces);
  });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Expected {
  readonly text?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly calls?: readonly (readonly [name: string, args: string])[];
  readonly usage?: unknown;
}

const STOP = chunk({}, "stop");
const usageFrame = (usage: unknown): string => frame({ id: "c1", choices: [], usage });
const GOOD_USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

const F = { name: "f", arguments: "{}" };

const STREAMS: readonly (readonly [string, string | Buffer, Expected])[] = [
  [
    "text in several scripts",
    chunk({ content: "héllo 👩‍🚀" }) + chunk({ content: " — 日本" }) + STOP + DONE,
    { text: "héllo 👩‍🚀 — 日本" },
  ],
  ["a byte order mark", `\uFEFF${chunk({ content: "hi" })}${STOP}${DONE}`, { text: "hi" }],
  ["CRLF", (chunk({ content: "hi" }) + STOP + DONE).replaceAll("\n", "\r\n"), { text: "hi" }],
  ["CR", (chunk({ content: "hi" }) + STOP + DONE).replaceAll("\n", "\r"), { text: "hi" }],
  [
    "comments",
    `: ping\n\n${chunk({ content: "hi" })}: OPENROUTER PROCESSING\n\n:\n${STOP}${DONE}`,
    { text: "hi" },
  ],
  [
    "data over several lines",
    `data: {"choices":[{"index":0,\ndata: "delta":{"content":"hi"}}]}\n\n${STOP}${DONE}`,
    { text: "hi" },
  ],
  [
    "other fields and no space after the colon",
    `id: 3\nretry: 10\nevent: message\n${chunk({ content: "hi" }).replace("data: ", "data:")}${STOP}${DONE}`,
    { text: "hi" },
  ],
  ["no empty line at the end", (chunk({ content: "hi" }) + STOP).trimEnd(), { text: "hi" }],
  ["a finish without [DONE]", chunk({ content: "hi" }) + STOP, { text: "hi" }],
  [
    "events after [DONE]",
    chunk({ content: "hi" }) + STOP + DONE + chunk({ content: "more" }),
    { text: "hi" },
  ],
  [
    "empty and null choices",
    frame({ choices: [] }) + frame({ choices: null }) + frame({}) + chunk({ content: "hi" }) + STOP + DONE,
    { text: "hi" },
  ],
  [
    "null deltas",
    chunk(null) + chunk({ content: null, tool_calls: null }) + chunk({ content: "hi" }) + STOP + DONE,
    { text: "hi" },
  ],
  [
    "a second choice",
    frame({ choices: [{ index: 1, delta: { content: "no" } }] }) + chunk({ content: "hi" }) + STOP + DONE,
    { text: "hi" },
  ],
  [
    "content as parts",
    chunk({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "hi" },
      ],
    }) +
      STOP +
      DONE,
    { text: "hi", reasoning: "hm" },
  ],
  [
    "reasoning_content",
    chunk({ reasoning_content: "hm" }) + chunk({ content: "hi" }) + STOP + DONE,
    { text: "hi", reasoning: "hm" },
  ],
  [
    "a refusal",
    chunk({ refusal: "I " }) + chunk({ refusal: "won't" }) + STOP + DONE,
    { text: "I won't", finishReason: "refused" },
  ],
  [
    "a content filter",
    chunk({ content: "he" }) + chunk({}, "content_filter") + DONE,
    { text: "he", finishReason: "filtered" },
  ],
  [
    "an unknown reason",
    chunk({ content: "he" }) + chunk({}, "constructor") + DONE,
    { text: "he", finishReason: "other" },
  ],
  ...(
    [
      ["MAX_TOKENS", "length"],
      ["max_tokens", "length"],
      ["Max-Output-Tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["SAFETY", "filtered"],
      ["recitation", "filtered"],
      ["PROHIBITED_CONTENT", "filtered"],
      ["sensitive", "filtered"],
      ["STOP", "stop"],
      ["eos_token", "stop"],
      ["abort", "length"],
      ["timeout", "length"],
      ["insufficient_system_resource", "length"],
      ["__proto__", "other"],
    ] as const
  ).map(
    ([reason, finishReason]) =>
      [
        `a reason said as ${reason}`,
        chunk({ content: "he" }) + chunk({}, reason) + DONE,
        { text: "he", finishReason },
      ] as const,
  ),
  [
    "a call whose answer was cut, said in capital letters",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] }) +
      chunk({}, "MAX_TOKENS") +
      DONE,
    { finishReason: "length", calls: [["f", "{}"]] },
  ],
  [
    "length with whole arguments",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] }) +
      chunk({}, "length") +
      DONE,
    { finishReason: "length", calls: [["f", "{}"]] },
  ],
  [
    "stop that means the calls",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] }) + STOP + DONE,
    { finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  [
    "broken arguments, kept as they are",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: '{"a": ' } }] }) +
      chunk({}, "tool_calls") +
      DONE,
    { finishReason: "toolCalls", calls: [["f", '{"a": ']] },
  ],
  [
    "a call whose arguments come by its id, under another index",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "wipe", arguments: "" } }] }) +
      chunk({ tool_calls: [{ index: 1, id: "a", function: { arguments: '{"folder":"tmp"}' } }] }) +
      chunk({}, "tool_calls") +
      DONE,
    { finishReason: "toolCalls", calls: [["wipe", '{"folder":"tmp"}']] },
  ],
  [
    "a call with a new id and its name in each piece",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: '{"x"' } }] }) +
      chunk({ tool_calls: [{ index: 0, id: "b", function: { name: "f", arguments: ":1}" } }] }) +
      chunk({}, "tool_calls") +
      DONE,
    { finishReason: "toolCalls", calls: [["f", '{"x":1}']] },
  ],
  [
    "a call with its name in pieces",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "get_" } }] }) +
      chunk({ tool_calls: [{ index: 0, function: { name: "weather", arguments: "{}" } }] }) +
      chunk({}, "tool_calls") +
      DONE,
    { finishReason: "toolCalls", calls: [["get_weather", "{}"]] },
  ],
  [
    "usage in its own chunk",
    STOP + usageFrame(GOOD_USAGE) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "usage twice, the last counts",
    STOP + usageFrame({ prompt_tokens: 1, completion_tokens: 1 }) + usageFrame(GOOD_USAGE) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "usage null after usage",
    STOP + usageFrame(GOOD_USAGE) + usageFrame(null) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "usage of zeros after usage: a count never shrinks",
    STOP +
      usageFrame({
        prompt_tokens: 9_000,
        completion_tokens: 900,
        prompt_tokens_details: { cached_tokens: 8_000 },
        completion_tokens_details: { reasoning_tokens: 700 },
      }) +
      usageFrame({
        prompt_tokens: 0,
        completion_tokens: 0,
        total_tokens: 0,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      }) +
      DONE,
    { usage: { inputTokens: 9_000, outputTokens: 900, cachedInputTokens: 8_000, reasoningTokens: 700 } },
  ],
  [
    "usage of which each chunk knows a half",
    STOP +
      usageFrame({ prompt_tokens: 9, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 4 } }) +
      usageFrame({ prompt_tokens: 0, completion_tokens: 3 }) +
      DONE,
    { usage: { inputTokens: 9, outputTokens: 3, cachedInputTokens: 4 } },
  ],
  [
    "negative usage",
    STOP + usageFrame({ prompt_tokens: -5, completion_tokens: 2 }) + DONE,
    { usage: undefined },
  ],
  [
    "usage as strings",
    STOP + usageFrame({ prompt_tokens: "5", completion_tokens: "2" }) + DONE,
    { usage: undefined },
  ],
  ["usage without the output", STOP + usageFrame({ prompt_tokens: 5 }) + DONE, { usage: undefined }],
  [
    "more written into a cache, and more reasoning, than there can be",
    STOP +
      usageFrame({
        prompt_tokens: 10,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 9 },
        completion_tokens_details: { reasoning_tokens: 7 },
      }) +
      DONE,
    {
      usage: {
        inputTokens: 10,
        outputTokens: 4,
        cachedInputTokens: 6,
        cacheWriteTokens: 4,
        reasoningTokens: 4,
      },
    },
  ],
  [
    "parts of the input that two chunks report, and that are more than the input together",
    STOP +
      usageFrame({ prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 6 } }) +
      usageFrame({
        prompt_tokens: 10,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 9 },
      }) +
      DONE,
    { usage: { inputTokens: 10, outputTokens: 4, cachedInputTokens: 6, cacheWriteTokens: 4 } },
  ],
  ["usage as text", STOP + usageFrame("many") + DONE, { usage: undefined }],
  ["usage absent", STOP + DONE, { usage: undefined }],
  [
    "usage of zeros alone: a prompt is never empty",
    STOP + usageFrame({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }) + DONE,
    { usage: undefined },
  ],
  [
    "usage beside the reason, as Moonshot has it",
    frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: GOOD_USAGE }] }) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "usage in Groq's own field",
    STOP + frame({ choices: [], x_groq: { usage: GOOD_USAGE } }) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "Gemini's thoughts, which only the total counts",
    STOP + usageFrame({ prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 }) + DONE,
    { usage: { inputTokens: 20, outputTokens: 603 } },
  ],
  [
    "what was found in a cache and is counted beside the input",
    STOP +
      usageFrame({
        prompt_tokens: 10,
        completion_tokens: 40,
        total_tokens: 9_050,
        prompt_tokens_details: { cached_tokens: 9_000 },
      }) +
      DONE,
    { usage: { inputTokens: 9_010, outputTokens: 40, cachedInputTokens: 9_000 } },
  ],
  [
    "the same, and thoughts that only the total counts",
    STOP +
      usageFrame({
        prompt_tokens: 10,
        completion_tokens: 40,
        total_tokens: 9_150,
        prompt_tokens_details: { cached_tokens: 9_000 },
      }) +
      DONE,
    { usage: { inputTokens: 9_010, outputTokens: 140, cachedInputTokens: 9_000 } },
  ],
  [
    "what was written into a cache",
    STOP +
      usageFrame({
        prompt_tokens: 100,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 60 },
      }) +
      DONE,
    { usage: { inputTokens: 100, outputTokens: 4, cachedInputTokens: 30, cacheWriteTokens: 60 } },
  ],
  [
    "all of the input, written into a cache",
    STOP +
      usageFrame({
        prompt_tokens: 100,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100 },
      }) +
      DONE,
    { usage: { inputTokens: 100, outputTokens: 4, cachedInputTokens: 0, cacheWriteTokens: 100 } },
  ],
  [
    "what was found in a cache, as Moonshot reports it",
    STOP + usageFrame({ ...GOOD_USAGE, cached_tokens: 4 }) + DONE,
    { usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 4 } },
  ],
  [
    "what was written into a cache, as LiteLLM reports it",
    STOP +
      usageFrame({
        prompt_tokens: 2_006,
        completion_tokens: 300,
        total_tokens: 2_306,
        prompt_tokens_details: { cached_tokens: 1_000 },
        cache_creation_input_tokens: 900,
      }) +
      DONE,
    { usage: { inputTokens: 2_006, outputTokens: 300, cachedInputTokens: 1_000, cacheWriteTokens: 900 } },
  ],
  [
    "what LiteLLM wrote into a cache and counted beside the input",
    STOP +
      usageFrame({
        prompt_tokens: 31,
        completion_tokens: 467,
        total_tokens: 498,
        prompt_tokens_details: { cached_tokens: 0 },
        cache_creation_input_tokens: 1_253,
      }) +
      DONE,
    { usage: { inputTokens: 1_284, outputTokens: 467, cachedInputTokens: 0, cacheWriteTokens: 1_253 } },
  ],
  [
    "what LiteLLM wrote into a cache and found in one, both counted beside the input",
    STOP +
      usageFrame({
        prompt_tokens: 31,
        completion_tokens: 467,
        total_tokens: 498,
        prompt_tokens_details: { cached_tokens: 1_253 },
        cache_creation_input_tokens: 200,
      }) +
      DONE,
    { usage: { inputTokens: 1_484, outputTokens: 467, cachedInputTokens: 1_253, cacheWriteTokens: 200 } },
  ],
  [
    // @portkey-ai/gateway 1.15.2 in front of Anthropic. Of 50 input tokens, 15 were not cached.
    "what Portkey found in a cache and wrote into one, and counts in the total only",
    STOP +
      usageFrame({
        prompt_tokens: 15,
        completion_tokens: 4,
        total_tokens: 54,
        prompt_tokens_details: { cached_tokens: 30 },
        cache_read_input_tokens: 30,
        cache_creation_input_tokens: 5,
      }) +
      DONE,
    { usage: { inputTokens: 50, outputTokens: 4, cachedInputTokens: 30, cacheWriteTokens: 5 } },
  ],
  [
    "what Portkey found in a cache and wrote into one, if it is less than the rest of the input",
    STOP +
      usageFrame({
        prompt_tokens: 5,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 3 },
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 2,
      }) +
      DONE,
    { usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 3, cacheWriteTokens: 2 } },
  ],
  [
    "Gemini's thoughts beside cached input that is a part of the input",
    STOP +
      usageFrame({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 40 },
      }) +
      DONE,
    { usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 40 } },
  ],
  [
    "half an event after the reason",
    `${chunk({ content: "hi" }, "stop")}data: {"usage":{"prompt_tok`,
    { text: "hi" },
  ],
  [
    "an event that is no JSON after the reason, and usage after that",
    `${chunk({ content: "hi" }, "stop")}data: oops\n\n${usageFrame(GOOD_USAGE)}${DONE}`,
    { text: "hi", usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "a whole answer in one event",
    frame({
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "hi",
            reasoning_content: "hm",
            tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
    }) + DONE,
    { text: "hi", reasoning: "hm", finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  [
    "pieces, and at the end all of them once more, as MiniMax has it",
    chunk({ content: "h" }) +
      chunk({ content: "i" }) +
      frame({ choices: [{ index: 0, message: { content: "hi" }, finish_reason: "stop" }] }) +
      DONE,
    { text: "hi" },
  ],
  [
    "thoughts, and at the end all of them once more",
    chunk({ reasoning_content: "hm" }) +
      frame({ choices: [{ index: 0, message: { reasoning_content: "hm" }, finish_reason: "length" }] }) +
      DONE,
    { reasoning: "hm", finishReason: "length" },
  ],
  [
    "whole messages that follow one another",
    frame({ choices: [{ message: { content: "h" } }] }) +
      frame({ choices: [{ message: { content: "i" } }] }) +
      frame({ choices: [{ message: { content: "" }, finish_reason: "stop" }] }) +
      DONE,
    { text: "hi" },
  ],
  [
    "whole messages that grow",
    frame({ choices: [{ message: { reasoning: "h", content: "" } }] }) +
      frame({ choices: [{ message: { reasoning: "hm", content: "h" } }] }) +
      frame({
        choices: [{ message: { reasoning: "hm", content: "hi", tool_calls: [{ id: "a", function: F }] } }],
      }) +
      frame({
        choices: [
          {
            message: {
              content: "hi",
              tool_calls: [
                { id: "a", function: F },
                { id: "b", function: F },
              ],
            },
            finish_reason: "tool_calls",
          },
        ],
      }) +
      DONE,
    {
      text: "hi",
      reasoning: "hm",
      finishReason: "toolCalls",
      calls: [
        ["f", "{}"],
        ["f", "{}"],
      ],
    },
  ],
  [
    "a whole message beside an empty delta",
    frame({ choices: [{ delta: {}, message: { content: "hi" }, finish_reason: "stop" }] }) + DONE,
    { text: "hi" },
  ],
  [
    "pieces beside all of them so far, as Perplexity has it",
    frame({ choices: [{ index: 0, delta: { content: "h" }, message: { content: "h" } }] }) +
      frame({
        choices: [{ index: 0, delta: { content: "i" }, message: { content: "hi" }, finish_reason: "stop" }],
      }) +
      DONE,
    { text: "hi" },
  ],
  [
    "an empty reason until the last piece, and an empty role",
    frame({ choices: [{ index: 0, delta: { role: "", content: "hi" }, finish_reason: "" }] }) + STOP + DONE,
    { text: "hi" },
  ],
  [
    "an error that is none",
    frame({ error: null, choices: [] }) + chunk({ content: "hi" }) + STOP,
    { text: "hi" },
  ],
  [
    "cached and reasoning tokens, hostile ones cut down",
    STOP +
      usageFrame({
        ...GOOD_USAGE,
        prompt_tokens_details: { cached_tokens: 99 },
        completion_tokens_details: { reasoning_tokens: -1 },
      }) +
      DONE,
    { usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 5 } },
  ],
];

interface Broken {
  readonly bytes: string | Buffer;
  readonly kind: string;
  readonly type: string;
}

const BROKEN_STREAMS: readonly (readonly [string, string | Buffer, string, string?])[] = [
  ["nothing at all", "", "SERVER_ERROR"],
  ["HTML", "<!doctype html><title>proxy</title>", "SERVER_ERROR", "text/html"],
  ["an end without finish", chunk({ content: "hi" }), "SERVER_ERROR"],
  ["[DONE] without finish", chunk({ content: "hi" }) + DONE, "SERVER_ERROR"],
  ["an end within an event", chunk({ content: "hi" }) + STOP.slice(0, 20), "SERVER_ERROR"],
  [
    "an end within a tool call",
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] }),
    "SERVER_ERROR",
  ],
  ["an end within a character", Buffer.from(chunk({ content: "é" })).subarray(0, -15), "SERVER_ERROR"],
  ["an event that is no JSON", `${chunk({ content: "hi" })}data: {oops}\n\n${STOP}${DONE}`, "SERVER_ERROR"],
  ["an event that is no object", `data: 3\n\n${STOP}${DONE}`, "SERVER_ERROR"],
  [
    "an error in the middle",
    chunk({ content: "hi" }) + frame({ error: { message: "boom", type: "server_error" } }) + STOP + DONE,
    "SERVER_ERROR",
  ],
  ["an error after the finish", STOP + frame({ error: { message: "boom" } }) + DONE, "SERVER_ERROR"],
  [
    "a rate limit in the middle",
    frame({ error: { message: "slow down", type: "rate_limit_error" } }),
    "RATE_LIMIT",
  ],
  ["an overload by its number", frame({ error: { message: "busy", code: 503 } }), "OVERLOADED"],
  [
    "an overflow in the middle",
    frame({ error: { message: "too long", code: "context_length_exceeded" } }),
    "CONTEXT_OVERFLOW",
  ],
  [
    "an invalid request in the middle",
    frame({ error: { message: "bad", type: "invalid_request_error" } }),
    "FORMAT_ERROR",
  ],
  [
    "an error field, as llama.cpp had it until late in 2025",
    `error: {"code":400,"message":"the request exceeds the available context size. try increasing it","type":"invalid_request_error"}\n\n${DONE}`,
    "CONTEXT_OVERFLOW",
  ],
  [
    "an error field after a beginning",
    `${chunk({ content: "hi" })}error: {"code":500,"message":"boom"}\n\n`,
    "SERVER_ERROR",
  ],
  ["an event named error", `event: error\ndata: {"message":"boom","code":"502"}\n\n${DONE}`, "SERVER_ERROR"],
  ["an error as text", frame({ error: "boom" }), "SERVER_ERROR"],
  [
    "an error that is the event, as vLLM had it",
    frame({
      object: "error",
      message: "This model's maximum context length is 10 tokens.",
      type: "BadRequestError",
      param: null,
      code: 400,
    }) + DONE,
    "CONTEXT_OVERFLOW",
  ],
  [
    "an error in a list, as Google has it",
    frame([{ error: { code: 429, message: "Resource has been exhausted.", status: "RESOURCE_EXHAUSTED" } }]),
    "RATE_LIMIT",
  ],
  [
    "an error in Groq's own field",
    chunk({ content: "hi" }) + frame({ choices: [], x_groq: { error: "over capacity" } }) + STOP + DONE,
    "SERVER_ERROR",
  ],
  [
    "a call of a tool that does not exist, as Gemini says it",
    chunk({}, "function_call_filter: UNEXPECTED_TOOL_CALL") + DONE,
    "SERVER_ERROR",
  ],
  ["a finish that is an error", chunk({ content: "hi" }) + chunk({}, "error") + DONE, "SERVER_ERROR"],
  [
    // @portkey-ai/gateway 1.15.2, when Anthropic reported an error inside its stream.
    "a finish that is the type of an error",
    chunk({ content: "hi" }) +
      frame({ choices: [{ finish_reason: "overloaded_error", delta: { content: "" } }] }) +
      DONE,
    "OVERLOADED",
  ],
  ["a finish that is an error of the API", chunk({}, "api_error") + DONE, "SERVER_ERROR"],
  ["a finish that is a broken network", chunk({}, "network_error") + DONE, "SERVER_ERROR"],
  [
    "a finish that is a call which cannot be read",
    chunk({}, "function_call_filter: MALFORMED_FUNCTION_CALL") + DONE,
    "SERVER_ERROR",
  ],
  ["a finish that is an ERROR", chunk({ content: "hi" }) + chunk({}, "ERROR") + DONE, "SERVER_ERROR"],
  [
    "a JSON error instead of a stream",
    '{"error":{"message":"busy","code":529}}',
    "OVERLOADED",
    "application/json",
  ],
];

function brokenCases(): [string, Broken][] {
  return BROKEN_STREAMS.map(([name, bytes, kind, type = "text/event-stream"]) => [
    name,
    { bytes, kind, type },
  ]);
}

describe.each(CUTS)("T10: a stream, %s", (_, cut) => {
  test.each(STREAMS)("of %s is read as it was meant", async (_name, bytes, expected) => {
    next = { type: "text/event-stream", pieces: cut(Buffer.from(bytes)) };
    const { events, response } = await streamed(client(server));
    const { text = "", reasoning = "", calls = [] } = expected;
    expect(deltasOf(events, "text")).toBe(text);
    expect(deltasOf(events, "reasoning")).toBe(reasoning);
    expect((response.message.toolCalls ?? []).map((call) => [call.name, call.arguments])).toEqual(calls);
    expect(response.finishReason).toBe(expected.finishReason ?? "stop");
    if ("usage" in expected) expect(response.usage).toEqual(expected.usage);
  });

  test.each(brokenCases())("of %s is a failure, not an answer", async (_name, { bytes, kind, type }) => {
    next = { type, pieces: cut(Buffer.from(bytes)) };
    const error = await failureOf(streamed(client(server)));
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind, requestId: "req-7" });
  });
});

const message = (value: unknown, reason: string | null = "stop", rest: object = {}): string =>
  JSON.stringify({
    id: "c1",
    model: "m",
    choices: [{ index: 0, message: value, finish_reason: reason }],
    ...rest,
  });

const WHOLES: readonly (readonly [string, string, Expected])[] = [
  ["text", message({ content: "héllo 👩‍🚀" }), { text: "héllo 👩‍🚀" }],
  ["a byte order mark", `\uFEFF${message({ content: "hi" })}`, { text: "hi" }],
  ["blanks around it", `\n\n  ${message({ content: "hi" })}\n`, { text: "hi" }],
  ["no reason", message({ content: "hi" }, null), { text: "hi" }],
  ["a refusal", message({ content: null, refusal: "no" }), { text: "no", finishReason: "refused" }],
  ["a filter", message({ content: "" }, "content_filter"), { finishReason: "filtered" }],
  [
    "a filter that left no message",
    message(undefined, "content_filter: PROHIBITED_CONTENT"),
    { finishReason: "filtered" },
  ],
  [
    "arguments as an object",
    message(
      { content: null, tool_calls: [{ id: "a", function: { name: "f", arguments: { x: 1 } } }] },
      "tool_calls",
    ),
    { finishReason: "toolCalls", calls: [["f", '{"x":1}']] },
  ],
  [
    "empty and null arguments",
    message(
      {
        tool_calls: [
          { id: "a", function: { name: "f", arguments: "" } },
          { id: "b", function: { name: "g", arguments: null } },
        ],
      },
      "tool_calls",
    ),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", ""],
        ["g", ""],
      ],
    },
  ],
  [
    "the same call twice",
    message(
      {
        tool_calls: [
          { id: "a", function: { name: "f", arguments: "{}" } },
          { id: "a", function: { name: "f", arguments: "{}" } },
        ],
      },
      "tool_calls",
    ),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", "{}"],
        ["f", "{}"],
      ],
    },
  ],
  [
    "usage",
    message({ content: "hi" }, "stop", { usage: GOOD_USAGE }),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "hostile usage",
    message({ content: "hi" }, "stop", {
      usage: { prompt_tokens: Number.MAX_VALUE, completion_tokens: 2.5 },
    }),
    { text: "hi", usage: undefined },
  ],
];

const BROKEN_WHOLES: readonly (readonly [string, string, string])[] = [
  ["nothing", "", "SERVER_ERROR"],
  ["HTML", "<html>", "SERVER_ERROR"],
  ["half of it", message({ content: "hi" }).slice(0, -10), "SERVER_ERROR"],
  ["null", "null", "SERVER_ERROR"],
  ["a number", "3", "SERVER_ERROR"],
  ["a list", "[]", "SERVER_ERROR"],
  ["no choices", '{"choices":[]}', "SERVER_ERROR"],
  ["null choices", '{"choices":null}', "SERVER_ERROR"],
  ["a null message", '{"choices":[{"message":null}]}', "SERVER_ERROR"],
  ["an error under status 200", '{"error":{"message":"slow","type":"rate_limit_exceeded"}}', "RATE_LIMIT"],
  [
    "an error that is the body",
    '{"object":"error","message":"busy","type":"ServiceUnavailable","code":503}',
    "OVERLOADED",
  ],
  ["depth without end", "[".repeat(3_000), "SERVER_ERROR"],
];

const miniMax = (code: number, text: string, more: object): Buffer =>
  Buffer.from(JSON.stringify({ base_resp: { status_code: code, status_msg: text }, ...more }));

test.each([
  [1000, "unknown error", "SERVER_ERROR", true],
  [1002, "rate limit", "RATE_LIMIT", true],
  [1004, "login fail: Please carry the API secret key", "AUTH", false],
  [1008, "insufficient balance", "BILLING", false],
  [1026, "input new_sensitive", "CONTENT_BLOCKED", false],
  [1027, "output new_sensitive", "CONTENT_BLOCKED", false],
  [1039, "token limit", "RATE_LIMIT", true],
  [2013, "invalid params", "FORMAT_ERROR", false],
  [2049, "invalid api key", "AUTH", false],
])(
  "T10: MiniMax's failure %i under status 200 (%s) is an error that says so",
  async (code, text, kind, retryable) => {
    const expected = { kind, retryable, message: expect.stringContaining(`: ${text} (${code})`) };
    next = { type: "application/json", pieces: [miniMax(code, text, { choices: null })] };
    expect(await failureOf(client(server).generate(HELLO))).toMatchObject(expected);
    next = {
      type: "text/event-stream",
      pieces: [Buffer.from("data: "), miniMax(code, text, {}), Buffer.from("\n\n")],
    };
    expect(await failureOf(client(server).generate(HELLO))).toMatchObject(expected);
  },
);

test("T10: MiniMax's word that a call went well is none of an error", async () => {
  const choices = [{ message: { role: "assistant", content: "hi" }, finish_reason: "stop" }];
  next = { type: "application/json", pieces: [miniMax(0, "", { choices })] };
  expect(await client(server).generate(HELLO)).toMatchObject({ message: { content: "hi" } });
});

const STREAMED = chunk({ content: "hé" }) + chunk({ content: "llo" }) + STOP + usageFrame(GOOD_USAGE) + DONE;
const UNSTREAMED = message({ content: "héllo" }, "stop", { usage: GOOD_USAGE });

describe.each(CUTS)("T10: an answer, %s,", (_, cut) => {
  test.each([
    ["streamed though nobody asked for it", "text/event-stream", STREAMED],
    ["streamed as JSON, as Foundry has it", "application/json", STREAMED],
    ["streamed as JSON after a sign of life", "application/json", `\n\n: here\n\n${STREAMED}`],
    ["streamed as text", "text/plain; charset=utf-8", STREAMED],
    ["streamed as nothing", "", STREAMED],
    ["not streamed, as text", "text/plain", UNSTREAMED],
    ["not streamed, as nothing", "", `\n${UNSTREAMED}`],
    ["not streamed, as a stream", "text/event-stream", UNSTREAMED],
  ])("%s, is read as it was meant", async (_name, type, bytes) => {
    next = { type, pieces: cut(Buffer.from(bytes)) };
    const meant = {
      message: { content: "héllo" },
      finishReason: "stop",
      usage: { inputTokens: 5, outputTokens: 2 },
    };
    expect(await client(server).generate(HELLO)).toMatchObject(meant);
    const { events, response } = await streamed(client(server));
    expect(response).toMatchObject(meant);
    expect(deltasOf(events, "text")).toBe("héllo");
  });

  test.each([
    ["an error as text", "text/plain", '{"error":{"message":"slow","code":429}}', "RATE_LIMIT", "slow"],
    ["a page", "text/html", "<html>", "SERVER_ERROR", "a web page: check that baseURL"],
    ["a page as JSON", "application/json", "<html>", "SERVER_ERROR", "a body that is not JSON"],
    ["nothing as JSON", "application/json", "  ", "SERVER_ERROR", "an empty body"],
    ["nothing as a stream", "text/event-stream", "\n\n", "SERVER_ERROR", "before the answer was complete"],
  ])("that is %s is told as that", async (_name, type, bytes, kind, said) => {
    next = { type, pieces: cut(Buffer.from(bytes)) };
    const failed = { kind, message: expect.stringContaining(said) };
    expect(await failureOf(client(server).generate(HELLO))).toMatchObject(failed);
    expect(await failureOf(streamed(client(server)))).toMatchObject(failed);
  });
});

test("id and model are those of the first chunk that has them, which is not Azure's first", async () => {
  const first = { id: "", model: "", object: "", choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
  next = {
    type: "text/event-stream",
    pieces: [Buffer.from(frame(first) + chunk({ content: "hi" }) + STOP + DONE)],
  };
  expect((await streamed(client(server))).response).toMatchObject({ id: "c1", model: "m" });
});

describe.each(CUTS)("T10: an answer that is not streamed, %s", (_, cut) => {
  test.each(WHOLES)(
    "with %s is read as it was meant, also where a stream was asked for",
    async (_name, bytes, expected) => {
      next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
      const { text = "", calls = [] } = expected;
      const model = client(server);
      for (const response of [await model.generate(HELLO), (await streamed(model)).response]) {
        expect(response.message.content).toBe(text);
        expect((response.message.toolCalls ?? []).map((call) => [call.name, call.arguments])).toEqual(calls);
        const ids = (response.message.toolCalls ?? []).map((call) => call.id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(response.finishReason).toBe(expected.finishReason ?? "stop");
        if ("usage" in expected) expect(response.usage).toEqual(expected.usage);
      }
    },
  );

  test.each(["internal server error", "event", "data gone", "retry later", "id"])(
    "that is only text is told so, though an event may begin with its letters: %j",
    async (body) => {
      next = { type: "application/json", pieces: cut(Buffer.from(body)) };
      for (const failed of [streamed(client(server)), client(server).generate(HELLO)])
        expect(await failureOf(failed)).toMatchObject({
          message: expect.stringContaining("that is not JSON"),
        });
    },
  );

  test.each(BROKEN_WHOLES)("with %s is a failure, not an answer", async (_name, bytes, kind) => {
    next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
    const model = client(server);
    expect(await failureOf(model.generate(HELLO))).toMatchObject({
      kind,
      retryable: true,
      requestId: "req-7",
    });
    expect(await failureOf(streamed(model))).toMatchObject({ kind, retryable: true });
  });
});

test("a chunk without a delta does not have all calls put together again", () => {
  const answer = collectAnswer("p");
  const piece = { index: 0, id: "a", function: { name: "f", arguments: "{" } };
  answer.add({ choices: [{ delta: { tool_calls: [piece] } }] }, "");
  using join = vi.spyOn(Array.prototype, "join");
  for (let n = 0; n < 5; n += 1) answer.add({ choices: [{ finish_reason: null }] }, "");
  expect(join).not.toHaveBeenCalled();
});
