import type { ModelResponse } from "@ravi/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ByteServer,
  byteServer,
  call,
  client,
  close,
  CUTS,
  ended,
  event,
  failureOf,
  HELLO,
  open,
  piece,
  START,
  STOP,
  streamed,
  text,
  told,
} from "./support.ts";

let server: ByteServer;
let next: { readonly type: string; readonly pieces: readonly Buffer[] };

beforeAll(async () => {
  server = await byteServer((response) => {
    response.writeHead(200, { "content-type": next.type, "request-id": "req-7" });
    for (const bytes of next.pieces) response.write(bytes);
    response.end();
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const STREAM = "text/event-stream; charset=utf-8";

interface Meant {
  readonly text?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly calls?: readonly (readonly [name: string, args: string])[];
  readonly usage?: unknown;
}

const USED = { inputTokens: 5, outputTokens: 2 };
const usageOf = (start: unknown, end: unknown): string =>
  event("message_start", { message: { id: "a", usage: start } }) + text(0, "hi") + ended("end_turn", end);

/** Says why the answer ended, without the event that ends it. */
const REASON = ended().replace(STOP, "");

const STREAMS: readonly (readonly [string, string, Meant])[] = [
  [
    "several scripts",
    START + text(0, "héllo 👩‍🚀", " — 日本") + ended(),
    { text: "héllo 👩‍🚀 — 日本", usage: USED },
  ],
  ...[null, ""].map((id): (typeof STREAMS)[number] => [
    `a start that is repeated by a server whose id is ${JSON.stringify(id)}`,
    open(0, { type: "text", text: "hi" }) + event("message_start", { message: { id } }) + close(0) + ended(),
    { text: "hi" },
  ]),
  ["a byte order mark", `\uFEFF${START}${text(0, "hi")}${ended()}`, { text: "hi" }],
  ["CRLF", (START + text(0, "hi") + ended()).replaceAll("\n", "\r\n"), { text: "hi" }],
  ["CR", (START + text(0, "hi") + ended()).replaceAll("\n", "\r"), { text: "hi" }],
  [
    "comments and pings",
    `: hm\n\n${event("ping")}${START}:\n${text(0, "hi")}${event("ping")}${ended()}`,
    { text: "hi" },
  ],
  [
    "events without data",
    `event: ping\ndata:\n\n${START}data: \n\n${text(0, "hi")}${ended()}`,
    { text: "hi" },
  ],
  [
    "data over several lines",
    `${START}event: content_block_delta\ndata: {"type":"content_block_delta",\ndata: "delta":{"type":"text_delta","text":"hi"}}\n\n${ended()}`,
    { text: "hi" },
  ],
  [
    "no names and no blanks",
    (START + text(0, "hi") + ended()).replaceAll(/event: .*\n/g, "").replaceAll("data: ", "data:"),
    { text: "hi" },
  ],
  [
    "names alone",
    (START + text(0, "hi") + ended()).replaceAll(/"type":"(?:message|content_block)_\w+",?/g, ""),
    { text: "hi" },
  ],
  ["other fields", `id: 3\nretry: 10\n${START}${text(0, "hi")}${ended()}`, { text: "hi" }],
  ["no empty line at the end", (START + text(0, "hi") + ended()).trimEnd(), { text: "hi" }],
  ["half an event after the reason", `${START}${text(0, "hi")}${REASON}data: {"type":"mess`, { text: "hi" }],
  [
    "an event that is no JSON after the reason",
    `${START}${text(0, "hi")}${REASON}data: oops\n\n`,
    { text: "hi" },
  ],
  ["OpenAI's mark of the end", `${START}${text(0, "hi")}${REASON}data: [DONE]\n\n`, { text: "hi" }],
  ["OpenAI's mark before the end", `data: [DONE]\n\n${START}${text(0, "hi")}${ended()}`, { text: "hi" }],
  ["events after the end", START + text(0, "hi") + ended() + text(1, "more"), { text: "hi" }],
  [
    "events of a later time",
    START + event("content_block_sparkle", { index: 0 }) + text(0, "hi") + ended(),
    { text: "hi" },
  ],
  ["a start that comes twice", START + START + text(0, "hi") + ended(), { text: "hi" }],
  ["two texts", START + text(0, "a", "b") + text(1, "c") + ended(), { text: "abc" }],
  ["no content at all", START + ended(), { text: "" }],
  [
    "blocks that were not opened",
    START + piece(0, { type: "text_delta", text: "hi" }) + ended(),
    { text: "hi" },
  ],
  [
    "text in the head of its block",
    START +
      open(0, { type: "text", text: "h" }) +
      piece(0, { type: "text_delta", text: "i" }) +
      close(0) +
      ended(),
    { text: "hi" },
  ],
  [
    "null pieces",
    START +
      open(0, { type: "text", text: "" }) +
      piece(0, { type: "text_delta", text: null }) +
      event("content_block_delta", { index: 0, delta: null }) +
      close(0) +
      ended(),
    { text: "" },
  ],
  [
    "thinking",
    START +
      open(0, { type: "thinking", thinking: "", signature: "" }) +
      piece(0, { type: "thinking_delta", thinking: "h" }) +
      piece(0, { type: "thinking_delta", thinking: "m" }) +
      piece(0, { type: "signature_delta", signature: "c2ln" }) +
      close(0) +
      text(1, "hi") +
      ended(),
    { text: "hi", reasoning: "hm" },
  ],
  [
    "a citation",
    START +
      open(0, { type: "text", text: "" }) +
      piece(0, { type: "citations_delta", citation: {} }) +
      piece(0, { type: "text_delta", text: "hi" }) +
      close(0) +
      ended(),
    { text: "hi" },
  ],
  ["a stop sequence", START + text(0, "hi") + ended("stop_sequence"), { text: "hi" }],
  ["no reason", START + text(0, "hi") + ended(null), { text: "hi" }],
  [
    "a reason, and no message_stop, as some gateways have it",
    START + text(0, "hi") + ended().replace(STOP, ""),
    { text: "hi", usage: USED },
  ],
  [
    "a call and a reason, and no message_stop",
    START + call(0, "f", "{}") + ended("tool_use").replace(STOP, ""),
    { finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  [
    "a reason of a later time",
    START + text(0, "hi") + ended("constructor"),
    { text: "hi", finishReason: "other" },
  ],
  ...(
    [
      ["MAX_TOKENS", "length"],
      ["length", "length"],
      ["CONTENT_FILTER", "filtered"],
      ["safety", "filtered"],
      ["sensitive", "filtered"],
      ["END_TURN", "stop"],
      ["stop", "stop"],
      ["Refusal", "refused"],
      ["abort", "length"],
      ["cancelled", "length"],
      ["timeout", "length"],
      ["PROHIBITED_CONTENT", "filtered"],
      ["blocklist", "filtered"],
      ["SPII", "filtered"],
      ["content-filter", "filtered"],
      ["__proto__", "other"],
    ] as const
  ).map(
    ([reason, finishReason]) =>
      [
        `a reason said as ${reason}`,
        START + text(0, "hi") + ended(reason),
        { text: "hi", finishReason },
      ] as const,
  ),
  [
    "a call whose end is said in OpenAI's words",
    START + call(0, "f", "{}") + ended("tool_calls"),
    { finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  ["a refusal", START + text(0, "I won't") + ended("refusal"), { text: "I won't", finishReason: "refused" }],
  [
    "a refusal without words",
    START +
      event("message_delta", {
        delta: { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "Not this." } },
        usage: { output_tokens: 2 },
      }) +
      STOP,
    { text: "Not this.", finishReason: "refused" },
  ],
  ["a pause", START + text(0, "so far") + ended("pause_turn"), { text: "so far", finishReason: "length" }],
  ["a pause after a compaction", START + ended("compaction"), { finishReason: "length" }],
  [
    "a full window",
    START + text(0, "so far") + ended("model_context_window_exceeded"),
    { text: "so far", finishReason: "length" },
  ],
  [
    "length with whole arguments",
    START + call(0, "f", "{}") + ended("max_tokens"),
    { finishReason: "length", calls: [["f", "{}"]] },
  ],
  [
    "length within a call that is never closed",
    START +
      call(0, "f", "{}") +
      call(1, "g", '{"a":').replace(close(1), "") +
      ended("max_tokens", { output_tokens: 9 }),
    {
      finishReason: "length",
      calls: [
        ["f", "{}"],
        ["g", '{"a":'],
      ],
      usage: { inputTokens: 5, outputTokens: 9 },
    },
  ],
  [
    "a refusal within a call that is never closed",
    START + call(0, "f", '{"a":').replace(close(0), "") + ended("refusal"),
    { finishReason: "refused", calls: [["f", '{"a":']] },
  ],
  [
    "a call that is never closed, as the server stopped",
    START + call(0, "f", '{"a":').replace(close(0), "") + ended("abort"),
    { finishReason: "length", calls: [["f", '{"a":']] },
  ],
  [
    "arguments of a call that was not opened",
    START + text(0, "hi") + call(1, "f", '{"a"', ":1}").replace(/^.*\n.*\n\n/, "") + ended("tool_use"),
    { text: "hi", finishReason: "toolCalls", calls: [["", '{"a":1}']] },
  ],
  [
    "calls",
    START + call(0, "f", '{"a"', ":1}") + call(1, "g", "{}") + ended("tool_use"),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", '{"a":1}'],
        ["g", "{}"],
      ],
    },
  ],
  [
    "an end that means the calls",
    START + call(0, "f", "{}") + ended("end_turn"),
    { finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  [
    "a call without arguments",
    START + call(0, "f") + call(1, "g", "") + ended("tool_use"),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", "{}"],
        ["g", "{}"],
      ],
    },
  ],
  [
    "broken arguments, kept as they are",
    START + call(0, "f", '{"a": ') + ended("tool_use"),
    { finishReason: "toolCalls", calls: [["f", '{"a": ']] },
  ],
  [
    "arguments in the head of the call",
    START +
      open(0, { type: "tool_use", id: "a", name: "f", input: { x: [1] } }) +
      close(0) +
      ended("tool_use"),
    { finishReason: "toolCalls", calls: [["f", '{"x":[1]}']] },
  ],
  [
    "a call without index",
    START +
      (
        open(0, { type: "tool_use", id: "a", name: "f", input: {} }) +
        piece(0, { type: "input_json_delta", partial_json: "{}" }) +
        close(0)
      ).replaceAll(',"index":0', "") +
      ended("tool_use"),
    { finishReason: "toolCalls", calls: [["f", "{}"]] },
  ],
  [
    "every call at index 0",
    START + call(0, "f", "{}") + call(0, "g", '{"a":1}') + ended("tool_use"),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", "{}"],
        ["g", '{"a":1}'],
      ],
    },
  ],
  [
    "usage with the cache",
    usageOf(
      { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: 100, output_tokens: 1 },
      { output_tokens: 9 },
    ),
    {
      text: "hi",
      usage: { inputTokens: 135, outputTokens: 9, cachedInputTokens: 100, cacheWriteTokens: 30 },
    },
  ],
  [
    "usage with a part of the cache for an hour, which only the start tells",
    usageOf(
      {
        input_tokens: 5,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        output_tokens: 1,
      },
      { output_tokens: 9, cache_creation_input_tokens: 30 },
    ),
    {
      text: "hi",
      usage: { inputTokens: 35, outputTokens: 9, cacheWriteTokens: 30, cacheWrite1hTokens: 20 },
    },
  ],
  [
    "usage with nothing for an hour",
    usageOf(
      {
        input_tokens: 5,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 0 },
        output_tokens: 1,
      },
      { output_tokens: 9 },
    ),
    { text: "hi", usage: { inputTokens: 35, outputTokens: 9, cacheWriteTokens: 30 } },
  ],
  [
    "usage with null for the cache",
    usageOf(
      { input_tokens: 5, cache_creation_input_tokens: null, cache_read_input_tokens: null },
      { output_tokens: 9 },
    ),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 9 } },
  ],
  [
    "usage that grew on the way",
    usageOf(
      { input_tokens: 5 },
      { input_tokens: 50, output_tokens: 9, output_tokens_details: { thinking_tokens: 70 } },
    ),
    { text: "hi", usage: { inputTokens: 50, outputTokens: 9, reasoningTokens: 9 } },
  ],
  [
    "usage twice, the last counts",
    START +
      text(0, "hi") +
      event("message_delta", { delta: {}, usage: { output_tokens: 1 } }) +
      ended("end_turn", { output_tokens: 9 }),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 9 } },
  ],
  [
    "usage of zeros at the end: a count never shrinks",
    usageOf({ input_tokens: 25, output_tokens: 1 }, { input_tokens: 0, output_tokens: 9 }),
    { text: "hi", usage: { inputTokens: 25, outputTokens: 9 } },
  ],
  [
    "usage of zeros after usage",
    START +
      text(0, "hi") +
      event("message_delta", {
        delta: {},
        usage: {
          input_tokens: 25,
          cache_creation_input_tokens: 30,
          cache_read_input_tokens: 100,
          output_tokens: 9,
          output_tokens_details: { thinking_tokens: 4 },
        },
      }) +
      ended("end_turn", {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
        output_tokens_details: { thinking_tokens: 0 },
      }),
    {
      text: "hi",
      usage: {
        inputTokens: 155,
        outputTokens: 9,
        cachedInputTokens: 100,
        cacheWriteTokens: 30,
        reasoningTokens: 4,
      },
    },
  ],
  [
    "usage whose end tells what of the same input was cached",
    usageOf(
      { input_tokens: 125, cache_read_input_tokens: 0 },
      { input_tokens: 25, cache_read_input_tokens: 100, output_tokens: 9 },
    ),
    { text: "hi", usage: { inputTokens: 125, outputTokens: 9, cachedInputTokens: 100 } },
  ],
  [
    "usage that cannot be true between usage and zeros",
    START +
      text(0, "hi") +
      event("message_delta", { delta: {}, usage: { output_tokens: 9 } }) +
      event("message_delta", { delta: {}, usage: { input_tokens: -1, output_tokens: -1 } }) +
      ended("end_turn", { input_tokens: 0, output_tokens: 0 }),
    { text: "hi", usage: undefined },
  ],
  [
    "usage null after usage",
    START +
      text(0, "hi") +
      event("message_delta", { delta: {}, usage: { output_tokens: 9 } }) +
      ended("end_turn", null),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 9 } },
  ],
  [
    "no usage at the end: of the output only a beginning is known",
    usageOf({ input_tokens: 5, output_tokens: 1 }, null),
    { text: "hi", usage: undefined },
  ],
  ["no usage at all", usageOf(undefined, null), { text: "hi", usage: undefined }],
  [
    "usage of a compaction at the server, which only `iterations` has",
    usageOf(
      { input_tokens: 60_385, cache_read_input_tokens: 0 },
      {
        input_tokens: 612,
        cache_read_input_tokens: 0,
        output_tokens: 2_819,
        iterations: [
          { type: "compaction", input_tokens: 60_385, output_tokens: 522, cache_read_input_tokens: 7 },
          { type: "message", input_tokens: 612, output_tokens: 2_819, cache_read_input_tokens: 0 },
        ],
      },
    ),
    { text: "hi", usage: { inputTokens: 61_004, outputTokens: 3_341, cachedInputTokens: 7 } },
  ],
  [
    "usage of an advisor, which only `iterations` has",
    usageOf(
      { input_tokens: 1_051 },
      {
        input_tokens: 2_414,
        output_tokens: 3_200,
        iterations: [
          { type: "message", input_tokens: 1_051, output_tokens: 35 },
          { type: "advisor_message", model: "claude-opus-4-7", input_tokens: 2_728, output_tokens: 874 },
          { type: "message", input_tokens: 1_363, output_tokens: 3_165 },
        ],
      },
    ),
    { text: "hi", usage: { inputTokens: 5_142, outputTokens: 4_074 } },
  ],
  [
    "usage of a compaction that cannot be true",
    usageOf(
      { input_tokens: 5 },
      { output_tokens: 2, iterations: [{ type: "compaction", input_tokens: -1, output_tokens: 2 }] },
    ),
    { text: "hi", usage: undefined },
  ],
  [
    // @musistudio/llms 1.0.53 (claude-code-router) in front of a server that was not asked to count.
    "usage of zeros alone: a prompt is never empty",
    usageOf(
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 },
    ),
    { text: "hi", usage: undefined },
  ],
  ["negative usage", usageOf({ input_tokens: 5 }, { output_tokens: -2 }), { text: "hi", usage: undefined }],
  [
    "negative usage of the cache",
    usageOf({ input_tokens: 5, cache_read_input_tokens: -1 }, { output_tokens: 2 }),
    { text: "hi", usage: undefined },
  ],
  [
    "usage as strings",
    usageOf({ input_tokens: "5" }, { output_tokens: "2" }),
    { text: "hi", usage: undefined },
  ],
  ["usage as text", usageOf("many", "more"), { text: "hi", usage: undefined }],
];

