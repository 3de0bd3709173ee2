import { defineTool, type ModelRequest } from "@ravi/kernel";
import { toolSpec } from "@ravi/kernel/loop";
import { loopbackOpenAI } from "@ravi/testing";
import type { ChatCompletionFunctionTool } from "openai/resources/chat/completions";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { openai, type OpenAIOptions } from "@ravi/provider-openai";
import { chunk, client, DONE, failureOf, HELLO, listener, rawServer, streamed } from "./support.ts";

type Effort = NonNullable<NonNullable<ModelRequest["reasoning"]>["effort"]>;

afterEach(() => vi.unstubAllEnvs());

/** What a request looks like on the wire. */
async function sent(request: ModelRequest, options: OpenAIOptions = {}): Promise<Record<string, unknown>> {
  await using server = await rawServer(
    (response) => void response.end('{"choices":[{"message":{"content":"ok"}}]}'),
  );
  await client(server, options).generate(request);
  return server.bodies[0] ?? {};
}

describe("a request", () => {
  test("holds nothing that was not asked for", async () => {
    expect(await sent(HELLO)).toEqual({
      model: "test-model",
      messages: [{ role: "user", content: "hello" }],
    });
  });

  test("carries every setting by its name in the protocol", async () => {
    const body = await sent({
      ...HELLO,
      maxOutputTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      stop: ["END"],
      seed: 7,
      reasoning: { effort: "low" },
      tools: [{ name: "f", description: "d", parameters: { type: "object", properties: {} } }],
      toolChoice: { name: "f" },
      output: { name: "my answer!", schema: { type: "object", properties: { a: { type: "string" } } } },
      providerOptions: { openai: { user: "u1", temperature: 0.7 }, anthropic: { thinking: true } },
    });
    expect(body).toMatchObject({
      max_tokens: 100,
      temperature: 0.7,
      top_p: 0.9,
      stop: ["END"],
      seed: 7,
      reasoning_effort: "low",
      tool_choice: { type: "function", function: { name: "f" } },
      user: "u1",
    });
    expect(body["response_format"]).toEqual({
      type: "json_schema",
      json_schema: { name: "my_answer_", schema: { type: "object", properties: { a: { type: "string" } } } },
    });
    expect(body).not.toHaveProperty("thinking");
  });

  test.each(["chat", "responses"] as const)(
    "T10: over %s has no half characters, which servers refuse the whole request for",
    async (api) => {
      await using server = await rawServer(
        (response) =>
          void response.end('{"choices":[{"message":{"content":"ok"}}],"status":"completed","output":[]}'),
      );
      const request: ModelRequest = {
        messages: [
          { role: "system", content: "\ud800 half" },
          { role: "user", content: String.raw`half ${"\udc00"} and spelt out \ud800 \\ud800, and 👩‍🚀` },
        ],
        tools: [{ name: "f", description: "\ud83d", parameters: { properties: { "\ude00": {} } } }],
      };
      await client(server, { api }).generate(request);
      const [body = {}] = server.bodies;
      expect(body[api === "chat" ? "messages" : "input"]).toEqual([
        { role: "system", content: "\ufffd half" },
        { role: "user", content: String.raw`half ${"\ufffd"} and spelt out \ud800 \\ud800, and 👩‍🚀` },
      ]);
      expect(JSON.stringify(body["tools"])).toContain('{"\ufffd":{}}');
      expect(server.headers[0]?.["content-type"]).toBe("application/json");
    },
  );

  test("T10: tells the model of a part of a kind that nobody knows", async () => {
    const { logger, said } = listener();
    const content = JSON.parse('[{"type":"video","url":"https://x.test/v"},{"type":3}]') as [];
    const body = await sent(
      {
        messages: [
          { role: "user", content },
          { role: "assistant", content, toolCalls: [{ id: "a", name: "f", arguments: "{}" }] },
          { role: "tool", toolCallId: "a", name: "f", content },
        ],
      },
      { logger },
    );
    const video = '[a part of the type "video" was left out: it cannot be sent here]';
    const other = "[a part of an unknown type was left out: it cannot be sent here]";
    expect(body["messages"]).toMatchObject([
      {
        content: [
          { type: "text", text: video },
          { type: "text", text: other },
        ],
      },
      { content: video + other },
      { content: video + other },
    ]);
    expect(said).toEqual([
      'openai/test-model: a part of the type "video" was left out: it cannot be sent here',
      "openai/test-model: a part of an unknown type was left out: it cannot be sent here",
    ]);
  });

  test("limits the answer by the name that the server knows", async () => {
    const bodies: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ choices: [{ message: { content: "ok" } }] });
    };
    const request = { ...HELLO, maxOutputTokens: 9 };
    await openai("m", { apiKey: "k-123456", fetch, api: "chat" }).generate(request);
    await openai("m", { apiKey: "k-123456", fetch, baseURL: "http://ollama.test/v1" }).generate(request);
    expect(bodies).toEqual([
      expect.objectContaining({ max_completion_tokens: 9 }),
      expect.objectContaining({ max_tokens: 9 }),
    ]);
    expect(bodies[1]).not.toHaveProperty("max_completion_tokens");
  });

  test("asks a stream for its usage, and cannot be talked out of what it reads", async () => {
    await using server = await loopbackOpenAI({ script: ["ok", "ok"] });
    const model = client(server);
    const request = { ...HELLO, providerOptions: { openai: { stream: false } } };
    expect((await streamed(model, request)).response.usage).toBeDefined();
    await model.generate({ ...HELLO, providerOptions: { openai: { stream: true } } });
    expect(server.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(server.requests[1]?.body).not.toHaveProperty("stream");
  });

  test("carries images, files and sound, and tells the model and the log what had to be left out", async () => {
    const { logger, said } = listener();
    const request: ModelRequest = {
      messages: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          name: "ann",
          content: [
            { type: "text", text: "look" },
            { type: "image", url: "https://x.test/a.png" },
            {
              type: "file",
              url: "data:application/pdf;base64,AAAA",
              mediaType: "application/pdf",
              name: "a.pdf",
            },
            { type: "file", url: "file-abc", mediaType: "application/pdf" },
            { type: "file", url: "data:audio/wav;base64,BBBB", mediaType: "audio/wav" },
            { type: "file", url: "https://x.test/b.pdf", mediaType: "application/pdf", name: "b.pdf" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "secret thoughts", opaque: { provider: "anthropic", data: "sig" } },
            { type: "text", text: "I look." },
          ],
          toolCalls: [{ id: "t".repeat(64), name: "f", arguments: '{"a": 1 }' }],
        },
        {
          role: "tool",
          toolCallId: "t".repeat(64),
          name: "f",
          content: [
            { type: "text", text: "seen " },
            { type: "image", url: "data:image/png;base64,CC" },
          ],
        },
        { role: "assistant", content: "", toolCalls: [{ id: "b", name: "f", arguments: "{}" }] },
        { role: "tool", toolCallId: "b", name: "f", content: "done" },
      ],
    };
    const body = await sent(request, { logger });
    const messages = body["messages"] as Record<string, unknown>[];
    const id = (messages[3]?.["tool_call_id"] ?? "") as string;
    expect(id).toHaveLength(40);
    expect(messages).toEqual([
      { role: "system", content: "be brief" },
      {
        role: "user",
        name: "ann",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "https://x.test/a.png" } },
          { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } },
          { type: "file", file: { file_id: "file-abc" } },
          { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
          { type: "text", text: "[the file b.pdf was left out: it can only be sent as a data: URL]" },
        ],
      },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [{ id, type: "function", function: { name: "f", arguments: '{"a": 1 }' } }],
      },
      { role: "tool", tool_call_id: id, content: "seen [image 1 follows]" },
      {
        role: "user",
        content: [
          { type: "text", text: "[image 1, returned by f]" },
          { type: "image_url", image_url: { url: "data:image/png;base64,CC" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "b", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "b", content: "done" },
    ]);
    expect(said).toEqual([
      "openai/test-model: a file (application/pdf) is left out: it can only be sent as a data: URL",
      expect.stringContaining("reasoning of earlier turns is left out"),
    ]);
  });
});

