import { type AssistantMessage, type ModelEvent, textOf } from "@ravi/kernel";
import { anthropic } from "@ravi/provider-anthropic";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collectAnswer } from "../src/answer/answer.ts";
import {
  byteServer,
  call,
  client,
  ended,
  failureOf,
  open,
  close,
  piece,
  START,
  streamed,
  text as textBlock,
  told,
} from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 100;
const PATIENCE = { timeout: process.env["RAVI_LONG"] ? 900_000 : 60_000 };

const collect = () => collectAnswer({ provider: "anthropic", outputTool: undefined });

/** The calls as somebody sees them who has only the events. */
function fromEvents(events: readonly ModelEvent[]): unknown[] {
  const calls: { id: string | undefined; name: string | undefined; arguments: string }[] = [];
  for (const event of events) {
    if (event.type !== "toolCall") continue;
    const known = calls[event.index];
    if (known === undefined) calls[event.index] = { id: event.id, name: event.name, arguments: event.delta };
    else known.arguments += event.delta;
  }
  return calls;
}

interface Mixed {
  readonly texts: readonly string[];
  readonly events: readonly object[];
}

describe("R18: writes to the cache that are kept for an hour", () => {
  const usageOf = (cacheTtl: "1h" | undefined, usage: object) => {
    const answer = collectAnswer({ provider: "anthropic", outputTool: undefined, cacheTtl });
    answer.addWhole({
      content: [],
      usage: { input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 30, ...usage },
    });
    return answer.response().usage;
  };
  const split = (tokens: unknown) => ({ cache_creation: { ephemeral_1h_input_tokens: tokens } });

  test("are counted as the server says, never more than were written, and not at all where it says nonsense", () => {
    expect(usageOf("1h", split(20))).toMatchObject({ cacheWriteTokens: 30, cacheWrite1hTokens: 20 });
    expect(usageOf(undefined, split(40))).toMatchObject({ cacheWriteTokens: 30, cacheWrite1hTokens: 30 });
    expect(usageOf("1h", split(0))).not.toHaveProperty("cacheWrite1hTokens");
    expect(usageOf("1h", split(-1))).toBeUndefined();
  });

  test("are all of them where they were asked for and the server does not say; else none", () => {
    expect(usageOf("1h", {})).toMatchObject({ cacheWriteTokens: 30, cacheWrite1hTokens: 30 });
    expect(usageOf("1h", split(null))).toMatchObject({ cacheWrite1hTokens: 30 });
    expect(usageOf(undefined, {})).not.toHaveProperty("cacheWrite1hTokens");
  });

  test("are told in the model's info, so that they are reserved for", () => {
    const apiKey = "k";
    expect(anthropic("claude-sonnet-4-5", { apiKey, cache: "1h" }).info).toMatchObject({ cacheTtl: "1h" });
    expect(anthropic("claude-sonnet-4-5", { apiKey }).info).not.toHaveProperty("cacheTtl");
  });
});

/** 1 to 128 calls at once, their arguments cut anywhere and their pieces mixed. */
const mixed: fc.Arbitrary<Mixed> = fc
  .record({
    texts: fc.array(fc.json({ maxDepth: 2 }), { minLength: 1, maxLength: 128 }),
    order: fc.infiniteStream(fc.nat()),
    size: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ texts, order, size }) => {
    const queues = texts.map((text, index): object[] => [
      ...(text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []).map((json) => ({
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: json },
      })),
      { type: "content_block_stop", index },
    ]);
    const events: object[] = texts.map((_, index) => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: `id${index}`, name: `tool${index % 3}`, input: {} },
    }));
    for (let left = queues; left.length > 0; left = left.filter((queue) => queue.length > 0)) {
      events.push(...(left[order.next().value % left.length]?.splice(0, 1) ?? []));
    }
    return { texts, events };
  });

function expectCalls({ texts, events }: Mixed): void {
  const answer = collect();
  const seen = [...events, { type: "message_stop" }].flatMap((event) => answer.add(event, ""));
  const { toolCalls } = answer.response().message;
  expect(toolCalls).toEqual(
    texts.map((text, n) => ({ id: `id${n}`, name: `tool${n % 3}`, arguments: text })),
  );
  expect(fromEvents(seen)).toEqual(toolCalls);
}