const BROKEN: readonly (readonly [string, string | Buffer, string, string?])[] = [
  ["nothing at all", "", "SERVER_ERROR"],
  ["HTML", "<!doctype html><title>proxy</title>", "SERVER_ERROR", "text/html"],
  ["an end before the first block", START, "SERVER_ERROR"],
  ["an end without message_stop", START + text(0, "hi"), "SERVER_ERROR"],
  [
    "an end without a reason, and without message_stop",
    START + text(0, "hi") + ended(null).replace(STOP, ""),
    "SERVER_ERROR",
  ],
  [
    "a call that is never closed, without message_stop",
    START + call(0, "f", "{}").replace(close(0), "") + ended("tool_use").replace(STOP, ""),
    "SERVER_ERROR",
  ],
  ["an end within an event", START + text(0, "hi") + ended().replace(STOP, "").slice(0, -20), "SERVER_ERROR"],
  ["an end within a call", START + call(0, "f", "{}"), "SERVER_ERROR"],
  [
    "a call that is never closed",
    START + call(0, "f", "{}").replace(close(0), "") + ended("tool_use"),
    "SERVER_ERROR",
  ],
  [
    "a call that is never closed, and an end that nobody knows",
    START + call(0, "f").replace(close(0), "") + ended("constructor"),
    "SERVER_ERROR",
  ],
  [
    "arguments of a call that was neither opened nor closed",
    START + piece(0, { type: "input_json_delta", partial_json: "{}" }) + ended("tool_use"),
    "SERVER_ERROR",
  ],
  [
    "a second message before the first one has ended",
    START +
      open(0, { type: "text", text: "Hel" }) +
      START.replace("msg_1", "msg_2") +
      text(0, "Hello") +
      ended(),
    "SERVER_ERROR",
  ],
  ["an end within a character", Buffer.from(START + text(0, "é")).subarray(0, -60), "SERVER_ERROR"],
  ["an event that is no JSON", `${START}data: {oops}\n\n${ended()}`, "SERVER_ERROR"],
  ["an event that is no object", `${START}data: 3\n\n${ended()}`, "SERVER_ERROR"],
  [
    "OpenAI's protocol",
    'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    "SERVER_ERROR",
  ],
  [
    "an error in a list, as Google has it",
    'data: [{"error":{"code":429,"message":"Resource has been exhausted."}}]\n\n',
    "RATE_LIMIT",
  ],
  [
    "an error that is the event, as vLLM had it",
    'data: {"object":"error","message":"slow","type":"RateLimitError","code":429}\n\n',
    "RATE_LIMIT",
  ],
  [
    "an error in the middle",
    START + text(0, "hi") + event("error", { error: { type: "api_error", message: "boom" } }) + ended(),
    "SERVER_ERROR",
  ],
  [
    "an overload",
    START + event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
    "OVERLOADED",
  ],
  [
    "a rate limit",
    event("error", { error: { type: "rate_limit_error", message: "slow down" } }),
    "RATE_LIMIT",
  ],
  ["a time-out", event("error", { error: { type: "timeout_error", message: "too slow" } }), "TIMEOUT"],
  [
    "an overflow",
    event("error", {
      error: { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" },
    }),
    "CONTEXT_OVERFLOW",
  ],
  [
    "an error without a name",
    'data: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
    "OVERLOADED",
  ],
  ["an error without a type", 'data: {"error":{"message":"x"}}\n\n', "SERVER_ERROR"],
  [
    "an error of a gateway, which has its number as text",
    'data: {"error":{"message":"x","type":"None","param":"None","code":"429"}}\n\n',
    "RATE_LIMIT",
  ],
  [
    "an error of Google, which has its number",
    event("error", { error: { code: 503, message: "x", status: "UNAVAILABLE" } }),
    "OVERLOADED",
  ],
  [
    "an error in a list, as Google has it",
    'event: error\ndata: [{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]\n\n',
    "RATE_LIMIT",
  ],
  ["an error that is no JSON", "event: error\ndata: boom\n\n", "SERVER_ERROR"],
  [
    "a JSON error instead of a stream",
    '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
    "OVERLOADED",
    "application/json",
  ],
];

interface BrokenCase {
  readonly bytes: string | Buffer;
  readonly kind: string;
  readonly type: string;
}

function asCase([name, bytes, kind, type = STREAM]: (typeof BROKEN)[number]): [string, BrokenCase] {
  return [name, { bytes, kind, type }];
}

/** These are told by their kind; whether trying again helps is theirs. */
const FINAL: readonly (readonly [string, string, string])[] = [
  ["an invalid request", "invalid_request_error", "FORMAT_ERROR"],
  ["a wrong key", "authentication_error", "AUTH"],
  ["no permission", "permission_error", "AUTH"],
  ["no money", "billing_error", "BILLING"],
  ["no such model", "not_found_error", "MODEL_NOT_FOUND"],
];

function expectMeant(response: ModelResponse, meant: Meant): void {
  const { text: said = "", reasoning = "", calls = [], finishReason = "stop" } = meant;
  const { content, toolCalls = [] } = response.message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const join = (type: string): string =>
    parts.map((part) => (part.type === type && "text" in part ? part.text : "")).join("");
  expect([join("text"), join("reasoning"), response.finishReason]).toEqual([said, reasoning, finishReason]);
  expect(toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual(calls);
  expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(calls.length);
  if ("usage" in meant) expect(response.usage).toEqual(meant.usage);
}

describe.each(CUTS)("T10: a stream, %s", (_, cut) => {
  test.each(STREAMS)("with %s is read as it was meant", async (_name, bytes, meant) => {
    next = { type: STREAM, pieces: cut(Buffer.from(bytes)) };
    const model = client(server);
    const { events, response } = await streamed(model);
    expectMeant(response, meant);
    expect([told(events, "text"), told(events, "reasoning")]).toEqual([
      meant.text ?? "",
      meant.reasoning ?? "",
    ]);
    // A server that streams, asked or not.
    expect(await model.generate(HELLO)).toEqual(response);
  });

  test.each(BROKEN.map(asCase))(
    "with %s is a failure, not an answer",
    async (_name, { bytes, kind, type }) => {
      next = { type, pieces: cut(Buffer.from(bytes)) };
      for (const failed of [streamed(client(server)), client(server).generate(HELLO)]) {
        expect(await failureOf(failed)).toMatchObject({
          code: "PROVIDER_ERROR",
          kind,
          retryable: true,
          requestId: "req-7",
        });
      }
    },
  );

  test.each(FINAL)("with %s inside fails for good", async (_name, type, kind) => {
    next = {
      type: STREAM,
      pieces: cut(Buffer.from(START + event("error", { error: { type, message: "no" } }))),
    };
    expect(await failureOf(streamed(client(server)))).toMatchObject({ kind, retryable: false });
  });
});

test.each(CUTS)("T10: a stream that is called JSON is read as it was meant, %s", async (_, cut) => {
  const bytes = START + text(0, "hé", "llo") + ended() + text(1, "more");
  next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
  const { events, response } = await streamed(client(server));
  expectMeant(response, { text: "héllo", usage: USED });
  expect(told(events, "text")).toBe("héllo");
  expect(await client(server).generate(HELLO)).toEqual(response);
});

const message = (content: unknown, reason: string | null = "end_turn", rest: object = {}): string =>
  JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m-1",
    content,
    stop_reason: reason,
    ...rest,
  });

