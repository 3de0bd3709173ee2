import { describe, expect, test } from "vitest";
import { type LoopbackCall, loopbackOpenAI, scriptedModel, virtualClock } from "../src/index.ts";
import { ask, chat, eventsOf, jsonOf, post } from "./helpers.ts";

describe("POST /v1/chat/completions", () => {
  test("answers with a completion, byte for byte the same each time", async () => {
    const clock = virtualClock({ now: 1_700_000_000_999 });
    const bodies: string[] = [];
    for (let round = 0; round < 2; round++) {
      await using server = await loopbackOpenAI({ script: ["Hello."], clock });
      const response = await post(server.url, chat("12345"));
      expect([
        response.status,
        response.headers.get("content-type"),
        response.headers.get("x-request-id"),
      ]).toEqual([200, "application/json", "req-0"]);
      bodies.push(await response.text());
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(JSON.parse(bodies[0] ?? "")).toEqual({
      id: "chatcmpl-0",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "small",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello.", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 },
    });
  });

  test("keeps a connection however long nobody uses it, and does not announce an end", async () => {
    await using server = await loopbackOpenAI({ script: ["Hello."] });
    const response = await post(server.url, chat("a"));
    // Node announces here after how many seconds the server closes it.
    expect([response.headers.get("connection"), response.headers.get("keep-alive")]).toEqual([
      "keep-alive",
      null,
    ]);
    await response.text();
  });

  test("gives tool calls, cached and reasoning tokens, reasoning and refusals their fields", async () => {
    await using server = await loopbackOpenAI({
      script: [
        {
          toolCalls: [
            { name: "add", arguments: { a: 1 } },
            { name: "raw", arguments: "{broken", id: "x" },
          ],
          usage: { inputTokens: 100, outputTokens: 9, cachedInputTokens: 64, reasoningTokens: 5 },
        },
        {
          text: "No.",
          finishReason: "refused",
          reasoning: "hm",
          usage: null,
          id: "given",
          model: "small-2026",
        },
        { text: "cut", finishReason: "length" },
        { text: "", finishReason: "filtered" },
      ],
    });
    const answers = [];
    for (let round = 0; round < 4; round++) answers.push(await jsonOf(await post(server.url, chat("a"))));
    expect(answers[0].choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [
          { id: "call_0", type: "function", function: { name: "add", arguments: '{"a":1}' } },
          { id: "x", type: "function", function: { name: "raw", arguments: "{broken" } },
        ],
      },
    });
    expect(answers[0].usage).toEqual({
      prompt_tokens: 100,
      completion_tokens: 9,
      total_tokens: 109,
      prompt_tokens_details: { cached_tokens: 64 },
      completion_tokens_details: { reasoning_tokens: 5 },
    });
    expect(answers[1]).toMatchObject({
      id: "given",
      model: "small-2026",
      choices: [
        { message: { content: null, refusal: "No.", reasoning_content: "hm" }, finish_reason: "stop" },
      ],
    });
    expect(answers[1]).not.toHaveProperty("usage");
    expect(answers.slice(2).map((answer) => answer.choices[0].finish_reason)).toEqual([
      "length",
      "content_filter",
    ]);
  });

  test("hands the script the request as the kernel has it, and the body as it came", async () => {
    const seen: { request: unknown; call: LoopbackCall }[] = [];
    await using server = await loopbackOpenAI({
      script: (request, call) => {
        seen.push({ request, call });
        return "ok";
      },
    });
    const schema = { type: "object", properties: { a: { type: "number" } } };
    const body = {
      model: "small",
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "Be " },
            { type: "text", text: "brief." },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
            { type: "file", file: { file_data: "data:text/plain;base64,AA", filename: "a.txt" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "2" },
        { role: "assistant", content: "Two." },
        { role: "user", content: "Again" },
      ],
      tools: [
        {
          type: "function",
          function: { name: "add", description: "Adds", parameters: schema, strict: true },
        },
      ],
      tool_choice: { type: "function", function: { name: "add" } },
      response_format: { type: "json_schema", json_schema: { name: "sum", schema, strict: true } },
      max_completion_tokens: 50,
      temperature: 0,
      top_p: 1,
      stop: "END",
      seed: 7,
      reasoning_effort: "low",
      user: "somebody",
    };
    const response = await post(server.url, body, {
      headers: { authorization: "Bearer sk-secret-abcd", "idempotency-key": "idem-1", "x-mine": "yes" },
    });
    expect(response.status).toBe(200);
    expect(seen[0]?.request).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
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
        { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "add", arguments: '{"a":1}' }] },
        { role: "tool", toolCallId: "c1", name: "add", content: "2" },
        { role: "assistant", content: "Two." },
        { role: "user", content: "Again" },
      ],
      tools: [{ name: "add", description: "Adds", parameters: schema }],
      toolChoice: { name: "add" },
      output: { name: "sum", schema },
      maxOutputTokens: 50,
      temperature: 0,
      topP: 1,
      stop: ["END"],
      seed: 7,
      reasoning: { effort: "low" },
    });
    const { call } = seen[0] ?? {};
    expect(call).toMatchObject({
      index: 0,
      model: "small",
      stream: false,
      key: "abcd",
      idempotencyKey: "idem-1",
      headers: { "x-mine": "yes" },
    });
    expect(call?.body).toEqual(body);
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify([server.requests, call?.headers])).not.toContain("sk-secret");
  });

  test("counts tokens as a scripted model does", async () => {
    const { usage } = await scriptedModel(["Hello there."]).generate(ask("What is the time?"));
    await using server = await loopbackOpenAI({ script: ["Hello there."] });
    const answer = await jsonOf(await post(server.url, chat("What is the time?")));
    expect(answer.usage).toMatchObject({
      prompt_tokens: usage?.inputTokens,
      completion_tokens: usage?.outputTokens,
    });
  });

  test("takes matchers too", async () => {
    await using server = await loopbackOpenAI({
      script: [
        { when: "sum", answer: { toolCalls: [{ name: "add" }] } },
        { when: /./, answer: (_, { model, index }) => `${model} ${index}` },
      ],
    });
    await post(server.url, chat("the sum"));
    const second = await jsonOf(await post(server.url, chat("hi")));
    expect(second.choices[0].message.content).toBe("small 1");
  });
});

