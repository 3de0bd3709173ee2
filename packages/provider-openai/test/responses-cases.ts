import { callItem, DONE, frame, SPOKEN, sse, terminal, textItem } from "./support.ts";

// What servers send over the Responses API, and what it means (T10).

export interface Expected {
  readonly text?: string;
  /** What the deltas add up to, where that is not the text. */
  readonly told?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly calls?: readonly (readonly [id: string, name: string, args: string])[];
  readonly usage?: unknown;
}

const { piece, end } = SPOKEN.responses;
const CREATED = sse("response.created", { response: { id: "r1", model: "m", status: "in_progress" } });
const HI = piece("h") + piece("i") + end("hi");
const GOOD_USAGE = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const added = (item: object, output_index = 0): string =>
  sse("response.output_item.added", { output_index, item });
const closed = (item: object, output_index = 0): string =>
  sse("response.output_item.done", { output_index, item });
const args = (n: number, delta: string, output_index = n): string =>
  sse("response.function_call_arguments.delta", { item_id: `fc${n}`, output_index, delta });
const begun = (n: number): object => callItem(n, "", { status: "in_progress" });
const withUsage = (usage: unknown): string => terminal([textItem("hi")], { usage });
const refusal = (text: string): object => textItem("", { content: [{ type: "refusal", refusal: text }] });
const summaries = (...texts: string[]): object => ({
  type: "reasoning",
  id: "rs1",
  summary: texts.map((text) => ({ type: "summary_text", text })),
});
const thought = (delta: string, summary_index = 0): string =>
  sse("response.reasoning_summary_text.delta", { item_id: "rs1", output_index: 0, summary_index, delta });
const numbered = (sequence_number: number, delta: string, rest: object = {}): string =>
  sse("response.output_text.delta", { sequence_number, delta, ...rest });
const CALL = [["call0", "f", '{"a":1}']] as const;

