import type { ModelRequest } from "@ravi/kernel";
import { openai, type OpenAIOptions } from "@ravi/provider-openai";
import { loopbackOpenAI } from "@ravi/testing";
import { describe, expect, test, vi } from "vitest";
import { APIS, client, failureOf, HELLO, listener, rawServer, SPOKEN, streamed } from "./support.ts";

const OK = SPOKEN.responses.whole("ok");

describe("a parameter that the server does not take", () => {
  interface Case {
    readonly param: string;
    readonly error: object;
    readonly left: object;
  }
  const unsupported = (param: string): object => ({
    message: `Unsupported parameter: '${param}' is not supported with this model.`,
    code: "unsupported_parameter",
    param,
  });
  const request: ModelRequest = {
    ...HELLO,
    temperature: 0.5,
    maxOutputTokens: 50,
    reasoning: { effort: "low", summary: true },
    output: { name: "a", schema: { type: "object", properties: {} } },
  };
  const CASES: readonly Case[] = [
    { param: "temperature", error: unsupported("temperature"), left: {} },
    {
      param: "reasoning.effort",
      error: unsupported("reasoning.effort"),
      left: { reasoning: { summary: "auto" } },
    },
    {
      param: "reasoning.effort",
      error: { message: "Model grok-4 does not support parameter reasoningEffort." },
      left: { reasoning: { summary: "auto" } },
    },
    {
      param: "reasoning.summary",
      error: {
        message: "Your organization must be verified to generate reasoning summaries.",
        code: "unsupported_value",
        param: "reasoning.summary",
      },
      left: { reasoning: { effort: "low" } },
    },
    { param: "reasoning", error: { message: "Reasoning is not supported by this model" }, left: {} },
    {
      param: "include",
      error: { message: "Encrypted content is not supported with this model.", param: "include" },
      left: { store: false },
    },
    { param: "include", error: { message: "Encrypted content is not supported with this model." }, left: {} },
    { param: "text.format", error: unsupported("text.format"), left: {} },
  ];
  const holds = (body: Record<string, unknown>, param: string): boolean => {
    const [first = "", second] = param.split(".");
    const value = body[first] as Record<string, unknown> | undefined;
    return value !== undefined && (second === undefined || value[second] !== undefined);
  };

  test.each(CASES)(
    "T10: $param is corrected once, and remembered ($error.message)",
    async ({ param, error, left }) => {
      const { logger, said } = listener();
      const bodies: Record<string, unknown>[] = [];
      await using server = await rawServer((response, _, index) => {
        const body = server.bodies[index] ?? {};
        bodies.push(body);
        response.writeHead(holds(body, param) ? 400 : 200, { "content-type": "application/json" });
        response.end(holds(body, param) ? JSON.stringify({ error }) : OK);
      });
      const model = client(server, { api: "responses", logger });
      expect((await model.generate(request)).message.content).toBe("ok");
      expect((await streamed(model, request)).response.message.content).toBe("ok");
      expect(bodies).toHaveLength(3);
      expect(bodies[1]).toMatchObject({ max_output_tokens: 50, ...left });
      expect(holds(bodies[2] ?? {}, param)).toBe(false);
      expect(said).toEqual([expect.stringContaining(`does not accept ${param}`)]);
    },
  );

  describe.each(APIS)("an effort that the model does not have, over %s", (api) => {
    const param = api === "chat" ? "reasoning_effort" : "reasoning.effort";
    const effortIn = (body: Record<string, unknown> = {}): unknown =>
      body["reasoning_effort"] ?? (body["reasoning"] as { effort?: unknown } | undefined)?.effort;
    const having = (efforts: readonly string[], isNamed = true) =>
      rawServer((response, _, index) => {
        const effort = effortIn(server?.bodies[index]);
        const isRefused = effort !== undefined && !efforts.includes(String(effort));
        const list = efforts.map((each) => `'${each}'`).join(", ");
        const error = isNamed
          ? {
              message: `Unsupported value: '${String(effort)}' is not supported with the 'm' model. Supported values are: ${list}.`,
              code: "unsupported_value",
              param,
            }
          : { message: `'${param}' does not support '${String(effort)}' with this model: ${list}.` };
        response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
        response.end(isRefused ? JSON.stringify({ error }) : SPOKEN[api].whole("ok"));
      });
    let server: Awaited<ReturnType<typeof having>> | undefined;
    const sent = async (...efforts: readonly ("minimal" | "low" | "high")[]): Promise<unknown[]> => {
      const model = client(server ?? { url: "" }, { api });
      for (const effort of efforts) await model.generate({ ...HELLO, reasoning: { effort } });
      return (server?.bodies ?? []).map(effortIn);
    };

    test.each([true, false])(
      "T10: is corrected alone; other efforts are sent on (named: %s)",
      async (isNamed) => {
        await using made = (server = await having(["none", "low", "high"], isNamed));
        expect(made.bodies).toEqual([]);
        expect(await sent("minimal", "high", "minimal")).toEqual(["minimal", "low", "high", "low"]);
      },
    );

    test("T10: is left out alone where there is nothing near it", async () => {
      await using made = (server = await having(["medium", "high"]));
      expect(made.bodies).toEqual([]);
      expect(await sent("low", "high", "low")).toEqual(["low", undefined, "high", undefined]);
    });
  });

  test("T10: where no shape can be demanded, the model is asked for it in words", async () => {
    await using server = await rawServer((response, _, index) => {
      response.writeHead(index === 0 ? 400 : 200, { "content-type": "application/json" });
      response.end(index === 0 ? JSON.stringify({ error: unsupported("text.format") }) : OK);
    });
    await client(server, { api: "responses" }).generate(request);
    expect(server.bodies[1]?.["input"]).toEqual([
      { role: "user", content: "hello" },
      { role: "system", content: expect.stringContaining('fits this JSON Schema:\n{"type":"object"') },
    ]);
  });

  test.each([
    ["the limit of the answer", unsupported("max_output_tokens")],
    ["the tools", unsupported("tools")],
    ["the input", unsupported("input")],
    ["a value out of range", { message: "temperature: 3 is above the maximum of 2", param: "temperature" }],
  ])("T10: %s is not corrected", async (_, error) => {
    await using server = await rawServer((response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error }));
    });
    const failed = await failureOf(client(server, { api: "responses" }).generate(request));
    expect(failed).toMatchObject({ kind: "FORMAT_ERROR", status: 400 });
    expect(server.bodies).toHaveLength(1);
  });
});