describe("T10: tool calls are put together", () => {
  test("out of 1 to 128 calls whose pieces are mixed", PATIENCE, () => {
    fc.assert(fc.property(mixed, expectCalls), { numRuns: Math.min(RUNS, 2_000) });
  });

  test("and the property bites: without the index it fails", () => {
    const blind = ({ texts, events }: Mixed): void =>
      expectCalls({ texts, events: events.map((event) => ({ ...event, index: undefined })) });
    expect(fc.check(fc.property(mixed, blind), { numRuns: 300 }).failed).toBe(true);
  });

  test(
    "out of anything, without a crash, with ids of their own, and the events tell the same",
    PATIENCE,
    () => {
      const odd = fc.option(
        fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: -2, max: 3 }), fc.object({ maxDepth: 1 })),
      );
      const block = fc.record(
        {
          type: fc.constantFrom("text", "tool_use", "thinking", "redacted_thinking", "server_tool_use", 3),
          id: odd,
          name: odd,
          input: odd,
          text: odd,
          thinking: odd,
          signature: odd,
          data: odd,
        },
        { requiredKeys: [] },
      );
      const delta = fc.record(
        {
          type: fc.constantFrom("text_delta", "input_json_delta", "thinking_delta", "signature_delta"),
          text: odd,
          partial_json: odd,
          thinking: odd,
          signature: odd,
        },
        { requiredKeys: [] },
      );
      const event = fc.record(
        {
          type: fc.constantFrom(
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_start",
            "message_delta",
            "ping",
          ),
          index: odd,
          content_block: block,
          delta,
          // One with an id would be a second answer, which is an error.
          message: odd.filter((message) => !Object.hasOwn(Object(message) as object, "id")),
          usage: odd,
        },
        { requiredKeys: ["type"] },
      );
      fc.assert(
        fc.property(fc.array(event, { maxLength: 20 }), (events) => {
          const answer = collect();
          const seen = events.flatMap((one) => answer.add(one, ""));
          const { message } = answer.response();
          const calls = message.toolCalls ?? [];
          expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
          expect(fromEvents(seen)).toEqual(calls);
        }),
        { numRuns: RUNS },
      );
    },
  );

  test("a server that repeats itself endlessly costs no more than it sends", () => {
    const answer = collect();
    const head = {
      type: "content_block_start",
      content_block: { type: "tool_use", id: "x", name: "f", input: {} },
    };
    // With a look back at all that came before, this would take minutes.
    for (let index = 0; index < 50_000; index++) answer.add({ ...head, index }, "");
    expect(new Set(answer.response().message.toolCalls?.map(({ id }) => id)).size).toBe(50_000);
  });

  test("over HTTP: 128 calls, each argument byte by itself", async () => {
    const text = JSON.stringify({ city: "Zürich", n: 12 });
    const bytes =
      START +
      Array.from({ length: 128 }, (_, n) => call(n, "f", ...Array.from(text))).join("") +
      ended("tool_use");
    await using server = await byteServer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes),
    );
    const { response } = await streamed(client(server));
    expect(response.message.toolCalls).toHaveLength(128);
    expect(new Set(response.message.toolCalls?.map((one) => one.arguments))).toEqual(new Set([text]));
  });
});

