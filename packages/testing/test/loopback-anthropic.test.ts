import { ProviderError, type ModelRequest } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import {
  type Answer,
  type LoopbackOptions,
  loopbackAnthropic,
  readBill,
  virtualClock,
} from "../src/index.ts";
import { jsonOf, temporaryFile } from "./helpers.ts";

const VERSION = { "anthropic-version": "2026-10-21" };

const ask = (
  url: string,
  body: object,
  headers: Record<string, string> = VERSION,
  path = "/v1/messages",
): Promise<Response> => fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers });
const about = (content: unknown, more: object = {}): object => ({
  model: "small",
  max_tokens: 100,
  messages: [{ role: "user", content }],
  ...more,
});
const serving = (answer: Answer, more: Partial<LoopbackOptions> = {}) =>
  loopbackAnthropic({ script: () => answer, ...more });

/** The events of a stream; the name of each has to be its type. */
function eventsOf(text: string): Record<string, unknown>[] {
  return text
    .split("\n\n")
    .filter((each) => each !== "")
    .map((each) => {
      const [, name, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(each) ?? [];
      const sent = JSON.parse(data) as Record<string, unknown>;
      expect(sent["type"]).toBe(name);
      return sent;
    });
}

const FULL: Answer = {
  reasoning: "Well, well.",
  text: "I look it up.",
  toolCalls: [
    { name: "add", arguments: { a: 1 } },
    { name: "raw", arguments: '{"cut', id: "x" },
  ],
  usage: {
    inputTokens: 100,
    outputTokens: 9,
    cachedInputTokens: 64,
    cacheWriteTokens: 16,
    cacheWrite1hTokens: 10,
    reasoningTokens: 5,
  },
};
const SIGNATURE = `loopback-sealed:${Buffer.from("Well, well.").toString("base64url")}`;
const USAGE = {
  input_tokens: 20,
  cache_creation_input_tokens: 16,
  cache_creation: { ephemeral_5m_input_tokens: 6, ephemeral_1h_input_tokens: 10 },
  cache_read_input_tokens: 64,
  output_tokens: 9,
  output_tokens_details: { thinking_tokens: 5 },
};

describe("POST /v1/messages", () => {
  test("answers with a message, byte for byte the same each time", async () => {
    const clock = virtualClock({ now: 1_700_000_000_999 });
    const bodies: string[] = [];
    for (let round = 0; round < 2; round++) {
      await using server = await loopbackAnthropic({ script: ["Hello."], clock });
      const response = await ask(server.url, about("12345"));
      expect([response.status, response.headers.get("request-id")]).toEqual([200, "req-0"]);
      bodies.push(await response.text());
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(JSON.parse(bodies[0] ?? "")).toEqual({
      id: "msg-0",
      type: "message",
      role: "assistant",
      model: "small",
      content: [{ type: "text", text: "Hello." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 2,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 2,
      },
    });
  });

  test("gives thinking, text, calls and usage their places", async () => {
    await using server = await serving(FULL);
    expect(await jsonOf(await ask(server.url, about("a")))).toMatchObject({
      content: [
        { type: "thinking", thinking: "Well, well.", signature: SIGNATURE },
        { type: "text", text: "I look it up." },
        { type: "tool_use", id: "call_0", name: "add", input: { a: 1 } },
        { type: "tool_use", id: "x", name: "raw", input: '{"cut' },
      ],
      stop_reason: "tool_use",
      usage: USAGE,
    });
  });

  test("streams the same, each block opened, filled and closed in its turn", async () => {
    await using server = await serving(FULL, { chunkSize: 6 });
    const events = eventsOf(await (await ask(server.url, about("a", { stream: true }))).text());
    expect(
      events.map(({ type, index }) => (index === undefined ? type : `${String(type)} ${String(index)}`)),
    ).toEqual([
      "message_start",
      "ping",
      "content_block_start 0",
      ...Array<string>(3).fill("content_block_delta 0"),
      "content_block_stop 0",
      "content_block_start 1",
      ...Array<string>(3).fill("content_block_delta 1"),
      "content_block_stop 1",
      "content_block_start 2",
      ...Array<string>(2).fill("content_block_delta 2"),
      "content_block_stop 2",
      "content_block_start 3",
      "content_block_delta 3",
      "content_block_stop 3",
      "message_delta",
      "message_stop",
    ]);
    expect(events[0]).toMatchObject({ message: { content: [], usage: { ...USAGE, output_tokens: 1 } } });
    expect(events[5]).toMatchObject({ delta: { type: "signature_delta", signature: SIGNATURE } });
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" }, usage: USAGE });
  });

  test.each([
    ["length", "max_tokens"],
    ["refused", "refusal"],
    ["filtered", "refusal"],
    ["other", "other"],
  ] as const)("says %s as %s", async (finishReason, expected) => {
    await using server = await serving({ text: "so far", finishReason, usage: null });
    const answer = await jsonOf(await ask(server.url, about("a")));
    expect(answer.stop_reason).toBe(expected);
    expect(answer).not.toHaveProperty("usage");
  });

  test("shows the script the request in the kernel's words", async () => {
    const seen: ModelRequest[] = [];
    await using server = await loopbackAnthropic({
      script: (request) => {
        seen.push(request);
        return "ok";
      },
    });
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const response = await ask(server.url, {
      model: "small",
      max_tokens: 100,
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: "one" },
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Well, well.", signature: SIGNATURE },
            { type: "tool_use", id: "a", name: "f", input: { x: 1 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "no", is_error: true },
            { type: "text", text: "two" },
          ],
        },
      ],
      tools: [{ name: "f", description: "d", input_schema: { type: "object" } }],
      tool_choice: { type: "none" },
      stop_sequences: ["END"],
      output_config: { effort: "low", format: { type: "json_schema", schema } },
    });
    expect(response.status).toBe(200);
    expect(seen).toEqual([
      {
        messages: [
          { role: "system", content: "Be brief." },
          {
            role: "user",
            content: [
              { type: "text", text: "one" },
              { type: "image", url: "data:image/png;base64,AAAA", mediaType: "image/png" },
            ],
          },
          {
            role: "assistant",
            content: [{ type: "reasoning", text: "Well, well." }],
            toolCalls: [{ id: "a", name: "f", arguments: '{"x":1}' }],
          },
          { role: "tool", toolCallId: "a", name: "f", content: "no", isError: true },
          { role: "user", content: "two" },
        ],
        tools: [{ name: "f", description: "d", parameters: { type: "object" } }],
        toolChoice: "none",
        maxOutputTokens: 100,
        stop: ["END"],
        reasoning: { effort: "low" },
        output: { name: "output", schema },
      },
    ]);
  });

  test("bills what it answers, and takes a key in either header", async () => {
    const billFile = temporaryFile("bill.jsonl");
    await using server = await serving(
      { text: "ok", usage: { inputTokens: 100, outputTokens: 10 } },
      { billFile, requireKey: "sk-right-key" },
    );
    const withKey = (headers: Record<string, string>) =>
      ask(server.url, about("a"), { ...VERSION, ...headers });
    const statuses = [
      await withKey({ "x-api-key": "sk-right-key", "idempotency-key": "k1" }),
      await withKey({ authorization: "Bearer sk-right-key" }),
      await withKey({ "x-api-key": "sk-wrong-key" }),
      await withKey({}),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 401, 401]);
    expect(readBill(billFile).entries).toMatchObject([
      { idempotencyKey: "k1", key: "-key", inputTokens: 100 },
      { outputTokens: 10 },
    ]);
    expect(JSON.stringify(server.requests)).not.toContain("right-key");
  });

  test.each<[string, Answer, number, object]>([
    [
      "a status",
      { fault: { type: "status", status: 529, message: "busy" } },
      529,
      { type: "overloaded_error", message: "busy" },
    ],
    [
      "an error of a kind",
      new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long" }),
      400,
      {
        type: "invalid_request_error",
        message: "too long",
        details: { error_code: "context_length_exceeded" },
      },
    ],
    ["any other error", new Error("boom"), 500, { type: "api_error", message: "boom" }],
  ])("refuses with %s in Anthropic's shape, and bills nothing", async (_, answer, status, error) => {
    await using server = await serving(answer);
    const response = await ask(server.url, about("a"));
    expect([response.status, await jsonOf(response)]).toEqual([status, { type: "error", error }]);
    expect(server.bill().calls).toBe(0);
  });

  test("tells an error in the middle of a stream as an event", async () => {
    await using server = await serving({
      text: "a long text",
      fault: { type: "cut", afterDeltas: 1, error: new Error("boom") },
    });
    const events = eventsOf(await (await ask(server.url, about("a", { stream: true }))).text());
    expect(events.at(-1)).toEqual({ type: "error", error: { type: "api_error", message: "boom" } });
  });

  test("counts tokens, which is free and needs no limit", async () => {
    await using server = await serving("no");
    const body = { model: "small", messages: [{ role: "user", content: "12345678" }] };
    const response = await ask(server.url, body, VERSION, "/v1/messages/count_tokens");
    expect(await jsonOf(response)).toEqual({ input_tokens: 2 });
    expect(server.bill().calls).toBe(0);
  });

  test.each([
    ["GET", "/v1/messages", 405],
    ["POST", "/v1/chat/completions", 404],
  ])("has no %s %s", async (method, path, status) => {
    await using server = await serving("no");
    const response = await fetch(`${server.url}${path}`, { method });
    expect([response.status, (await jsonOf(response)).type]).toEqual([status, "error"]);
  });
});