test("reasoning stays behind with notice, once", async () => {
  await using server = await rawServer(
    (response) => void response.end('{"choices":[{"message":{"content":"ok"}}]}'),
  );
  const { logger, said } = listener();
  const model = client(server, { logger });
  const content = [
    { type: "reasoning", text: "hm", opaque: { provider: "anthropic", data: "signature" } },
    { type: "text", text: "hi" },
  ] as const;
  for (let n = 0; n < 2; n++) await model.generate({ messages: [{ role: "assistant", content }] });
  expect(server.bodies[0]?.["messages"]).toEqual([{ role: "assistant", content: "hi" }]);
  expect(said).toEqual([expect.stringContaining("reasoning of earlier turns is left out")]);
});

test.each(["chat", "responses"] as const)(
  "over %s the alternatives of a tool's input are one object: servers take no others",
  async (api) => {
    const input = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("city"), name: z.string() }),
      z.object({ kind: z.literal("place"), lat: z.number() }),
    ]);
    const tool = defineTool({ name: "f", description: "d", input, execute: () => "ok" });
    const tools = [toolSpec(tool), { name: "g", description: "", parameters: { properties: {} } }];
    // It refuses what OpenAI would refuse.
    let read: ModelRequest | undefined;
    const script = (request: ModelRequest): string => {
      read = request;
      return "ok";
    };
    await using server = await loopbackOpenAI({ script });
    await client(server, { api }).generate({ ...HELLO, tools });
    expect(read?.tools).toMatchObject([
      {
        parameters: {
          type: "object",
          properties: { name: { type: "string" }, lat: { type: "number" } },
          required: ["kind"],
        },
      },
      { parameters: { type: "object", properties: {} } },
    ]);
  },
);