const WHOLES: readonly (readonly [string, string, Meant])[] = [
  ["text", message([{ type: "text", text: "héllo 👩‍🚀" }]), { text: "héllo 👩‍🚀" }],
  ["a byte order mark", `\uFEFF${message([{ type: "text", text: "hi" }])}`, { text: "hi" }],
  ["blanks around it", `\n\n  ${message([{ type: "text", text: "hi" }])}\n`, { text: "hi" }],
  ["no reason", message([{ type: "text", text: "hi" }], null), { text: "hi" }],
  ["no content", message([]), { text: "" }],
  [
    "thinking",
    message([
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "hi" },
    ]),
    { text: "hi", reasoning: "hm" },
  ],
  [
    "blocks that are none",
    message([null, 3, "x", { type: "text" }, { type: "text", text: "hi" }]),
    { text: "hi" },
  ],
  [
    "a refusal",
    message([], "refusal", { stop_details: { type: "refusal", explanation: "No." } }),
    { text: "No.", finishReason: "refused" },
  ],
  [
    "a call",
    message([{ type: "tool_use", id: "a", name: "f", input: { x: 1 } }], "tool_use"),
    { finishReason: "toolCalls", calls: [["f", '{"x":1}']] },
  ],
  [
    "a call as text",
    message([{ type: "tool_use", id: "a", name: "f", input: '{"x":' }], "tool_use"),
    { finishReason: "toolCalls", calls: [["f", '{"x":']] },
  ],
  [
    "calls without ids, arguments and names",
    message(
      [
        { type: "tool_use", name: "f" },
        { type: "tool_use", id: null, input: null },
      ],
      "tool_use",
    ),
    {
      finishReason: "toolCalls",
      calls: [
        ["f", "{}"],
        ["", "{}"],
      ],
    },
  ],
  [
    "the same call twice",
    message(
      [
        { type: "tool_use", id: "a", name: "f", input: {} },
        { type: "tool_use", id: "a", name: "f", input: {} },
      ],
      "tool_use",
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
    message([{ type: "text", text: "hi" }], "end_turn", { usage: { input_tokens: 5, output_tokens: 2 } }),
    { text: "hi", usage: USED },
  ],
  [
    "hostile usage",
    message([{ type: "text", text: "hi" }], "end_turn", {
      usage: { input_tokens: Number.MAX_VALUE, output_tokens: 2.5 },
    }),
    { text: "hi", usage: undefined },
  ],
  [
    "usage beyond all numbers",
    message([{ type: "text", text: "hi" }], "end_turn", {
      usage: { input_tokens: Number.MAX_SAFE_INTEGER, cache_read_input_tokens: 9, output_tokens: 2 },
    }),
    { text: "hi", usage: undefined },
  ],
];