describe("what the real server refuses, this one does", () => {
  const call = (id: string, more: object = {}): object => ({
    type: "tool_use",
    id,
    name: "f",
    input: {},
    ...more,
  });
  const result = (id: string, more: object = {}): object => ({
    type: "tool_result",
    tool_use_id: id,
    content: "1",
    ...more,
  });
  const user = (...content: readonly object[]): object => ({ role: "user", content });
  const assistant = (...content: readonly object[]): object => ({ role: "assistant", content });
  const text = (said: string, more: object = {}): object => ({ type: "text", text: said, ...more });
  const go = user(text("go"));
  const tools = { tools: [{ name: "f", input_schema: { type: "object" } }] };
  const talk = (...messages: readonly object[]): object => ({
    model: "m",
    max_tokens: 9,
    messages,
    ...tools,
  });
  const mark = { cache_control: { type: "ephemeral" } };

  test.each<[string, object, RegExp]>([
    ["no limit", { model: "m", messages: [go] }, /^max_tokens: Field required$/],
    ["a limit of nothing", about("a", { max_tokens: 0 }), /^max_tokens/],
    ["no messages", { model: "m", max_tokens: 9, messages: [] }, /at least one message/],
    ["an unknown field", about("a", { n: 2 }), /^n: Extra inputs are not permitted$/],
    [
      "a temperature, since this version",
      about("a", { temperature: 1 }),
      /^temperature: Extra inputs are not permitted$/,
    ],
    ["a role of another", talk({ role: "system", content: "x" }), /role/],
    ["no content", talk(user()), /non-empty content/],
    ["an empty text", talk(user(text(""))), /must be non-empty/],
    ["a text of blanks", talk(user(text(" \n"))), /non-whitespace/],
    ["the assistant first", talk(assistant(text("a")), go), /first message must use the "user" role/],
    ["the assistant last", talk(go, assistant(text("a"))), /prefill/],
    [
      "a call without its result",
      talk(go, assistant(call("a")), go),
      /without `tool_result` blocks immediately after: a/,
    ],
    [
      "a call without any turn after it",
      talk(go, assistant(call("a"), call("b")), user(result("a"))),
      /immediately after: b/,
    ],
    ["a result without its call", talk(user(result("a"))), /unexpected `tool_use_id`/],
    [
      "a result twice",
      talk(go, assistant(call("a")), user(result("a"), result("a"))),
      /unexpected `tool_use_id`/,
    ],
    [
      "a result behind a text",
      talk(go, assistant(call("a")), user(text("x"), result("a"))),
      /before all other content/,
    ],
    [
      "an id of another alphabet",
      talk(go, assistant(call("a.b")), user(result("a.b"))),
      /should match pattern/,
    ],
    [
      "an id twice",
      talk(go, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))),
      /must be unique/,
    ],
    [
      "arguments that are no object",
      talk(go, assistant(call("a", { input: "x" })), user(result("a"))),
      /valid dictionary/,
    ],
    [
      "a failure without words",
      talk(go, assistant(call("a")), user(result("a", { content: "", is_error: true }))),
      /content cannot be empty/,
    ],
    [
      "a failure with a picture",
      talk(
        go,
        assistant(call("a")),
        user(
          result("a", { content: [{ type: "image", source: { type: "url", url: "u" } }], is_error: true }),
        ),
      ),
      /must be type `text`/,
    ],
    ["half a character", about("a\ud800"), /no low surrogate/],
    [
      "alternatives at the root of a tool",
      { ...about("a"), tools: [{ name: "f", input_schema: { type: "object", oneOf: [] } }] },
      /at the top level/,
    ],
    ["a call by the user", talk(user(call("a"))), /type: Input should be/],
    [
      "calls without tools",
      { model: "m", max_tokens: 9, messages: [go, assistant(call("a")), user(result("a"))] },
      /must define tools/,
    ],
    [
      "a forged thought",
      talk(go, assistant({ type: "thinking", thinking: "x", signature: "y" }, text("a")), go),
      /Invalid `signature`/,
    ],
    [
      "a turn that ends in thoughts",
      talk(go, assistant({ type: "thinking", thinking: "Well, well.", signature: SIGNATURE }), go),
      /cannot be `thinking`/,
    ],
    [
      "a document of the assistant's",
      talk(go, assistant({ type: "document", source: { type: "url", url: "u" } }), go),
      /type: Input should be/,
    ],
    [
      "an image of another kind",
      talk(user({ type: "image", source: { type: "base64", media_type: "image/tiff", data: "AAAA" } })),
      /media_type/,
    ],
    ["two tools of one name", { ...about("a"), tools: [...tools.tools, ...tools.tools] }, /must be unique/],
    [
      "a tool without an object",
      { ...about("a"), tools: [{ name: "f", input_schema: { type: "string" } }] },
      /input_schema.type/,
    ],
    [
      "a choice of no tool",
      { ...about("a"), ...tools, tool_choice: { type: "tool", name: "g" } },
      /not found/,
    ],
    [
      "thinking and a forced tool",
      { ...about("a"), ...tools, tool_choice: { type: "any" }, thinking: { type: "adaptive" } },
      /forces tool use/,
    ],
    [
      "a budget above the limit",
      about("a", { thinking: { type: "enabled", budget_tokens: 2_000 } }),
      /greater than `thinking.budget_tokens`/,
    ],
    [
      "a budget, and a turn of tools without thoughts",
      {
        ...talk(go, assistant(call("a")), user(result("a"))),
        max_tokens: 4_000,
        thinking: { type: "enabled", budget_tokens: 2_000 },
      },
      /Expected `thinking`/,
    ],
    [
      "five marks",
      talk(user(...["a", "b", "c", "d", "e"].map((said) => text(said, mark)))),
      /maximum of 4 blocks/,
    ],
    [
      "an open shape of the answer",
      about("a", { output_config: { format: { type: "json_schema", schema: { type: "object" } } } }),
      /additionalProperties/,
    ],
    ["a stop of blanks", about("a", { stop_sequences: ["\n"] }), /non-whitespace/],
  ])("%s", async (_, body, message) => {
    await using server = await serving("no");
    const response = await ask(server.url, body);
    const { type, error } = await jsonOf(response);
    expect([response.status, type, error.type]).toEqual([400, "error", "invalid_request_error"]);
    expect(error.message).toMatch(message);
    expect(server.bill().calls).toBe(0);
  });

  test("a request without the version of the API", async () => {
    await using server = await serving("no");
    const response = await ask(server.url, about("a"), {});
    expect([response.status, (await jsonOf(response)).error.message]).toEqual([
      400,
      "anthropic-version: header is required",
    ]);
  });

  test("but takes a temperature at the older version, and unpaired calls where it is told to", async () => {
    await using server = await serving("ok", { checkToolPairs: false });
    const older = { "anthropic-version": "2023-06-01" };
    expect((await ask(server.url, about("a", { temperature: 0.5 }), older)).status).toBe(200);
    expect((await ask(server.url, about("a", { temperature: 1.5 }), older)).status).toBe(400);
    expect((await ask(server.url, talk(go, assistant(call("a"))))).status).toBe(200);
  });
});