describe("which API is spoken", () => {
  const pathOf = async (options: OpenAIOptions): Promise<string> => {
    let path = "";
    const fetch: typeof globalThis.fetch = async (input) => {
      path = new URL(String(input)).pathname;
      return new Response(path.endsWith("/responses") ? OK : SPOKEN.chat.whole("ok"));
    };
    await openai("m", { apiKey: "k-123456", fetch, ...options }).generate(HELLO);
    return path;
  };

  test.each<[string, string, OpenAIOptions]>([
    ["OpenAI", "/v1/responses", {}],
    ["OpenAI by its URL", "/v1/responses", { baseURL: "https://api.openai.com/v1" }],
    ["OpenAI in a region", "/v1/responses", { baseURL: "https://eu.api.openai.com/v1/" }],
    ["OpenAI over chat", "/v1/chat/completions", { api: "chat" }],
    ["Ollama", "/v1/chat/completions", { baseURL: "http://127.0.0.1:11434/v1" }],
    ["a server that speaks both", "/v1/responses", { baseURL: "http://127.0.0.1:1234/v1", api: "responses" }],
    ["Azure", "/openai/v1/chat/completions", { baseURL: "https://x.openai.azure.com/openai/v1" }],
    [
      "Azure over responses",
      "/openai/v1/responses",
      { baseURL: "https://x.openai.azure.com/openai/v1", api: "responses" },
    ],
    ["a name that only looks like OpenAI's", "/v1/chat/completions", { baseURL: "https://notopenai.com/v1" }],
  ])("with %s", async (_, path, options) => {
    expect(await pathOf(options)).toBe(path);
  });

  test("with what OPENAI_BASE_URL names", async () => {
    vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1");
    const path = await pathOf({}).finally(() => vi.unstubAllEnvs());
    expect(path).toBe("/v1/chat/completions");
  });

  test.each([
    ["HTML", 404, "text/html", "<h1>Not found</h1>"],
    ["plain text", 404, "text/plain", "404 page not found"],
    ["a detail", 404, "application/json", '{"detail":"Not Found"}'],
    [
      "an error in words",
      404,
      "application/json",
      '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}',
    ],
    ["a method that is not allowed", 405, "application/json", '{"detail":"Method Not Allowed"}'],
  ])(
    "a server without the endpoint says %s, and the error says what to do",
    async (_, status, type, text) => {
      await using server = await rawServer(
        (response) => void response.writeHead(status, { "content-type": type }).end(text),
      );
      const error = await failureOf(client(server, { api: "responses" }).generate(HELLO));
      expect(error).toMatchObject({
        status,
        retryable: false,
        message: expect.stringContaining('api: "chat"'),
      });
      const other = await failureOf(client(server, { api: "chat" }).generate(HELLO));
      expect(other).toMatchObject({ message: expect.not.stringContaining('api: "chat"') });
      expect(other).toMatchObject({ message: expect.stringContaining("check that baseURL is the address") });
    },
  );

  test.each(["model 'm' not found", "unknown model: m"])(
    "a model that a server does not name by a code is not taken for it: %j",
    async (message) => {
      await using server = await rawServer(
        (response) =>
          void response
            .writeHead(404, { "content-type": "application/json" })
            .end(JSON.stringify({ error: { message } })),
      );
      for (const api of ["chat", "responses"] as const) {
        const error = await failureOf(client(server, { api }).generate(HELLO));
        expect(error).toMatchObject({ message: expect.stringMatching(/(?:found|: m)$/) });
      }
    },
  );

  test("a model that is not there is not taken for it", async () => {
    await using server = await loopbackOpenAI({ script: () => "ok", models: ["other"] });
    const chat = await failureOf(client(server, { api: "chat" }).generate(HELLO));
    expect(chat).toMatchObject({ message: expect.not.stringContaining("baseURL") });
    const error = await failureOf(client(server, { api: "responses" }).generate(HELLO));
    expect(error).toMatchObject({
      kind: "MODEL_NOT_FOUND",
      message: expect.not.stringContaining('api: "chat"'),
    });
  });
});