describe("a stream", () => {
  test("is framed byte for byte as server-sent events, with the usage last when it is asked for", async () => {
    await using server = await loopbackOpenAI({
      script: [{ text: "Grüße, 👋🏽!", usage: { inputTokens: 3, outputTokens: 4, cachedInputTokens: 2 } }],
      clock: virtualClock({ now: 5_000 }),
      chunkSize: 4,
    });
    const response = await post(
      server.url,
      chat("a", { stream: true, stream_options: { include_usage: true } }),
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const bytes = Buffer.from(await response.arrayBuffer());
    const head =
      '{"id":"chatcmpl-0","object":"chat.completion.chunk","created":5,"model":"small","choices":[';
    const piece = (delta: string, reason = "null"): string =>
      `data: ${head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}],"usage":null}\n\n`;
    const expected = [
      piece('{"role":"assistant","content":"","refusal":null}'),
      piece('{"content":"Grüß"}'),
      piece('{"content":"e, 👋"}'),
      piece('{"content":"🏽!"}'),
      piece("{}", '"stop"'),
      `data: ${head}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":2}}}\n\n`,
      "data: [DONE]\n\n",
    ].join("");
    expect(bytes.toString("utf8")).toBe(expected);
    expect(bytes.equals(Buffer.from(expected))).toBe(true);
  });

  test("says no usage when it is not asked, or when the answer has none to say", async () => {
    await using server = await loopbackOpenAI({ script: ["a", { text: "b", usage: null }] });
    const plain = await (await post(server.url, chat("a", { stream: true }))).text();
    expect(plain).not.toContain("usage");
    const asked = chat("a", { stream: true, stream_options: { include_usage: true } });
    expect(await (await post(server.url, asked)).text()).not.toContain("prompt_tokens");
  });

  test("opens each tool call with its id and name and sends its arguments in pieces", async () => {
    await using server = await loopbackOpenAI({
      script: [{ toolCalls: [{ name: "add", arguments: { first: 1 } }, { name: "now" }] }],
    });
    const events = eventsOf(await (await post(server.url, chat("a", { stream: true }))).text());
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event).choices[0]);
    expect(chunks.flatMap((chunk) => chunk.delta.tool_calls ?? [])).toEqual([
      { index: 0, id: "call_0", type: "function", function: { name: "add", arguments: "" } },
      { index: 0, function: { arguments: '{"first"' } },
      { index: 0, function: { arguments: ":1}" } },
      { index: 1, id: "call_1", type: "function", function: { name: "now", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
    ]);
    expect(chunks.at(-1).finish_reason).toBe("tool_calls");
  });

  test("sends refusals and reasoning in their own fields", async () => {
    await using server = await loopbackOpenAI({
      script: [{ text: "No.", reasoning: "hm", finishReason: "refused" }],
    });
    const events = eventsOf(await (await post(server.url, chat("a", { stream: true }))).text());
    const deltas = events.slice(0, -1).map((event) => JSON.parse(event).choices[0].delta);
    expect(deltas.slice(1)).toEqual([{ reasoning_content: "hm" }, { refusal: "No." }, {}]);
  });
});

describe("what is refused, in OpenAI's shape", () => {
  const tool = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  test.each([
    ["not JSON", "{", 400, /cannot be read/],
    ["a hostile key", '{"__proto__":{}}', 400, /__proto__/],
    ["nested too deep", `${"[".repeat(300)}${"]".repeat(300)}`, 400, /at most 200 levels/],
    ["no object", "[]", 400, /'body': expected an object/],
    ["nothing", "", 400, /'body': expected an object/],
    ["no model", { messages: [{ role: "user", content: "a" }] }, 400, /'model': expected a string/],
    ["no messages", { model: "small", messages: [] }, 400, /'messages': expected an array with at least one/],
    ["an unknown role", { model: "small", messages: [{ role: "robot" }] }, 400, /'messages\[0\]\.role'/],
    [
      "an unknown part",
      { model: "small", messages: [{ role: "user", content: [{ type: "smell" }] }] },
      400,
      /smell|\.type/,
    ],
    ["a wrong type", chat("a", { temperature: "hot" }), 400, /'temperature': expected a number/],
    [
      "an unknown model",
      { model: "huge", messages: [{ role: "user", content: "a" }] },
      404,
      /'huge' does not exist; there are small/,
    ],
    [
      "a call without its result",
      chat("a", {
        messages: [
          { role: "assistant", tool_calls: [tool] },
          { role: "user", content: "?" },
        ],
      }),
      400,
      /must be followed by tool messages.*c1/,
    ],
    [
      "an id that is too long",
      chat("a", { messages: [{ role: "assistant", tool_calls: [{ ...tool, id: "c".repeat(41) }] }] }),
      400,
      /tool_calls\[0\]\.id': expected a string of 1 to 40 characters/,
    ],
    [
      "an empty id",
      chat("a", { messages: [{ role: "assistant", tool_calls: [{ ...tool, id: "" }] }] }),
      400,
      /tool_calls\[0\]\.id': expected a string of 1 to 40 characters/,
    ],
    [
      "the name of a function with a dot",
      chat("a", {
        messages: [
          { role: "assistant", tool_calls: [{ ...tool, function: { name: "a.b", arguments: "{}" } }] },
        ],
      }),
      400,
      /function\.name': expected a string that matches/,
    ],
    [
      "a tool whose name is too long",
      chat("a", { tools: [{ type: "function", function: { name: "t".repeat(65) } }] }),
      400,
      /tools\[0\]\.function\.name': expected a string that matches/,
    ],
    [
      "a call at the end",
      chat("a", { messages: [{ role: "assistant", tool_calls: [tool] }] }),
      400,
      /missing: c1/,
    ],
    [
      "a result without its call",
      chat("a", { messages: [{ role: "tool", tool_call_id: "c1", content: "x" }] }),
      400,
      /must be a response to a preceding/,
    ],
    [
      "a result given twice",
      chat("a", {
        messages: [
          { role: "assistant", tool_calls: [tool] },
          { role: "tool", tool_call_id: "c1", content: "x" },
          { role: "tool", tool_call_id: "c1", content: "x" },
        ],
      }),
      400,
      /must be a response to a preceding/,
    ],
  ])("%s", async (_, body, status, message) => {
    await using server = await loopbackOpenAI({ script: ["unused"], models: ["small"] });
    const response = await post(server.url, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      error: expect.objectContaining({
        type: "invalid_request_error",
        message: expect.stringMatching(message),
      }),
    });
    expect(server.bill().calls).toBe(0);
    // It never reached the script: the first answer is still there.
    expect((await post(server.url, chat("a"))).status).toBe(200);
  });

  test("pairs that servers other than OpenAI accept, when asked to", async () => {
    await using server = await loopbackOpenAI({ script: ["ok"], checkToolPairs: false });
    const body = chat("a", { messages: [{ role: "tool", tool_call_id: "c1", content: "x" }] });
    expect((await post(server.url, body)).status).toBe(200);
  });

  test("the same id in two turns is fine, as servers repeat call_0", async () => {
    await using server = await loopbackOpenAI({ script: ["ok"] });
    const turn = [
      { role: "assistant", content: null, tool_calls: [tool] },
      { role: "tool", tool_call_id: "c1", content: "x" },
    ];
    expect((await post(server.url, chat("a", { messages: [...turn, ...turn] }))).status).toBe(200);
  });

  test("a missing or wrong key", async () => {
    await using any = await loopbackOpenAI({ script: ["a"], requireKey: true });
    expect((await post(any.url, chat("a"))).status).toBe(401);
    expect((await post(any.url, chat("a"), { headers: { authorization: "Bearer x" } })).status).toBe(200);
    await using one = await loopbackOpenAI({ script: ["a", "b"], requireKey: "sk-right-1234" });
    const wrong = await post(one.url, chat("a"), { headers: { authorization: "Bearer sk-wrong-5678" } });
    expect(await wrong.json()).toEqual({
      error: {
        message: "Incorrect API key provided.",
        type: "invalid_request_error",
        param: null,
        code: "invalid_api_key",
      },
    });
    expect((await post(one.url, chat("a"), { headers: { "api-key": "sk-right-1234" } })).status).toBe(200);
    expect(
      (await post(one.url, chat("a"), { headers: { authorization: "Bearer sk-right-1234" } })).status,
    ).toBe(200);
    expect([any.bill().calls, one.bill().calls]).toEqual([1, 2]);
    expect(one.requests.map((request) => request.key)).toEqual(["5678", "1234", "1234"]);
  });

  test("other paths and methods", async () => {
    await using server = await loopbackOpenAI({ script: [] });
    const responses = await Promise.all([
      fetch(`${server.url}/nowhere`),
      fetch(`${server.url}/chat/completions`),
      fetch(`${server.url}/models`, { method: "DELETE" }),
      fetch(`${server.url}/__proto__`),
    ]);
    expect(responses.map((response) => response.status)).toEqual([404, 405, 405, 404]);
    expect(responses[1]?.headers.get("allow")).toBe("POST");
  });

  test("a body over the limit; the server stays up", async () => {
    await using server = await loopbackOpenAI({ script: ["ok"], maxBodyBytes: 1_000 });
    const large = await post(server.url, chat("x".repeat(2_000)));
    expect([large.status, (await jsonOf(large)).error.code]).toEqual([413, "request_too_large"]);
    await post(server.url, chat("x".repeat(5_000_000))).catch(() => {});
    expect((await post(server.url, chat("a"))).status).toBe(200);
  });

  test("a call that the script does not expect: 400, so that nobody retries it, with the request in the message", async () => {
    await using server = await loopbackOpenAI({ script: [] });
    const response = await post(server.url, chat("surprise"));
    const { error } = await jsonOf(response);
    expect([response.status, error.code]).toEqual([400, "script_error"]);
    expect(error.message).toMatch(/call 1 is "surprise".*\n {2}user: surprise/);
  });
});

