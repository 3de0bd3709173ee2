import { ProviderError } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import {
  type Answer,
  type LoopbackCall,
  type LoopbackOptions,
  loopbackOpenAI,
  virtualClock,
} from "../src/index.ts";
import { chat, jsonOf, post } from "./helpers.ts";

const ask = (url: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/responses`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
const about = (input: unknown, more: object = {}): object => ({ model: "small", input, ...more });
const serving = (answer: Answer, more: Partial<LoopbackOptions> = {}) =>
  loopbackOpenAI({ script: () => answer, ...more });

interface Sent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The events of a stream; the name of each has to be its type. */
function eventsOf(text: string): Sent[] {
  return text
    .split("\n\n")
    .filter((each) => each !== "")
    .map((each) => {
      const [, name, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(each) ?? [];
      const sent: Sent = JSON.parse(data);
      expect(sent.type).toBe(name);
      return sent;
    });
}

describe("POST /v1/responses", () => {
  test("answers with a response, byte for byte the same each time", async () => {
    const clock = virtualClock({ now: 1_700_000_000_999 });
    const bodies: string[] = [];
    for (let round = 0; round < 2; round++) {
      await using server = await loopbackOpenAI({ script: ["Hello."], clock });
      const response = await ask(server.url, about("12345"));
      expect([response.status, response.headers.get("x-request-id")]).toEqual([200, "req-0"]);
      bodies.push(await response.text());
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(JSON.parse(bodies[0] ?? "")).toEqual({
      id: "resp-0",
      object: "response",
      created_at: 1_700_000_000,
      status: "completed",
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      model: "small",
      output: [
        {
          id: "msg_resp-0",
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hello.", annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      store: false,
      temperature: 1,
      tool_choice: "auto",
      tools: [],
      top_p: 1,
      usage: {
        input_tokens: 2,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 4,
      },
    });
  });

  test("the same script answers both endpoints, on one bill", async () => {
    await using server = await loopbackOpenAI({ script: ["one", "two"] });
    const first = await jsonOf(await post(server.url, chat("hello")));
    const second = await jsonOf(await ask(server.url, about([{ role: "user", content: "hello" }])));
    expect([first.choices[0].message.content, second.output[0].content[0].text]).toEqual(["one", "two"]);
    expect(second.usage.input_tokens).toBe(first.usage.prompt_tokens);
    expect(server.bill().calls).toBe(2);
  });

  test("gives reasoning, tool calls, refusals and counts their fields, and says why an answer is not complete", async () => {
    await using server = await loopbackOpenAI({
      script: [
        {
          reasoning: "hm",
          toolCalls: [
            { name: "add", arguments: { a: 1 } },
            { name: "raw", arguments: "{broken", id: "x" },
          ],
          usage: {
            inputTokens: 100,
            outputTokens: 9,
            cachedInputTokens: 64,
            cacheWriteTokens: 8,
            reasoningTokens: 5,
          },
        },
        { text: "No.", finishReason: "refused", usage: null, id: "given", model: "small-2026" },
        { text: "cut", toolCalls: [{ name: "f" }, { name: "f" }], finishReason: "length" },
        { text: "", finishReason: "filtered" },
      ],
    });
    const include = ["reasoning.encrypted_content"];
    const answers = [];
    for (let round = 0; round < 4; round++)
      answers.push(await jsonOf(await ask(server.url, about("a", { include, store: false }))));
    expect(answers[0].output).toEqual([
      {
        id: expect.stringMatching(/^rs_/),
        type: "reasoning",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: expect.any(String),
      },
      {
        id: "fc_resp-0_0",
        type: "function_call",
        status: "completed",
        call_id: "call_0",
        name: "add",
        arguments: '{"a":1}',
      },
      {
        id: "fc_resp-0_1",
        type: "function_call",
        status: "completed",
        call_id: "x",
        name: "raw",
        arguments: "{broken",
      },
    ]);
    expect(answers[0].usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64, cache_write_tokens: 8 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 109,
    });
    expect(answers[1]).toMatchObject({
      id: "given",
      model: "small-2026",
      status: "completed",
      output: [{ content: [{ type: "refusal", refusal: "No." }] }],
      usage: null,
    });
    expect(answers[2]).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "completed" }, { status: "completed" }, { status: "incomplete" }],
    });
    expect(answers[3].incomplete_details).toEqual({ reason: "content_filter" });
  });

  test("hands the script the request as the kernel has it, and the body as it came", async () => {
    const seen: { request: unknown; call: LoopbackCall }[] = [];
    await using server = await loopbackOpenAI({
      script: (request, call) => {
        seen.push({ request, call });
        return { text: "ok", reasoning: "First." };
      },
    });
    const include = ["reasoning.encrypted_content"];
    const sealed = await jsonOf(await ask(server.url, about("a", { include })));
    const schema = { type: "object", properties: { a: { type: "number" } } };
    const body = {
      model: "small",
      instructions: "Be brief.",
      input: [
        { role: "developer", content: "Be kind." },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "Look" },
            { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" },
            { type: "input_file", file_data: "data:text/plain;base64,AA", filename: "a.txt" },
          ],
        },
        sealed.output[0],
        { role: "assistant", content: [{ type: "output_text", text: "I look." }] },
        { type: "function_call", call_id: "c1", name: "add", arguments: '{"a":1}' },
        { type: "function_call", call_id: "c2", name: "add", arguments: "{}" },
        { type: "function_call_output", call_id: "c2", output: "3" },
        { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "2" }] },
        { role: "assistant", content: "Two." },
        { role: "user", content: "Again" },
      ],
      tools: [
        { type: "function", name: "add", description: "Adds", parameters: schema, strict: true },
        { type: "web_search" },
      ],
      tool_choice: { type: "function", name: "add" },
      text: { format: { type: "json_schema", name: "sum", schema, strict: true }, verbosity: "low" },
      max_output_tokens: 50,
      temperature: 0,
      top_p: 1,
      reasoning: { effort: "low", summary: "auto" },
      store: false,
    };
    const response = await ask(server.url, body, {
      headers: { authorization: "Bearer sk-secret-abcd", "idempotency-key": "idem-1" },
    });
    expect(response.status).toBe(200);
    expect(seen[1]?.request).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "system", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image", url: "data:image/png;base64,AA" },
            {
              type: "file",
              url: "data:text/plain;base64,AA",
              mediaType: "application/octet-stream",
              name: "a.txt",
            },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "First." },
            { type: "text", text: "I look." },
          ],
          toolCalls: [
            { id: "c1", name: "add", arguments: '{"a":1}' },
            { id: "c2", name: "add", arguments: "{}" },
          ],
        },
        { role: "tool", toolCallId: "c2", name: "add", content: "3" },
        { role: "tool", toolCallId: "c1", name: "add", content: [{ type: "text", text: "2" }] },
        { role: "assistant", content: "Two." },
        { role: "user", content: "Again" },
      ],
      tools: [{ name: "add", description: "Adds", parameters: schema }],
      toolChoice: { name: "add" },
      output: { name: "sum", schema },
      maxOutputTokens: 50,
      temperature: 0,
      topP: 1,
      reasoning: { effort: "low", summary: true },
    });
    const { call } = seen[1] ?? {};
    expect(call).toMatchObject({
      index: 1,
      model: "small",
      stream: false,
      key: "abcd",
      idempotencyKey: "idem-1",
    });
    expect(call?.body).toEqual(body);
    expect(JSON.stringify(server.requests)).not.toContain("sk-secret");
  });
});

describe("a stream of responses", () => {
  test("opens and closes each item and each part, numbers its events, and ends with the whole response", async () => {
    await using server = await serving(
      { reasoning: "hm", text: "Grüße, 👋🏽!", toolCalls: [{ name: "add", arguments: { first: 1 } }] },
      { chunkSize: 4 },
    );
    const events = eventsOf(await (await ask(server.url, about("a", { stream: true }))).text());
    expect(events.map((each) => each.type.replace(/^response\./, ""))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.delta",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ]);
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, n) => n));
    const told = (type: string): string =>
      events.flatMap((each) => (each.type === type ? [each["delta"]] : [])).join("");
    expect(told("response.output_text.delta")).toBe("Grüße, 👋🏽!");
    expect(told("response.function_call_arguments.delta")).toBe('{"first":1}');
    const plain = await jsonOf(await ask(server.url, about("a")));
    const response = Object(events.at(-1)?.["response"]);
    expect({ ...response, created_at: 0 }).toMatchObject({ status: "completed", usage: plain.usage });
    const closed = events
      .filter((each) => each.type === "response.output_item.done")
      .map((each) => each["item"]);
    expect(closed).toEqual(response.output);
  });

  test("of an answer without a word still has its message", async () => {
    await using server = await serving({ text: "", usage: null });
    const events = eventsOf(await (await ask(server.url, about("a", { stream: true }))).text());
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { output: [{ type: "message" }], usage: null },
    });
    expect(events.filter((each) => each.type === "response.output_item.done")).toHaveLength(1);
  });

  test.each([
    ["refused", "response.completed"],
    ["length", "response.incomplete"],
    ["filtered", "response.incomplete"],
    ["other", "response.incomplete"],
  ] as const)("that ended as %s says so", async (finishReason, type) => {
    await using server = await serving({ text: "so far", finishReason });
    const events = eventsOf(await (await ask(server.url, about("a", { stream: true }))).text());
    expect(events.at(-1)?.type).toBe(type);
    const told = finishReason === "refused" ? "response.refusal.delta" : "response.output_text.delta";
    expect(
      events
        .filter((each) => each.type === told)
        .map((each) => each["delta"])
        .join(""),
    ).toBe("so far");
  });
});

describe("what is refused, in OpenAI's shape", () => {
  const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c1", output: "x" };
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "loopback-sealed:" };
  test.each<[string, unknown, number, RegExp]>([
    ["not JSON", "{", 400, /cannot be read/],
    ["nothing", "", 400, /'body': expected an object/],
    ["no model", { input: "a" }, 400, /'model': expected a string/],
    ["no input", { model: "small" }, 400, /'input': expected an array/],
    ["an empty input", about([]), 400, /'input': expected a string, or an array with at least one item/],
    [
      "the messages of the other endpoint",
      { model: "small", messages: [] },
      400,
      /Unknown parameter: 'messages'/,
    ],
    [
      "the limit of the other endpoint",
      about("a", { max_tokens: 5 }),
      400,
      /Unknown parameter: 'max_tokens'/,
    ],
    ["a stop sequence", about("a", { stop: ["x"] }), 400, /Unknown parameter: 'stop'/],
    [
      "an unknown field of an item",
      about([{ role: "user", content: "a", name: "ann" }]),
      400,
      /'input\[0\]\.name'/,
    ],
    [
      "an unknown item",
      about([{ type: "smell" }]),
      400,
      /'input\[0\]\.type': expected one of message, reasoning/,
    ],
    ["an unknown role", about([{ role: "robot", content: "a" }]), 400, /'input\[0\]\.role'/],
    [
      "an unknown part",
      about([{ role: "user", content: [{ type: "text", text: "a" }] }]),
      400,
      /\.type': expected one of input_text/,
    ],
    [
      "a tool in the other shape",
      about("a", { tools: [{ type: "function", function: { name: "f" } }] }),
      400,
      /'tools\[0\]\.function'/,
    ],
    ["a wrong type", about("a", { temperature: "hot" }), 400, /'temperature': expected a number/],
    [
      "an earlier response",
      about("a", { previous_response_id: "resp-0" }),
      400,
      /'previous_response_id' is not served here: this server keeps nothing/,
    ],
    ["a conversation", about("a", { conversation: "conv-0" }), 400, /'conversation' is not served here/],
    ["work in the background", about("a", { background: true }), 400, /'background' is not served here/],
    ["an item that was kept", about([{ type: "item_reference", id: "msg_1" }]), 400, /'msg_1' not found/],
    [
      "reasoning that is not sealed",
      about([{ type: "reasoning", id: "rs_1", summary: [] }]),
      404,
      /'rs_1' not found.*encrypted_content/,
    ],
    [
      "reasoning that somebody else sealed",
      about([{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }]),
      400,
      /could not be verified/,
    ],
    ["reasoning at the end", about([sealed]), 400, /'rs_1' of type 'reasoning' was provided without/],
    [
      "reasoning before a user's turn",
      about([sealed, { role: "user", content: "?" }]),
      400,
      /required following item/,
    ],
    [
      "an id that is too long",
      about([{ ...call, call_id: "x".repeat(65) }]),
      400,
      /call_id': expected a string of 1 to 64/,
    ],
    [
      "a name that cannot be one",
      about([{ ...call, name: "a b" }]),
      400,
      /\.name': expected a string that matches/,
    ],
    ["an unknown model", { model: "huge", input: "a" }, 404, /'huge' does not exist; there are small/],
    [
      "a call without its result",
      about([call, { role: "user", content: "?" }]),
      400,
      /No tool output found for function call c1/,
    ],
    [
      "a result without its call",
      about([output]),
      400,
      /No tool call found for function call output with call_id c1/,
    ],
    ["a result before its call", about([output, call]), 400, /No tool call found/],
    ["a result given twice", about([call, output, output]), 400, /No tool call found/],
  ])("%s", async (_, body, status, message) => {
    await using server = await loopbackOpenAI({ script: ["unused"], models: ["small"] });
    const response = await ask(server.url, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      error: expect.objectContaining({
        type: "invalid_request_error",
        message: expect.stringMatching(message),
      }),
    });
    expect(server.bill().calls).toBe(0);
    // It never reached the script: the first answer is still there.
    expect((await ask(server.url, about("a"))).status).toBe(200);
  });

  test("pairs that other servers accept, when asked to", async () => {
    await using server = await loopbackOpenAI({ script: ["ok"], checkToolPairs: false });
    expect((await ask(server.url, about([output]))).status).toBe(200);
  });

  test("a missing key, and another method", async () => {
    await using server = await loopbackOpenAI({ script: ["a"], requireKey: true });
    expect((await ask(server.url, about("a"))).status).toBe(401);
    const got = await fetch(`${server.url}/responses`, { headers: { authorization: "Bearer x" } });
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("faults of a response", () => {
  const streamed = about("a", { stream: true });

  test("a refusal carries its status, headers and code, and is not billed", async () => {
    const error = new ProviderError({ kind: "RATE_LIMIT", message: "slow", retryAfterMs: 1_500 });
    await using server = await serving(error);
    const response = await ask(server.url, streamed);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await jsonOf(response)).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    expect(server.bill().calls).toBe(0);
  });

  test("a cut drops the connection after so many deltas, streamed or not, and is billed", async () => {
    await using server = await serving(
      { text: "abcdef", fault: { type: "cut", afterDeltas: 2 } },
      { chunkSize: 1 },
    );
    await expect((await ask(server.url, streamed)).text()).rejects.toThrow(TypeError);
    await expect((await ask(server.url, about("a"))).json()).rejects.toThrow(TypeError);
    expect(server.bill().calls).toBe(2);
  });

  test("a cut with an error says it as an event", async () => {
    const error = new ProviderError({ kind: "RATE_LIMIT", message: "gave up" });
    await using server = await serving({ text: "abc", fault: { type: "cut", error } }, { chunkSize: 1 });
    const events = eventsOf(await (await ask(server.url, streamed)).text());
    expect(events.at(-1)).toEqual({
      type: "error",
      sequence_number: events.length - 1,
      code: "rate_limit_exceeded",
      message: "gave up",
      param: null,
    });
  });

  test("an unfinished one ends politely, without its last event", async () => {
    await using server = await serving({ text: "abc", fault: { type: "unfinished" } });
    const events = eventsOf(await (await ask(server.url, streamed)).text());
    expect(events.at(-1)?.type).toBe("response.output_text.delta");
    await expect((await ask(server.url, about("a"))).json()).rejects.toThrow(SyntaxError);
  });

  test("a malformed one is no answer", async () => {
    await using server = await serving({ fault: { type: "malformed" } });
    await expect((await ask(server.url, about("a"))).json()).rejects.toThrow(SyntaxError);
    expect(server.bill().calls).toBe(1);
  });

  test("T4: one that hangs says nothing until the client has gone", async () => {
    const clock = virtualClock();
    await using server = await serving({ text: "never", fault: { type: "hang" } }, { clock });
    const controller = new AbortController();
    const asked = ask(server.url, streamed, { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort();
    await expect(asked).rejects.toThrow(/abort/i);
    expect([server.bill().calls, clock.pending]).toEqual([0, 0]);
  });
});