describe("what only Anthropic can read", () => {
  const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
  const found = {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", url: "u" }],
  };
  const bytes =
    START +
    open(0, { type: "thinking", thinking: "", signature: "" }) +
    piece(0, { type: "thinking_delta", thinking: "hm" }) +
    piece(0, { type: "signature_delta", signature: "si" }) +
    piece(0, { type: "signature_delta", signature: "gn" }) +
    close(0) +
    open(1, { type: "redacted_thinking", data: "ZW5j" }) +
    close(1) +
    open(2, search) +
    piece(2, { type: "input_json_delta", partial_json: '{"query":"x"}' }) +
    close(2) +
    open(3, found) +
    close(3) +
    ended("pause_turn");

  test("is kept in order, and goes back as it came; a paused turn goes on", async () => {
    await using server = await byteServer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { response } = await streamed(model, { messages: [ask] });
    expect(response.finishReason).toBe("length");
    await streamed(model, {
      messages: [ask, JSON.parse(JSON.stringify(response.message)) as typeof response.message],
    });
    expect((await server.nth(1)).body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sign" },
          { type: "redacted_thinking", data: "ZW5j" },
          { ...search, input: { query: "x" } },
          found,
        ],
      },
    ]);
  });

  test("R19: thoughts and texts between tool calls go back in their places, which the server demands", async () => {
    const thought = (at: number, said: string): string =>
      open(at, { type: "thinking", thinking: "", signature: "" }) +
      piece(at, { type: "thinking_delta", thinking: said }) +
      piece(at, { type: "signature_delta", signature: `signed ${said}` }) +
      close(at);
    const answer =
      START +
      thought(0, "one") +
      call(1, "f", "{}") +
      textBlock(2, "and") +
      call(3, "f", "{}") +
      thought(4, "two") +
      textBlock(5, "then") +
      open(6, { type: "redacted_thinking", data: "ZW5j" }) +
      close(6) +
      call(7, "f", "{}") +
      thought(8, "cut off") +
      ended("max_tokens");
    await using server = await byteServer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(answer),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { response } = await streamed(model, { messages: [ask] });
    expect(textOf(response.message)).toBe("andthen");
    const use = (at: number): object => ({ type: "tool_use", id: `toolu_${at}`, name: "f", input: {} });
    const sentBy = async (message: AssistantMessage, n: number): Promise<unknown> => {
      await streamed(model, { messages: [ask, message] });
      const sent = (await server.nth(n)).body["messages"];
      return Array.isArray(sent) ? sent[1] : undefined;
    };
    const recorded = JSON.parse(JSON.stringify(response.message)) as typeof response.message;
    expect(await sentBy(recorded, 1)).toEqual({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "one", signature: "signed one" },
        use(1),
        { type: "text", text: "and" },
        use(3),
        { type: "thinking", thinking: "two", signature: "signed two" },
        { type: "text", text: "then" },
        { type: "redacted_thinking", data: "ZW5j" },
        use(7),
      ],
    });
    // If somebody has taken calls out, what is left keeps its order.
    expect(await sentBy({ ...recorded, toolCalls: recorded.toolCalls?.slice(0, 1) }, 2)).toMatchObject({
      content: [{ thinking: "one" }, use(1), { text: "and" }, { thinking: "two" }, { text: "then" }],
    });
  });

  test("thoughts without a signature go back to a server that is not Anthropic's own", async () => {
    const thought =
      open(0, { type: "thinking", thinking: "" }) +
      piece(0, { type: "thinking_delta", thinking: "hm" }) +
      close(0);
    await using server = await byteServer((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(START + thought + call(1, "f", "{}") + ended("tool_use")),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { response } = await streamed(model, { messages: [ask] });
    await streamed(model, { messages: [ask, response.message] });
    const sent = (await server.nth(1)).body["messages"];
    expect(Array.isArray(sent) ? sent[1] : undefined).toMatchObject({
      content: [{ type: "thinking", thinking: "hm", signature: "" }, { type: "tool_use" }],
    });
    const bodies: string[] = [];
    const own = client(server, {
      baseURL: "https://api.anthropic.com",
      fetch: async (_, init) => {
        bodies.push(String(init?.body));
        return Response.json({ type: "error", error: { type: "api_error", message: "no" } }, { status: 500 });
      },
    });
    await failureOf(own.generate({ messages: [ask, response.message] }));
    expect(bodies).toEqual([expect.not.stringContaining("hm")]);
  });

  test("what the server has compacted goes back, so that it is not compacted and paid for again", async () => {
    await using server = await byteServer((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(
          START +
            open(0, { type: "compaction", content: null }) +
            piece(0, { type: "compaction_delta", content: "They ", encrypted_content: null }) +
            piece(0, { type: "compaction_delta", content: "talked.", encrypted_content: "ZW5j" }) +
            close(0) +
            textBlock(1, "hi") +
            ended(),
        ),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { events, response } = await streamed(model, { messages: [ask] });
    expect(told(events, "text")).toBe("hi");
    await streamed(model, { messages: [ask, response.message, ask] });
    expect((await server.nth(1)).body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "compaction", content: "They talked.", encrypted_content: "ZW5j" },
          { type: "text", text: "hi" },
        ],
      },
      { role: "user", content: [{ type: "text", text: "go" }] },
    ]);
  });

  test("the mark where another model took over goes back at its place: without it the turn is refused", async () => {
    const mark = { type: "fallback", from: { model: "claude-fable-5" }, to: { model: "claude-opus-4-8" } };
    await using server = await byteServer((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(START + textBlock(0, "Well.") + open(1, mark) + close(1) + textBlock(2, "hi") + ended()),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { response } = await streamed(model, { messages: [ask] });
    await streamed(model, { messages: [ask, response.message, ask] });
    const sent = (await server.nth(1)).body["messages"];
    expect(Array.isArray(sent) ? sent[1] : undefined).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "Well." }, mark, { type: "text", text: "hi" }],
    });
  });

  test("a call of a connected MCP server goes back with its result", async () => {
    const used = { type: "mcp_tool_use", id: "mcptoolu_1", name: "echo", server_name: "s", input: {} };
    const got = { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] };
    await using server = await byteServer((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(
          START +
            open(0, used) +
            piece(0, { type: "input_json_delta", partial_json: '{"a":1}' }) +
            close(0) +
            open(1, got) +
            close(1) +
            ended("pause_turn"),
        ),
    );
    const model = client(server, { cache: false });
    const ask = { role: "user" as const, content: "go" };
    const { response } = await streamed(model, { messages: [ask] });
    await streamed(model, { messages: [ask, response.message] });
    expect((await server.nth(1)).body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      { role: "assistant", content: [{ ...used, input: { a: 1 } }, got] },
    ]);
  });
});