test("GET /v1/models lists the models", async () => {
  await using server = await loopbackOpenAI({ script: [], models: ["small", "large"] });
  const { object, data } = await jsonOf(await fetch(`${server.url}/models?limit=5`));
  expect([object, data.map((model: { id: string }) => model.id)]).toEqual(["list", ["small", "large"]]);
});

describe("options", () => {
  test.each([
    [{ script: [], requirekey: true }, /loopback options\.requirekey/],
    [{ script: [], requireKey: "" }, /requireKey is ""/],
    [{ script: [], requireKey: 7 }, /requireKey is 7/],
    [{ script: [], models: "gpt-5" }, /models is "gpt-5"/],
    [{ script: [], models: [5] }, /models is an array of 1/],
    [{ script: [], checkToolPairs: "no" }, /checkToolPairs is "no"/],
    [{ script: [], clock: {} }, /clock is an object/],
    [{ script: [], record: "no" }, /record is "no"/],
    [{ script: [], maxBodyBytes: 0 }, /maxBodyBytes is 0/],
    [{ script: [], port: -1 }, /port is -1/],
    [{ script: [], prices: { input: -1, output: 1 } }, /prices\.input is -1/],
    [{ script: [], prices: { input: 1, output: 1, cached: 1 } }, /prices\.cached/],
    [{}, /script is undefined/],
  ])("refuses %o", async (options, message) => {
    await expect(loopbackOpenAI(options as never)).rejects.toThrow(message);
  });

  test("a port that is taken is an error that says so", async () => {
    await using server = await loopbackOpenAI({ script: [] });
    await expect(loopbackOpenAI({ script: [], port: server.port })).rejects.toThrow(
      /port is \d+; expected a free port/,
    );
  });

  test("record: false keeps no requests, but the bill", async () => {
    await using server = await loopbackOpenAI({ script: ["a"], record: false });
    await post(server.url, chat("a"));
    expect([server.requests.length, server.bill().calls]).toEqual([0, 1]);
  });
});