test("an object with alternatives beside its properties is not strict", async () => {
  const parameters = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    anyOf: [{ type: "object", properties: {} }],
  };
  const body = await sent({ ...HELLO, tools: [{ name: "f", description: "d", parameters }] });
  const [only] = body["tools"] as { function: Record<string, unknown> }[];
  expect(only?.function).not.toHaveProperty("strict");
  expect(only?.function["parameters"]).not.toHaveProperty("anyOf");
});

describe("strict schemas", () => {
  const toolSent = async (input: z.ZodType): Promise<Record<string, unknown>> => {
    const tool = defineTool({ name: "f", description: "d", input, execute: () => "ok" });
    const body = await sent({ ...HELLO, tools: [toolSpec(tool)] });
    const [only] = body["tools"] as { function: Record<string, unknown> }[];
    return only?.function ?? {};
  };

  test("a schema whose properties are all required is strict, at every depth", async () => {
    const sentTool = await toolSent(
      z.object({ a: z.string(), b: z.array(z.object({ c: z.number().nullable() })), d: z.enum(["x", "y"]) }),
    );
    expect(sentTool).toMatchObject({
      strict: true,
      parameters: {
        additionalProperties: false,
        properties: { b: { items: { additionalProperties: false, required: ["c"] } } },
      },
    });
  });

  test("alternatives are strict as anyOf, because strict mode has no oneOf", async () => {
    const cat = z.object({ kind: z.literal("cat"), lives: z.number() });
    const dog = z.object({ kind: z.literal("dog"), tricks: z.array(z.string()) });
    const sentTool = await toolSent(z.object({ pet: z.discriminatedUnion("kind", [cat, dog]) }));
    expect(sentTool).toMatchObject({
      strict: true,
      parameters: {
        properties: {
          pet: { anyOf: [{ required: ["kind", "lives"] }, { required: ["kind", "tricks"] }] },
        },
      },
    });
    expect(JSON.stringify(sentTool)).not.toContain("oneOf");
  });

  test("a date and the other formats that strict mode knows are strict", async () => {
    const sentTool = await toolSent(z.object({ day: z.iso.date(), id: z.uuid(), at: z.iso.datetime() }));
    expect(sentTool).toMatchObject({
      strict: true,
      parameters: { properties: { day: { format: "date" }, id: { format: "uuid" } } },
    });
  });

  test("fixed values without a type, as Valibot and ArkType write them, get their type", async () => {
    const parameters = {
      type: "object",
      properties: { kind: { const: "cat" }, size: { enum: [1, 2.5] }, at: { enum: ["home", "away"] } },
      required: ["kind", "size", "at"],
    };
    const body = await sent({ ...HELLO, tools: [{ name: "f", description: "d", parameters }] });
    expect(body["tools"]).toMatchObject([
      {
        function: {
          strict: true,
          parameters: {
            properties: {
              kind: { type: "string", const: "cat" },
              size: { type: "number" },
              at: { type: "string" },
            },
          },
        },
      },
    ]);
  });

  test.each<[string, object]>([
    [
      "alternatives beside the properties of an inner object",
      {
        type: "object",
        properties: { a: { type: "string" } },
        required: ["a"],
        oneOf: [{ type: "object", properties: { b: { type: "string" } }, required: ["b"] }],
      },
    ],
    ["a reference into oneOf", { oneOf: [{ type: "string" }, { $ref: "#/properties/it/oneOf/0" }] }],
  ])("with %s it is sent as it is", async (_, it) => {
    const parameters = { type: "object", properties: { it }, required: ["it"] };
    const body = await sent({ ...HELLO, tools: [{ name: "f", description: "d", parameters }] });
    const [only] = body["tools"] as { function: Record<string, unknown> }[];
    expect(only?.function).not.toHaveProperty("strict");
    expect(only?.function["parameters"]).toEqual(parameters);
  });

  test("what must fit two lists of alternatives is sent as it is: strict mode has only one", async () => {
    const a = { anyOf: [{ type: "string" }], oneOf: [{ type: "string" }, { type: "number" }] };
    const parameters = { type: "object", properties: { a }, required: ["a"] };
    const body = await sent({ ...HELLO, tools: [{ name: "f", description: "d", parameters }] });
    expect(body["tools"]).toMatchObject([{ function: { parameters } }]);
    expect(JSON.stringify(body)).not.toContain('"strict":true');
  });

  const shared = z.object({ id: z.string() }).meta({ id: "Shared" });

  test.each<[string, z.ZodType]>([
    ["an optional property", z.object({ a: z.string().optional() })],
    ["an optional property far below", z.object({ a: z.array(z.object({ b: z.string().optional() })) })],
    ["a record", z.object({ a: z.record(z.string(), z.string()) })],
    ["anything at all", z.object({ a: z.unknown() })],
    ["a default", z.object({ a: z.string().default("x") })],
    ["a length", z.object({ a: z.string().max(5) })],
    ["a tuple", z.object({ a: z.tuple([z.string(), z.number()]) })],
    ["an object that may have more", z.looseObject({ a: z.string() })],
    ["a description beside a reference", z.object({ a: shared, b: shared.describe("the second") })],
    ["a pattern that looks ahead", z.object({ a: z.string().regex(/^(?=.*x).+$/) })],
    ["a pattern that looks back", z.object({ a: z.string().regex(/(?<!y)x/) })],
    ["a format that strict mode does not know", z.object({ a: z.url() })],
    ["values of two kinds", z.object({ a: z.literal(["x", 1]) })],
  ])("with %s it is sent as it is: strict mode would change its meaning", async (_, input) => {
    const sentTool = await toolSent(input);
    expect(sentTool).not.toHaveProperty("strict");
    expect(sentTool["parameters"]).toEqual(
      toolSpec(defineTool({ name: "f", description: "d", input, execute: () => "ok" })).parameters,
    );
  });
});