const BROKEN_WHOLES: readonly (readonly [string, string, string])[] = [
  ["nothing", "", "SERVER_ERROR"],
  ["HTML", "<html>", "SERVER_ERROR"],
  ["half of it", message([{ type: "text", text: "hi" }]).slice(0, -10), "SERVER_ERROR"],
  ["null", "null", "SERVER_ERROR"],
  ["a number", "3", "SERVER_ERROR"],
  ["a list", "[]", "SERVER_ERROR"],
  ["no content", '{"type":"message"}', "SERVER_ERROR"],
  ["null content", message(null), "SERVER_ERROR"],
  ["content that is text", message("hi"), "SERVER_ERROR"],
  [
    "an error under status 200",
    '{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}',
    "RATE_LIMIT",
  ],
  ["an error as text under status 200", '{"error":"Rate limit, try later","code":429}', "RATE_LIMIT"],
  [
    "an error in a list under status 200",
    '[{"error":{"code":429,"message":"Resource has been exhausted."}}]',
    "RATE_LIMIT",
  ],
  [
    "an error that is the body, as vLLM had it",
    '{"object":"error","message":"slow","type":"RateLimitError","code":429}',
    "RATE_LIMIT",
  ],
  ["depth without end", "[".repeat(3_000), "SERVER_ERROR"],
];

describe.each(CUTS)("T10: an answer that is not streamed, %s", (_, cut) => {
  test.each([STREAM, "text/plain", "text/html", "application/octet-stream"])(
    "is read under a wrong content type too: %s",
    async (type) => {
      next = { type, pieces: cut(Buffer.from(`\n ${message([{ type: "text", text: "héllo" }])}`)) };
      const model = client(server);
      const generated = await model.generate(HELLO);
      expectMeant(generated, { text: "héllo" });
      expect((await streamed(model)).response).toEqual(generated);
      next = { type, pieces: cut(Buffer.from('{"type":"error","error":{"type":"rate_limit_error"}}')) };
      expect(await failureOf(model.generate(HELLO))).toMatchObject({ kind: "RATE_LIMIT" });
    },
  );

  test.each(WHOLES)("with %s is read as it was meant, asked for so or not", async (_name, bytes, meant) => {
    next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
    const model = client(server);
    const generated = await model.generate(HELLO);
    expectMeant(generated, meant);
    expect((await streamed(model)).response).toEqual(generated);
  });

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
    for (const failed of [streamed(client(server)), client(server).generate(HELLO)]) {
      expect(await failureOf(failed)).toMatchObject({ kind, retryable: true, requestId: "req-7" });
    }
  });
});