describe("schemas", () => {
  const array = { type: "array", items: { type: "string" } };
  const choice = { oneOf: [{ type: "object", properties: {} }] };
  test.each([
    [
      "chat",
      "/chat/completions",
      (schema: object) => ({
        messages: [{ role: "user", content: "Hi" }],
        tools: [{ type: "function", function: { name: "f", parameters: schema } }],
      }),
    ],
    [
      "chat",
      "/chat/completions",
      (schema: object) => ({
        messages: [{ role: "user", content: "Hi" }],
        response_format: { type: "json_schema", json_schema: { name: "a", schema } },
      }),
    ],
    [
      "responses",
      "/responses",
      (schema: object) => ({ input: "Hi", tools: [{ type: "function", name: "f", parameters: schema }] }),
    ],
    [
      "responses",
      "/responses",
      (schema: object) => ({ input: "Hi", text: { format: { type: "json_schema", name: "a", schema } } }),
    ],
  ])("over %s of anything but an object are refused, as by OpenAI", async (_, path, body) => {
    await using server = await loopbackOpenAI({ script: ["ok"] });
    const send = (schema: object) =>
      fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "m", ...body(schema) }),
      });
    for (const schema of [array, choice, { ...choice, type: "object" }, {}]) {
      const response = await send(schema);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("schema must be a JSON Schema of 'type: \\\"object\\\"'");
    }
    expect((await send({ type: "object", properties: {} })).status).toBe(200);
  });
});