describe("a parameter that the server does not take", () => {
  const refusing = (refused: readonly string[], message: (param: string) => object) =>
    rawServer((response, _, index) => {
      const body = bodies()[index] ?? {};
      const bad = refused.find((param) => param in body);
      response.writeHead(bad === undefined ? 200 : 400, { "content-type": "application/json" });
      response.end(
        JSON.stringify(
          bad === undefined ? { choices: [{ message: { content: "ok" } }] } : { error: message(bad) },
        ),
      );
    });
  let current: { readonly bodies: Record<string, unknown>[] };
  const bodies = (): Record<string, unknown>[] => current.bodies;

  const asOpenAI = (param: string): object => ({
    message: `Unsupported parameter: '${param}' is not supported with this model.`,
    code: "unsupported_parameter",
    param,
  });
  const inWords = (param: string): object => ({
    message: `Unrecognized request argument supplied: ${param}`,
  });
  const request = { ...HELLO, temperature: 0.5, maxOutputTokens: 50 };

  test.each([
    ["temperature", asOpenAI, {}],
    ["temperature", inWords, {}],
    ["max_tokens", asOpenAI, { max_completion_tokens: 50 }],
    [
      "max_tokens",
      (param: string) => ({
        message: `'${param}' is not supported with this model. Use 'max_completion_tokens' instead.`,
      }),
      { max_completion_tokens: 50 },
    ],
  ])("T10: %s is corrected once, and remembered", async (param, message, instead) => {
    await using server = await refusing([param], message);
    current = server;
    const { logger, said } = listener();
    const model = client(server, { logger });
    expect((await model.generate(request, { idempotencyKey: "k" })).message.content).toBe("ok");
    expect(server.bodies).toHaveLength(2);
    expect(server.bodies[1]).toMatchObject(instead);
    expect(server.bodies[1]).not.toHaveProperty(param);
    // Another body under the same key would be a contradiction.
    expect(server.headers.map((headers) => headers["idempotency-key"])).toEqual(["k", "k:corrected"]);
    await model.generate(request);
    expect(server.bodies).toHaveLength(3);
    expect(said).toEqual([expect.stringContaining(`the server does not accept ${param}: it is `)]);
    // Another client has learned nothing.
    await client(server).generate(request);
    expect(server.bodies).toHaveLength(5);
  });

  const unknownName = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.';
  const forbidden = [
    { type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" },
  ];
  test.each<[string, number, unknown]>([
    [
      "Gemini",
      400,
      [
        {
          error: {
            code: 400,
            message: unknownName,
            status: "INVALID_ARGUMENT",
            details: [{ fieldViolations: [{ description: unknownName }] }],
          },
        },
      ],
    ],
    [
      "Mistral",
      422,
      { object: "error", message: { detail: forbidden }, type: "invalid_request_error", code: null },
    ],
    ["FastAPI", 422, { detail: forbidden }],
    ["Groq", 400, { error: { message: "property 'seed' is unsupported, did you mean 'stop'?" } }],
  ])("T10: what %s says of one is understood", async (_, status, refusal) => {
    await using server = await rawServer((response, _request, index) => {
      const isRefused = "seed" in (server.bodies[index] ?? {});
      response.writeHead(isRefused ? status : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? refusal : { choices: [{ message: { content: "ok" } }] }));
    });
    expect((await client(server).generate({ ...HELLO, seed: 1 })).message.content).toBe("ok");
    expect(server.bodies.map((body) => "seed" in body)).toEqual([true, false]);
  });

  test.each<[string, string, unknown]>([
    ["Ollama", "reasoning_effort", { error: { message: '"llama3.1:8b" does not support thinking' } }],
    [
      "Ollama",
      "reasoning_effort",
      { error: { message: 'think value "low" is not supported for this model' } },
    ],
    [
      "xAI",
      "reasoning_effort",
      {
        code: "Client specified an invalid argument",
        error: "Model grok-4-latest does not support parameter reasoningEffort.",
      },
    ],
    [
      "xAI",
      "stop",
      {
        code: "Client specified an invalid argument",
        error: "Argument not supported on this model: stop",
      },
    ],
    ["OpenAI", "stop", { error: asOpenAI("stop") }],
  ])("T10: what %s says of %s is understood", async (_, param, refusal) => {
    await using server = await rawServer((response, _request, index) => {
      const isRefused = param in (server.bodies[index] ?? {});
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? refusal : { choices: [{ message: { content: "ok" } }] }));
    });
    const { logger, said } = listener();
    const all: ModelRequest = { ...HELLO, reasoning: { effort: "low" }, stop: ["END"], temperature: 0.5 };
    const model = client(server, { logger });
    for (let n = 0; n < 2; n++) expect((await model.generate(all)).message.content).toBe("ok");
    expect(server.bodies.map((body) => param in body)).toEqual([true, false, false]);
    expect(Object.keys(server.bodies[2] ?? {})).toHaveLength(Object.keys(server.bodies[0] ?? {}).length - 1);
    expect(said).toEqual([
      `openai/test-model: the server does not accept ${param}: it is left out from now on`,
    ]);
  });

  test("T10: that a model thinks only where nothing else is said costs no effort", async () => {
    const message = "Thinking mode does not support this tool_choice";
    await using server = await rawServer((response) => {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message } }));
    });
    const all: ModelRequest = { ...HELLO, reasoning: { effort: "low" } };
    expect(await failureOf(client(server).generate(all))).toMatchObject({ kind: "FORMAT_ERROR" });
    expect(server.bodies).toHaveLength(1);
  });

  test("T10: a tool that is demanded is the only one where none can be named, as in LM Studio", async () => {
    await using server = await rawServer((response, _request, index) => {
      const isRefused = typeof server.bodies[index]?.["tool_choice"] === "object";
      const error = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? { error } : { choices: [{ message: { content: "ok" } }] }));
    });
    const model = client(server);
    const tools = ["f", "g"].map((name) => ({ name, description: "d", parameters: { type: "object" } }));
    for (let n = 0; n < 2; n++) await model.generate({ ...HELLO, tools, toolChoice: { name: "g" } });
    await model.generate({ ...HELLO, tools, toolChoice: "auto" });
    expect(
      server.bodies.map(({ tools: sentTools, tool_choice: choice }) => [
        JSON.stringify(sentTools).match(/"name":"."/g)?.length,
        choice,
      ]),
    ).toEqual([
      [2, { type: "function", function: { name: "g" } }],
      [1, "required"],
      [1, "required"],
      [2, "auto"],
    ]);
    expect(JSON.stringify(server.bodies[1]?.["tools"])).toContain('"name":"g"');
  });

  // The first effort is refused, the second is not.
  test.each<[string, string, Effort, Effort, Effort | undefined]>([
    ["Groq", "`reasoning_effort` must be one of `none` or `default`", "low", "medium", undefined],
    [
      "vLLM",
      "Expected 'reasoning_effort' to be one of: 'high', 'low', 'medium'; found 'minimal'.",
      "minimal",
      "high",
      "low",
    ],
    [
      "Cerebras",
      "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n Input should be 'low', 'medium' or 'high' [type=enum, input_value='minimal', input_type=str]",
      "minimal",
      "medium",
      "low",
    ],
    [
      "SGLang",
      "1 validation error:\\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'minimal'}",
      "minimal",
      "high",
      "low",
    ],
    [
      "Gemini",
      "Invalid reasoning_effort: minimal.\nValid values are: high, low, medium, none",
      "minimal",
      "low",
      "low",
    ],
    [
      "Gemini",
      "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.",
      "minimal",
      "low",
      undefined,
    ],
  ])(
    "T10: %s does not have one effort, and the others stay: %s",
    async (_, message, refused, other, instead) => {
      await using server = await rawServer((response, _request, index) => {
        const isRefused = server.bodies[index]?.["reasoning_effort"] === refused;
        response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
        response.end(
          JSON.stringify(
            isRefused
              ? { error: { message, param: message.includes("enum") ? "validation_error" : null } }
              : { choices: [{ message: { content: "ok" } }] },
          ),
        );
      });
      const model = client(server);
      for (const effort of [refused, other, refused])
        expect((await model.generate({ ...HELLO, reasoning: { effort } })).message.content).toBe("ok");
      expect(server.bodies.map((body) => body["reasoning_effort"])).toEqual([
        refused,
        instead,
        other,
        instead,
      ]);
    },
  );

  test.each([
    "reasoning_effort and service_tier: service_tier must be one of 'auto' or 'default'",
    "reasoning_effort must be one of 'low' or 'high' for gold accounts",
    "top_logprobs must be 0 if reasoning_effort is set",
  ])("T10: a value that is wrong elsewhere costs no effort: %s", async (message) => {
    await using server = await rawServer((response) => {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message } }));
    });
    const asked: ModelRequest = { ...HELLO, reasoning: { effort: "low" } };
    expect(await failureOf(client(server).generate(asked))).toMatchObject({ kind: "FORMAT_ERROR" });
    expect(server.bodies).toHaveLength(1);
  });

  test.each([
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "enable thinking can not be support when `stream=False`.",
    "This model only support stream mode, please enable the stream parameter to access the model. ",
  ])("T10: a model that can only stream is streamed from then on: %s", async (message) => {
    await using server = await rawServer((response, _, index) => {
      const isStreamed = server.bodies[index]?.["stream"] === true;
      response.writeHead(isStreamed ? 200 : 400, {
        "content-type": isStreamed ? "text/event-stream" : "application/json",
      });
      response.end(
        isStreamed
          ? chunk({ content: "ok" }, "stop") + DONE
          : JSON.stringify({ error: { code: "invalid_parameter_error", message } }),
      );
    });
    const { logger, said } = listener();
    const model = client(server, { logger });
    for (let n = 0; n < 2; n++) expect((await model.generate(HELLO)).message.content).toBe("ok");
    expect((await streamed(model, HELLO)).response.message.content).toBe("ok");
    expect(server.bodies).toHaveLength(4);
    expect(server.bodies[2]).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(said).toEqual([
      "openai/test-model: the server does not accept model: it can only stream, so its answers are streamed from now on",
    ]);
  });

  test.each([
    "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'",
    "All tools must have the same value for the 'strict' parameter.",
    "Invalid JSON payload received. Unknown name \"strict\" at 'tools[0].function_declarations[0]': Cannot find field.",
    "tools.0.function.strict: Extra inputs are not permitted",
  ])("T10: where tools cannot be strict, or not some of them, none is from then on: %s", async (message) => {
    await using server = await rawServer((response, _, index) => {
      const isRefused = JSON.stringify(server.bodies[index]).includes('"strict"');
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(
        JSON.stringify(isRefused ? { error: { message } } : { choices: [{ message: { content: "ok" } }] }),
      );
    });
    const { logger, said } = listener();
    const model = client(server, { logger });
    const parameters = { type: "object", properties: { a: { type: "string" } } };
    const tools = [
      { name: "f", description: "d", parameters: { ...parameters, required: ["a"] } },
      { name: "g", description: "d", parameters },
    ];
    for (let n = 0; n < 2; n++)
      expect((await model.generate({ ...HELLO, tools })).message.content).toBe("ok");
    expect(server.bodies).toHaveLength(3);
    expect(said).toEqual([
      "openai/test-model: the server does not accept tools: none of them is strict from now on",
    ]);
  });

  test("T10: where no shape can be demanded, the model is asked for it in words", async () => {
    await using server = await refusing(["response_format"], asOpenAI);
    current = server;
    const { logger, said } = listener();
    const output = { name: "a", schema: { type: "object", properties: {} } };
    await client(server, { logger }).generate({ ...HELLO, output });
    expect(server.bodies[1]?.["messages"]).toEqual([
      { role: "user", content: "hello" },
      { role: "system", content: expect.stringContaining('fits this JSON Schema:\n{"type":"object"') },
    ]);
    expect(said).toEqual([
      "openai/test-model: the server does not accept response_format: the schema of the answer is sent as text from now on",
    ]);
  });

  test("T10: what many calls at once are refused for is learned once, so that there is room for more", async () => {
    const CALLS = 101;
    await using server = await rawServer(async (response, _, index) => {
      await server.arrived(CALLS);
      const [tool] = (server.bodies[index]?.["tools"] ?? []) as ChatCompletionFunctionTool[];
      const isRefused = tool?.function.strict === true;
      const error = { message: `Invalid schema for function '${tool?.function.name}': too complex` };
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? { error } : { choices: [{ message: { content: "ok" } }] }));
    });
    const model = client(server);
    const parameters = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const withTool = (name: string) => ({ ...HELLO, tools: [{ name, description: "d", parameters }] });
    await Promise.all(Array.from({ length: CALLS }, () => model.generate(withTool("f"))));
    expect(server.bodies).toHaveLength(2 * CALLS);
    await model.generate(withTool("g"));
    await model.generate(withTool("g"));
    expect(server.bodies).toHaveLength(2 * CALLS + 3);
  });

  test("T10: several are corrected one after the other, each with a key of its own, and remembered", async () => {
    await using server = await refusing(["temperature", "max_tokens"], asOpenAI);
    current = server;
    const { logger, said } = listener();
    const model = client(server, { logger });
    expect((await model.generate(request, { idempotencyKey: "k" })).message.content).toBe("ok");
    expect(server.headers.map((headers) => headers["idempotency-key"])).toEqual([
      "k",
      "k:corrected",
      "k:corrected-2",
    ]);
    expect(said).toEqual([
      expect.stringContaining("the server does not accept temperature"),
      expect.stringContaining("the server does not accept max_tokens"),
    ]);
    await model.generate(request);
    expect(server.bodies).toHaveLength(4);
    expect(server.bodies[3]).toEqual(server.bodies[2]);
  });

  test("T10: no more than three are corrected in one call; the next call knows them", async () => {
    const all = { ...request, topP: 0.5, reasoning: { effort: "low" } } as const;
    await using server = await refusing(["temperature", "top_p", "reasoning_effort", "max_tokens"], asOpenAI);
    current = server;
    const model = client(server);
    expect(await failureOf(model.generate(all))).toMatchObject({ kind: "FORMAT_ERROR", status: 400 });
    expect(server.bodies).toHaveLength(4);
    expect((await model.generate(all)).message.content).toBe("ok");
    expect(server.bodies).toHaveLength(6);
  });

  test("T10: the limit of the answer is never left out, though both of its names are refused", async () => {
    await using server = await refusing(["max_tokens", "max_completion_tokens"], asOpenAI);
    current = server;
    const model = client(server);
    for (let n = 0; n < 3; n++)
      expect(await failureOf(model.generate(request))).toMatchObject({ status: 400 });
    for (const body of server.bodies)
      expect("max_tokens" in body || "max_completion_tokens" in body).toBe(true);
    expect(server.bodies.length).toBeLessThanOrEqual(6);
  });

  test.each([
    [
      "a value out of range",
      400,
      { message: "temperature: 3 is greater than the maximum of 2", param: "temperature" },
    ],
    [
      "a limit that is too high",
      400,
      { message: "max_tokens is too large: 50. This model supports at most 10.", param: "max_tokens" },
    ],
    [
      "a parameter that matters",
      400,
      { message: "Unsupported parameter: 'tools'", param: "tools", code: "unsupported_parameter" },
    ],
    [
      "a parameter that was not sent",
      400,
      { message: "Unsupported parameter: 'seed'", param: "seed", code: "unsupported_parameter" },
    ],
    [
      "a prompt that was filtered, which Azure charges for",
      400,
      {
        message: "The prompt is not allowed by the content management policy (temperature)",
        code: "content_filter",
        param: "temperature",
      },
    ],
    [
      "a prompt that is too long",
      400,
      {
        message: "temperature is not supported: this model's maximum context length is 10 tokens",
        param: "temperature",
      },
    ],
    [
      "another status",
      500,
      {
        message: "Unsupported parameter: 'temperature'",
        param: "temperature",
        code: "unsupported_parameter",
      },
    ],
  ])("T10: %s is not corrected", async (_, status, error) => {
    await using server = await rawServer((response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error }));
    });
    expect(await failureOf(client(server).generate(request))).toMatchObject({ status });
    expect(server.bodies).toHaveLength(1);
  });
});