export const STREAMS: readonly (readonly [string, string, Expected])[] = [
  [
    "text in several scripts",
    CREATED + piece("héllo 👩‍🚀") + piece(" — 日本") + end("héllo 👩‍🚀 — 日本"),
    { text: "héllo 👩‍🚀 — 日本" },
  ],
  ["a byte order mark", `\uFEFF${HI}`, { text: "hi" }],
  ["CRLF", HI.replaceAll("\n", "\r\n"), { text: "hi" }],
  ["CR", HI.replaceAll("\n", "\r"), { text: "hi" }],
  ["comments", `: ping\n\n${piece("hi")}: still there\n\n:\n${end("hi")}`, { text: "hi" }],
  [
    "data over several lines",
    `data: {"type":"response.output_text.delta",\ndata: "delta":"hi"}\n\n${end("hi")}`,
    { text: "hi" },
  ],
  ["events without a name", HI.replaceAll(/event: .*\n/g, ""), { text: "hi" }],
  [
    "events with their type in the name only",
    HI.replaceAll(/"type":"response\.[\w.]*",/g, ""),
    { text: "hi" },
  ],
  ["no empty line at the end", HI.trimEnd(), { text: "hi" }],
  ["[DONE] after the end", HI + DONE, { text: "hi" }],
  ["events after the end", HI + piece("more") + sse("error", { message: "boom" }), { text: "hi" }],
  ["no deltas, only the end", CREATED + end("hi"), { text: "hi" }],
  ["no deltas, only closed items", closed(textItem("hi")) + terminal([]), { text: "hi" }],
  [
    "an end without its items",
    added(textItem("")) + piece("h") + piece("i") + closed(textItem("hi")) + terminal([]),
    { text: "hi" },
  ],
  [
    "an end without its items, and items that were never closed",
    piece("h") + piece("i") + terminal([]),
    { text: "hi" },
  ],
  ["an end without a response", piece("h") + piece("i") + sse("response.completed"), { text: "hi" }],
  [
    "an end with null for its items",
    piece("hi") + sse("response.completed", { response: { output: null } }),
    { text: "hi" },
  ],
  ["nothing to say", CREATED + terminal([]), { text: "" }],
  [
    "null items and items of another kind",
    piece("hi") + terminal([null, 3, { type: "web_search_call", id: "w" }, textItem("hi")]),
    { text: "hi" },
  ],
  [
    "events that nobody knows",
    sse("response.flavour.added", { delta: "no" }) +
      sse("response.output_text.annotation.added", { annotation: {} }) +
      sse("keepalive") +
      HI,
    { text: "hi" },
  ],
  ["an end that says more than the deltas", piece("h") + end("hi"), { text: "hi" }],
  [
    "an end that says something else than the deltas: the end counts",
    piece("bye") + end("hi"),
    { text: "hi", told: "bye" },
  ],
  [
    "an end that takes all back",
    piece("bye") + terminal([callItem(0, "{}")]),
    { told: "bye", finishReason: "toolCalls", calls: [["call0", "f", "{}"]] },
  ],
  [
    "deltas whose ids change",
    added(textItem("", { id: "x1" })) +
      sse("response.output_text.delta", { item_id: "x2", output_index: 0, delta: "h" }) +
      sse("response.output_text.delta", { item_id: "x3", output_index: 0, delta: "i" }) +
      terminal([textItem("hi", { id: "x4" })]),
    { text: "hi" },
  ],
  [
    "the same events once more, by their numbers",
    sse("response.output_text.delta", { sequence_number: 4, delta: "h" }) +
      sse("response.output_text.delta", { sequence_number: 4, delta: "h" }) +
      sse("response.output_text.delta", { sequence_number: 5, delta: "i" }) +
      sse("response.output_text.delta", { sequence_number: 4, delta: "h" }) +
      end("hi"),
    { text: "hi" },
  ],
  [
    "numbers that jump, stand still at 0, or are none",
    [7, 9, 0, 0, "x", null]
      .map((sequence_number) => sse("response.output_text.delta", { sequence_number, delta: "a" }))
      .join("") + end("aaaaaa"),
    { text: "aaaaaa" },
  ],
  [
    "a number that is the same for all, and an end without items",
    numbered(1, "Hello ") + numbered(1, "world") + numbered(1, "world") + terminal([]),
    { text: "Hello worldworld" },
  ],
  [
    "a number that is the same for all, and a text that begins by repeating itself",
    numbered(1, "ha") + numbered(1, "ha") + numbered(1, "!") + numbered(1, "ha") + terminal([]),
    { text: "haha!ha" },
  ],
  [
    "a number that is the same for all, also for the end, and a text that only repeats itself",
    numbered(1, "ha") +
      numbered(1, "ha") +
      sse("response.completed", { sequence_number: 1, response: { status: "completed", output: [] } }),
    { text: "haha" },
  ],
  [
    "numbers that begin anew with each item, and an end without items",
    numbered(4, "Hello", { item_id: "m1", output_index: 0 }) +
      numbered(5, " world", { item_id: "m1", output_index: 0 }) +
      numbered(2, ", I", { item_id: "m2", output_index: 1 }) +
      numbered(4, " am", { item_id: "m2", output_index: 1 }) +
      numbered(5, " here", { item_id: "m2", output_index: 1 }) +
      terminal([]),
    { text: "Hello world, I am here" },
  ],
  [
    "the same events once more after a break, and an end without items",
    numbered(1, "a") +
      numbered(2, "a") +
      numbered(3, "b") +
      numbered(2, "a") +
      numbered(3, "b") +
      numbered(4, "b") +
      terminal([]),
    { text: "aabb" },
  ],
  [
    "a text that comes whole only, and an end without items",
    sse("response.output_text.done", { item_id: "m1", output_index: 0, content_index: 0, text: "Hello" }) +
      terminal([]),
    { text: "Hello" },
  ],
  [
    "a text whose end comes whole only",
    piece("Hel") +
      sse("response.output_text.done", { item_id: "m1", output_index: 0, text: "Hello" }) +
      terminal([]),
    { text: "Hello" },
  ],
  [
    "a whole text that is another than its deltas, and an end without items",
    piece("bye") +
      sse("response.output_text.done", { item_id: "m1", output_index: 0, text: "hi" }) +
      terminal([]),
    { text: "hi", told: "bye" },
  ],
  [
    "a whole text under another id and place than its deltas",
    sse("response.output_text.delta", { delta: "h" }) +
      sse("response.output_text.delta", { delta: "i" }) +
      sse("response.output_text.done", { item_id: "m9", output_index: 3, content_index: 2, text: "hi" }) +
      sse("response.content_part.done", {
        item_id: "m9",
        output_index: 3,
        part: { type: "output_text", text: "hi" },
      }) +
      terminal([]),
    { text: "hi" },
  ],
  [
    "two parts of a text that come whole, and an end without items",
    ["h", "i"]
      .map((text, content_index) =>
        sse("response.content_part.done", {
          item_id: "m1",
          output_index: 0,
          content_index,
          part: { type: "output_text", text },
        }),
      )
      .join("") + terminal([]),
    { text: "hi" },
  ],
  [
    "a refusal that comes whole only, and an end without items",
    sse("response.refusal.done", { item_id: "m1", output_index: 0, refusal: "no" }) + terminal([]),
    { text: "no", finishReason: "refused" },
  ],
  [
    "a summary that comes whole only, in two parts, and an end without items",
    ["ab", "c"]
      .map((text, summary_index) =>
        sse("response.reasoning_summary_text.done", {
          item_id: "rs1",
          output_index: 0,
          summary_index,
          text,
        }),
      )
      .join("") +
      sse("response.reasoning_summary_part.done", {
        item_id: "rs1",
        output_index: 0,
        summary_index: 1,
        part: { type: "summary_text", text: "c" },
      }) +
      piece("hi") +
      terminal([]),
    { text: "hi", reasoning: "ab\n\nc" },
  ],
  [
    "null and numbers for deltas",
    sse("response.output_text.delta", { delta: null }) + sse("response.output_text.delta", { delta: 3 }) + HI,
    { text: "hi" },
  ],
  [
    "several parts of a message",
    terminal([
      textItem("", {
        content: [
          { type: "output_text", text: "h" },
          { type: "output_text", text: "i" },
        ],
      }),
    ]),
    { text: "hi" },
  ],
  ["content as text", terminal([textItem("", { content: "hi" })]), { text: "hi" }],
  ["two messages", piece("h") + terminal([textItem("h"), textItem("i", { id: "m2" })]), { text: "hi" }],
  [
    "a summary in two parts",
    thought("a") +
      thought("b") +
      thought("c", 1) +
      piece("hi") +
      terminal([summaries("ab", "c"), textItem("hi")]),
    { text: "hi", reasoning: "ab\n\nc" },
  ],
  [
    "reasoning in the open",
    sse("response.reasoning_text.delta", {
      item_id: "rs1",
      output_index: 0,
      content_index: 0,
      delta: "hm",
    }) +
      terminal([
        { type: "reasoning", id: "rs1", summary: [], content: [{ type: "reasoning_text", text: "hm" }] },
        textItem("hi"),
      ]),
    { text: "hi", reasoning: "hm" },
  ],
  [
    "reasoning that is told at the end only",
    terminal([summaries("hm"), textItem("hi")]),
    { text: "hi", reasoning: "hm" },
  ],
  [
    "a refusal",
    sse("response.refusal.delta", { delta: "I " }) +
      sse("response.refusal.delta", { delta: "won't" }) +
      terminal([refusal("I won't")]),
    { text: "I won't", finishReason: "refused" },
  ],
  [
    "a refusal that was never closed",
    sse("response.refusal.delta", { delta: "no" }) + terminal([]),
    { text: "no", finishReason: "refused" },
  ],
  [
    "a content filter",
    piece("he") +
      terminal([textItem("he")], { incomplete_details: { reason: "content_filter" } }, "incomplete"),
    { text: "he", finishReason: "filtered" },
  ],
  [
    "the limit of the answer",
    piece("he") +
      terminal([textItem("he")], { incomplete_details: { reason: "max_output_tokens" } }, "incomplete"),
    { text: "he", finishReason: "length" },
  ],
  ...(
    [
      ["MAX_OUTPUT_TOKENS", "length"],
      ["max_tokens", "length"],
      ["length", "length"],
      ["CONTENT_FILTER", "filtered"],
      ["safety", "filtered"],
      ["timeout", "length"],
      // New in openai 7.x.
      ["max_messages", "length"],
      ["steered", "length"],
    ] as const
  ).map(
    ([reason, finishReason]) =>
      [
        `a reason said as ${reason}`,
        piece("he") + terminal([textItem("he")], { incomplete_details: { reason } }, "incomplete"),
        { text: "he", finishReason },
      ] as const,
  ),
  [
    "no reason for being incomplete",
    piece("he") + terminal([textItem("he")], {}, "incomplete"),
    { text: "he", finishReason: "length" },
  ],
  [
    "an unknown reason",
    piece("he") + terminal([textItem("he")], { incomplete_details: { reason: "constructor" } }, "incomplete"),
    { text: "he", finishReason: "other" },
  ],
  [
    "completed, although incomplete",
    sse("response.completed", { response: { status: "incomplete", output: [textItem("he")] } }),
    { text: "he", finishReason: "length" },
  ],
  [
    "length with whole arguments",
    terminal([callItem(0, "{}")], { incomplete_details: { reason: "max_output_tokens" } }, "incomplete"),
    { finishReason: "length", calls: [["call0", "f", "{}"]] },
  ],
  [
    "an unknown reason with a call",
    terminal([callItem(0, "{}")], { incomplete_details: { reason: "steered" } }, "incomplete"),
    { finishReason: "length", calls: [["call0", "f", "{}"]] },
  ],
  [
    "a call that is incomplete in a response that is complete",
    terminal([callItem(0, '{"a":', { status: "incomplete" })]),
    { finishReason: "length", calls: [["call0", "f", '{"a":']] },
  ],
  [
    "half a call in an answer that was cut",
    added(begun(0)) + args(0, '{"a":') + terminal([], {}, "incomplete"),
    { finishReason: "length", calls: [["call0", "f", '{"a":']] },
  ],
  [
    "arguments per byte",
    added(begun(0)) +
      Array.from('{"a":1}', (letter) => args(0, letter)).join("") +
      closed(callItem(0, '{"a":1}')) +
      terminal([callItem(0, '{"a":1}')]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  [
    "arguments for a call that nobody announced",
    args(0, '{"a"') + args(0, ":1}") + terminal([callItem(0, '{"a":1}')]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  [
    "arguments that are said to be whole, and an end without items",
    added(begun(0)) +
      args(0, '{"a"') +
      sse("response.function_call_arguments.done", {
        item_id: "fc0",
        output_index: 0,
        arguments: '{"a":1}',
      }) +
      terminal([]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  [
    "whole arguments that differ from their deltas",
    added(begun(0)) +
      args(0, '{"b"') +
      sse("response.function_call_arguments.done", {
        item_id: "fc0",
        output_index: 0,
        arguments: '{"a":1}',
      }) +
      terminal([]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  [
    "an end that differs from whole arguments",
    added(begun(0)) + closed(callItem(0, '{"b":2}')) + terminal([callItem(0, '{"a":1}')]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  ["arguments as an object", terminal([callItem(0, { a: 1 })]), { finishReason: "toolCalls", calls: CALL }],
  [
    "empty and null arguments",
    terminal([callItem(0, ""), callItem(1, null)]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", ""],
        ["call1", "f", ""],
      ],
    },
  ],
  [
    "broken arguments, kept as they are",
    terminal([callItem(0, '{"a": ')]),
    { finishReason: "toolCalls", calls: [["call0", "f", '{"a": ']] },
  ],
  [
    "a call without its call_id",
    added(callItem(0, "", { call_id: undefined })) +
      args(0, "{}") +
      terminal([callItem(0, "{}", { call_id: null })]),
    { finishReason: "toolCalls", calls: [["call_0", "f", "{}"]] },
  ],
  [
    "a call_id and a name that come late",
    added({ type: "function_call", id: "fc0" }) +
      args(0, '{"a"') +
      closed(callItem(0, '{"a":1}')) +
      terminal([callItem(0, '{"a":1}')]),
    { finishReason: "toolCalls", calls: CALL },
  ],
  [
    "the same call_id twice",
    terminal([callItem(0, "{}"), callItem(1, "{}", { call_id: "call0" })]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", "{}"],
        ["call0_2", "f", "{}"],
      ],
    },
  ],
  [
    "the same item twice",
    terminal([callItem(0, "{}"), callItem(0, "{}")]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", "{}"],
        ["call0_2", "f", "{}"],
      ],
    },
  ],
  [
    "an output_index that is reused, missing or wrong",
    added(begun(0), 0) +
      added(begun(1), 0) +
      args(0, "{", 9) +
      args(1, "[", -1) +
      args(0, "}", 1) +
      args(1, "]", 0) +
      terminal([callItem(0, "{}"), callItem(1, "[]")]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", "{}"],
        ["call1", "f", "[]"],
      ],
    },
  ],
  [
    "a call without a name",
    terminal([callItem(0, "{}", { name: null })]),
    { finishReason: "toolCalls", calls: [["call0", "", "{}"]] },
  ],
  [
    "hostile names",
    terminal([callItem(0, '{"__proto__":1}', { call_id: "__proto__", name: "constructor", id: "toString" })]),
    { finishReason: "toolCalls", calls: [["__proto__", "constructor", '{"__proto__":1}']] },
  ],
  [
    "reasoning that only the total counts",
    withUsage({ input_tokens: 20, output_tokens: 198, total_tokens: 623 }),
    { text: "hi", usage: { inputTokens: 20, outputTokens: 603 } },
  ],
  ["usage", withUsage(GOOD_USAGE), { text: "hi", usage: { inputTokens: 5, outputTokens: 2 } }],
  [
    "usage before the end only",
    sse("response.in_progress", { response: { usage: { input_tokens: 1, output_tokens: 1 } } }) +
      withUsage(GOOD_USAGE),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "usage of zeros after usage: a count never shrinks",
    sse("response.in_progress", {
      response: {
        usage: { input_tokens: 9, output_tokens: 3, input_tokens_details: { cached_tokens: 4 } },
      },
    }) +
      withUsage({
        input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      }),
    {
      text: "hi",
      usage: { inputTokens: 9, outputTokens: 3, cachedInputTokens: 4, cacheWriteTokens: 0 },
    },
  ],
  [
    "usage before the end, and none with it: of the output only a beginning is known",
    sse("response.in_progress", { response: { usage: { input_tokens: 9, output_tokens: 1 } } }) + end("hi"),
    { text: "hi", usage: undefined },
  ],
  ["usage null", withUsage(null), { text: "hi", usage: undefined }],
  ["usage absent", end("hi"), { text: "hi", usage: undefined }],
  [
    // OpenAI sends this when a program of the model goes on without asking the model.
    "usage of zeros",
    withUsage({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }),
    { text: "hi", usage: { inputTokens: 0, outputTokens: 0 } },
  ],
  ["negative usage", withUsage({ input_tokens: -5, output_tokens: 2 }), { text: "hi", usage: undefined }],
  [
    "usage as strings",
    withUsage({ input_tokens: "5", output_tokens: "2" }),
    { text: "hi", usage: undefined },
  ],
  ["usage without the output", withUsage({ input_tokens: 5 }), { text: "hi", usage: undefined }],
  [
    "more found in a cache, and more reasoning, than there can be",
    withUsage({
      ...GOOD_USAGE,
      input_tokens_details: { cached_tokens: 99, cache_write_tokens: 3 },
      output_tokens_details: { reasoning_tokens: 99 },
    }),
    {
      text: "hi",
      usage: {
        inputTokens: 5,
        outputTokens: 2,
        cachedInputTokens: 5,
        cacheWriteTokens: 0,
        reasoningTokens: 2,
      },
    },
  ],
  ["usage as text", withUsage("many"), { text: "hi", usage: undefined }],
  ["endless usage", withUsage({ input_tokens: 1e300, output_tokens: 2.5 }), { text: "hi", usage: undefined }],
  [
    "cached, written and reasoning tokens, hostile ones cut down",
    withUsage({
      ...GOOD_USAGE,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 99 },
      output_tokens_details: { reasoning_tokens: 2 },
    }),
    {
      text: "hi",
      usage: {
        inputTokens: 5,
        outputTokens: 2,
        cachedInputTokens: 3,
        cacheWriteTokens: 2,
        reasoningTokens: 2,
      },
    },
  ],
];

export const BROKEN_STREAMS: readonly (readonly [string, string | Buffer, string, string?])[] = [
  ["nothing at all", "", "SERVER_ERROR"],
  ["HTML", "<!doctype html><title>proxy</title>", "SERVER_ERROR", "text/html"],
  ["an end without a last event", CREATED + piece("hi"), "SERVER_ERROR"],
  ["an end after all items were closed", piece("hi") + closed(textItem("hi")), "SERVER_ERROR"],
  ["[DONE] without a last event", piece("hi") + DONE, "SERVER_ERROR"],
  ["an end within an event", piece("hi") + end("hi").slice(0, 80), "SERVER_ERROR"],
  ["an end within a tool call", added(begun(0)) + args(0, "{}"), "SERVER_ERROR"],
  ["an end within a character", Buffer.from(piece("é")).subarray(0, -6), "SERVER_ERROR"],
  [
    "half a call in an answer that claims to be complete",
    added(begun(0)) + args(0, "{}") + terminal([]),
    "SERVER_ERROR",
  ],
  ["an event that is no JSON", `${piece("hi")}data: {oops}\n\n${end("hi")}`, "SERVER_ERROR"],
  ["an event that is no object", `data: 3\n\n${end("hi")}`, "SERVER_ERROR"],
  ["a last event with nothing in it", sse("response.completed"), "SERVER_ERROR"],
  [
    "an answer in the other protocol",
    frame({ choices: [{ delta: { content: "hi" }, finish_reason: "stop" }] }) + DONE,
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
    piece("hi") + sse("error", { message: "boom", code: "server_error", param: null }) + end("hi"),
    "SERVER_ERROR",
  ],
  [
    "an error in the middle, wrapped",
    piece("hi") + sse("error", { error: { message: "boom", type: "server_error" } }),
    "SERVER_ERROR",
  ],
  [
    "an error in the middle, as proxies say it",
    piece("hi") + frame({ error: { message: "busy", code: 503 } }),
    "OVERLOADED",
  ],
  ["an error by its name", 'event: error\ndata: {"message":"boom","code":"502"}\n\n', "SERVER_ERROR"],
  ["an error as text", frame({ error: "boom" }), "SERVER_ERROR"],
  [
    "a rate limit in the middle",
    sse("error", { message: "slow down", code: "rate_limit_exceeded" }),
    "RATE_LIMIT",
  ],
  [
    "an overflow in the middle",
    sse("error", { message: "too long", code: "context_length_exceeded" }),
    "CONTEXT_OVERFLOW",
  ],
  ["a failure without a reason", piece("hi") + terminal([], {}, "failed"), "SERVER_ERROR"],
  [
    "a failure that is called complete",
    sse("response.completed", {
      response: {
        status: "failed",
        error: { code: "rate_limit_exceeded", message: "slow" },
        output: [textItem("hi")],
      },
    }),
    "RATE_LIMIT",
  ],
  ["a response that was cancelled", terminal([], {}, "cancelled"), "SERVER_ERROR"],
  [
    "a JSON error instead of a stream",
    '{"error":{"message":"busy","code":529}}',
    "OVERLOADED",
    "application/json",
  ],
  ...(
    [
      ["server_error", "SERVER_ERROR"],
      ["rate_limit_exceeded", "RATE_LIMIT"],
      ["context_length_exceeded", "CONTEXT_OVERFLOW"],
      ["insufficient_quota", "BILLING"],
      ["server_is_overloaded", "OVERLOADED"],
      ["slow_down", "OVERLOADED"],
      ["vector_store_timeout", "TIMEOUT"],
      ["invalid_prompt", "CONTENT_BLOCKED"],
      ["bio_policy", "CONTENT_BLOCKED"],
      ["image_content_policy_violation", "CONTENT_BLOCKED"],
      ["invalid_image_url", "FORMAT_ERROR"],
      ["unsupported_image_media_type", "FORMAT_ERROR"],
      ["model_not_found", "MODEL_NOT_FOUND"],
      ["what_nobody_knows", "SERVER_ERROR"],
    ] as const
  ).map(
    ([code, kind]) =>
      [
        `a failure by ${code}`,
        piece("hi") + terminal([], { error: { code, message: "no" } }, "failed"),
        kind,
      ] as const,
  ),
];

const whole = (output: unknown, rest: object = {}): string =>
  JSON.stringify({
    id: "r1",
    object: "response",
    model: "m",
    status: "completed",
    error: null,
    output,
    ...rest,
  });

export const WHOLES: readonly (readonly [string, string, Expected])[] = [
  ["text", whole([textItem("héllo 👩‍🚀")]), { text: "héllo 👩‍🚀" }],
  ["a byte order mark", `\uFEFF${whole([textItem("hi")])}`, { text: "hi" }],
  ["blanks around it", `\n\n  ${whole([textItem("hi")])}\n`, { text: "hi" }],
  ["no status", whole([textItem("hi")], { status: undefined }), { text: "hi" }],
  ["nothing to say", whole([]), { text: "" }],
  ["a refusal", whole([refusal("no")]), { text: "no", finishReason: "refused" }],
  [
    "a filter",
    whole([], { status: "incomplete", incomplete_details: { reason: "content_filter" } }),
    { finishReason: "filtered" },
  ],
  [
    "a limit",
    whole([callItem(0, "{}")], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    { finishReason: "length", calls: [["call0", "f", "{}"]] },
  ],
  ["arguments as an object", whole([callItem(0, { a: 1 })]), { finishReason: "toolCalls", calls: CALL }],
  [
    "empty and null arguments",
    whole([callItem(0, ""), callItem(1, null)]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", ""],
        ["call1", "f", ""],
      ],
    },
  ],
  [
    "the same call twice",
    whole([callItem(0, "{}"), callItem(0, "{}")]),
    {
      finishReason: "toolCalls",
      calls: [
        ["call0", "f", "{}"],
        ["call0_2", "f", "{}"],
      ],
    },
  ],
  [
    "usage",
    whole([textItem("hi")], { usage: GOOD_USAGE }),
    { text: "hi", usage: { inputTokens: 5, outputTokens: 2 } },
  ],
  [
    "hostile usage",
    whole([textItem("hi")], { usage: { input_tokens: Number.MAX_VALUE, output_tokens: 2.5 } }),
    { text: "hi", usage: undefined },
  ],
];

export const BROKEN_WHOLES: readonly (readonly [string, string, string])[] = [
  ["nothing", "", "SERVER_ERROR"],
  ["HTML", "<html>", "SERVER_ERROR"],
  ["half of it", whole([textItem("hi")]).slice(0, -10), "SERVER_ERROR"],
  ["null", "null", "SERVER_ERROR"],
  ["a number", "3", "SERVER_ERROR"],
  ["a list", "[]", "SERVER_ERROR"],
  ["no output", '{"status":"completed"}', "SERVER_ERROR"],
  ["null for its output", whole(null), "SERVER_ERROR"],
  ["a response that is queued", whole([], { status: "queued" }), "SERVER_ERROR"],
  ["a response that is in progress", whole([textItem("h")], { status: "in_progress" }), "SERVER_ERROR"],
  ["an answer in the other protocol", '{"choices":[{"message":{"content":"hi"}}]}', "SERVER_ERROR"],
  [
    "an error under status 200",
    whole([], { status: "failed", error: { code: "rate_limit_exceeded", message: "slow" } }),
    "RATE_LIMIT",
  ],
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