describe("who is asked, and as whom", () => {
  test("the key of the environment is read at the first call", async () => {
    await using server = await rawServer(
      (response) => void response.end('{"choices":[{"message":{"content":"ok"}}]}'),
    );
    const model = openai("m", { baseURL: server.url });
    vi.stubEnv("OPENAI_API_KEY", "env-key-123\n");
    vi.stubEnv("OPENAI_ORG_ID", "org-of-openai");
    await model.generate(HELLO, { idempotencyKey: "run:llm#1" });
    expect(server.headers[0]).toMatchObject({
      authorization: "Bearer env-key-123",
      "idempotency-key": "run:llm#1",
    });
    expect(server.headers[0]).not.toHaveProperty("openai-organization");
  });

  test("an idempotency key in any script fits into its header", async () => {
    await using server = await rawServer(
      (response) => void response.end('{"choices":[{"message":{"content":"ok"}}]}'),
    );
    await client(server).generate(HELLO, { idempotencyKey: "run/hire:jäger\n→#1\ud800" });
    expect(server.headers[0]?.["idempotency-key"]).toBe("run/hire:j%C3%A4ger%0A%E2%86%92#1%EF%BF%BD");
  });

  test("without a key the error says what to do; a server of one's own needs none", async () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    vi.stubEnv("OPENAI_BASE_URL", "");
    expect(await failureOf(openai("m").generate(HELLO))).toMatchObject({
      code: "INVALID_VALUE",
      field: "apiKey",
      message:
        "apiKey is undefined; expected a key for OpenAI: set OPENAI_API_KEY in the environment, or pass the option apiKey, as in openai(model, { apiKey }); a server of your own, given as baseURL, needs none",
    });
    await using server = await rawServer(
      (response) => void response.end('{"choices":[{"message":{"content":"ok"}}]}'),
    );
    await openai("m", { baseURL: server.url }).generate(HELLO);
    await openai("m", { baseURL: server.url, apiKey: null }).generate(HELLO);
    for (const headers of server.headers) expect(headers).not.toHaveProperty("authorization");
  });

  test("headers, organization, project, and a query of the base URL go out", async () => {
    const paths: (string | undefined)[] = [];
    await using server = await rawServer((response, { url }) => {
      paths.push(url);
      response.end('{"choices":[{"message":{"content":"ok"}}]}');
    });
    const headers = { Authorization: "Basic abc", "X-Title": "ravi" };
    await openai("m", {
      baseURL: `${server.url}/?api-version=1`,
      apiKey: "k-123456",
      headers,
      organization: "o",
      project: "p",
    }).generate(HELLO);
    expect(server.headers[0]).toMatchObject({
      authorization: "Basic abc",
      "x-title": "ravi",
      "openai-organization": "o",
      "openai-project": "p",
    });
    expect(paths).toEqual(["/v1/chat/completions?api-version=1"]);
  });

  test("id and info name the provider and the model", () => {
    expect(openai("gpt-5", { contextWindow: 400_000, maxOutputTokens: 128_000 })).toMatchObject({
      id: "openai/gpt-5",
      info: { provider: "openai", model: "gpt-5", contextWindow: 400_000, maxOutputTokens: 128_000 },
    });
    expect(openai("llama", { provider: "ollama" })).toMatchObject({
      id: "ollama/llama",
      info: { provider: "ollama" },
    });
  });

  test.each<[string, string, object]>([
    ["model", "", {}],
    ["apiKey", "m", { apiKey: "" }],
    ["idleTimeoutMs", "m", { idleTimeoutMs: 0 }],
    ["maxResponseBytes", "m", { maxResponseBytes: -1 }],
    ["api", "m", { api: "assistants" }],
    ["headers.x", "m", { headers: { x: 3 } }],
    ["openai options", "m", []],
    ["openai options", "m", Promise.resolve({ baseURL: "http://127.0.0.1/v1" })],
    ["apiKey", "m", { apiKey: Promise.resolve("key") }],
    ["provider", "m", { provider: 5 }],
    ["organization", "m", { organization: {} }],
    ["headers", "m", { headers: new Headers({ x: "y" }) }],
    ["fetch", "m", { fetch: {} }],
    ["openai options.clock", "m", { clock: {} }],
    ["openai options.logger", "m", { logger: {} }],
  ])("a wrong %s is named at once", (field, model, options) => {
    expect(() => openai(model, options)).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field }));
  });
});
