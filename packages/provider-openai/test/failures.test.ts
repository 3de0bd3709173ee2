import { inspect } from "node:util";
import { errorToJSON, isRaviError, type LLMClient, type ProviderError } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { openai as openaiOf, type OpenAIOptions } from "@ravi/provider-openai";
import {
  type Api,
  APIS,
  chunk,
  client as clientOf,
  DONE,
  failureOf,
  frame,
  HELLO,
  rawServer,
  SPOKEN,
  streamed,
} from "./support.ts";

interface Refusal {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

describe.each(APIS)("over %s:", (api) => {
  const client = (server: { readonly url: string }, options: OpenAIOptions = {}): LLMClient =>
    clientOf(server, { api, ...options });
  const openai = (model: string, options: OpenAIOptions): LLMClient => openaiOf(model, { api, ...options });

  /** How generate and stream fail when the server refuses; both must be the same. */
  async function refusedWith({ status, body = "", headers = {} }: Refusal): Promise<ProviderError> {
    await using server = await rawServer((response) => {
      response.writeHead(status, { "content-type": "application/json", "x-request-id": "req-9", ...headers });
      response.end(body);
    });
    const model = client(server);
    const errors = [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))];
    expect(server.bodies).toHaveLength(2);
    const [first, second] = errors;
    if (!isRaviError(first, "PROVIDER_ERROR") || !isRaviError(second, "PROVIDER_ERROR")) throw first;
    expect([second.kind, second.status, second.retryable]).toEqual([
      first.kind,
      first.status,
      first.retryable,
    ]);
    expect(first).toMatchObject({ status, requestId: "req-9", provider: "openai", model: "test-model" });
    return first;
  }

  const body = (message: string, rest: object = {}): string =>
    JSON.stringify({ error: { message, ...rest } });

  describe("O6: what a status means", () => {
    test.each([
      [400, "FORMAT_ERROR", false],
      [401, "AUTH", false],
      [402, "BILLING", false],
      [403, "AUTH", false],
      [404, "MODEL_NOT_FOUND", false],
      [408, "TIMEOUT", true],
      [409, "SERVER_ERROR", true],
      [413, "CONTEXT_OVERFLOW", true],
      [422, "FORMAT_ERROR", false],
      [429, "RATE_LIMIT", true],
      [500, "SERVER_ERROR", true],
      [502, "SERVER_ERROR", true],
      [503, "OVERLOADED", true],
      [504, "TIMEOUT", true],
      [529, "OVERLOADED", true],
    ])("O6: %i is %s, tried once", async (status, kind, retryable) => {
      expect(await refusedWith({ status, body: body("no") })).toMatchObject({ kind, retryable });
    });

    test.each([
      ["an empty body", ""],
      ["HTML", "<html>Bad gateway</html>"],
      ["an error that is a string", '{"error":"busy"}'],
      ["a list", "[1]"],
      ["null", "null"],
    ])("O6: %s changes nothing of what a 502 means", async (_, text) => {
      expect(await refusedWith({ status: 502, body: text })).toMatchObject({
        kind: "SERVER_ERROR",
        retryable: true,
      });
    });

    test.each([600, 999])(
      "O6: %i, which is no status of HTTP, is told as the server said it",
      async (status) => {
        const error = await refusedWith({ status, body: body("request denied") });
        expect(error).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
        expect(error.message).toContain(`${status} request denied`);
      },
    );

    test("O6: what the server behind a gateway said is read, and told", async () => {
      const raw = body("This model's maximum context length is 10 tokens");
      const metadata = { raw, provider_name: "Somebody" };
      const error = await refusedWith({
        status: 400,
        body: body("Provider returned error", { code: 400, metadata }),
      });
      expect(error).toMatchObject({ kind: "CONTEXT_OVERFLOW", retryable: true });
      expect(error.message).toContain("maximum context length is 10 tokens");
    });

    test("O6: an empty account is not retried, though MiniMax reports it as a 500", async () => {
      const error = await refusedWith({
        status: 500,
        body: body("insufficient balance (1008)", { type: "api_error" }),
      });
      expect(error).toMatchObject({ kind: "BILLING", retryable: false });
    });

    test("O6: a rate limit is waited for until the limit that is used up is whole again, for at most a minute", async () => {
      const headers = {
        "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "8.64s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
      };
      const error = await refusedWith({ status: 429, body: body("Rate limit reached"), headers });
      expect(error).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs: 60_000 });
    });

    test.each([
      ["1741305600000", 27_000],
      ["1741305000000", 0],
      ["soon", undefined],
    ])(
      "O6: OpenRouter says only in the error when its limit is whole again: %s",
      async (reset, retryAfterMs) => {
        const headers = {
          "X-RateLimit-Limit": "20",
          "X-RateLimit-Remaining": "0",
          "X-RateLimit-Reset": reset,
        };
        const said = body("Rate limit exceeded: free-models-per-min. ", { code: 429, metadata: { headers } });
        await using server = await rawServer(
          (response) => void response.writeHead(429, { "content-type": "application/json" }).end(said),
        );
        const clock = virtualClock({ now: 1_741_305_573_000 });
        const error = await failureOf(client(server, { clock }).generate(HELLO));
        expect(error).toMatchObject({ kind: "RATE_LIMIT", retryable: true, retryAfterMs });
      },
    );

    test("O6: a quota that is used up is not retried", async () => {
      const error = await refusedWith({
        status: 429,
        body: body("You exceeded your current quota", { code: "insufficient_quota" }),
      });
      expect(error).toMatchObject({ kind: "BILLING", retryable: false });
    });

    test.each([
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      "prompt is too long: 210000 tokens > 200000 maximum",
      "Please reduce the length of the messages or completion.",
      "Input is too long for requested model.",
      "exceeds the model's maximum context length",
      "input length and `max_tokens` exceed context limit: input length 190000 exceeds the limit",
    ])("O6: a prompt that is too long, said as %j", async (message) => {
      expect(await refusedWith({ status: 400, body: body(message) })).toMatchObject({
        kind: "CONTEXT_OVERFLOW",
      });
    });

    test("O6: the code alone says it too; a limit per minute and a limit of the answer do not", async () => {
      const kindOf = async (status: number, text: string): Promise<string> =>
        (await refusedWith({ status, body: text })).kind;
      expect(await kindOf(400, body("no", { code: "context_length_exceeded" }))).toBe("CONTEXT_OVERFLOW");
      expect(await kindOf(429, body("Request too large: tokens per min (TPM) exceeded"))).toBe("RATE_LIMIT");
      expect(await kindOf(400, body("max_tokens is too large: 100000"))).toBe("FORMAT_ERROR");
      expect(await kindOf(400, body("blocked", { code: "content_filter" }))).toBe("CONTENT_BLOCKED");
    });

    test("a refused connection is worth another try", async () => {
      const server = await rawServer(() => undefined);
      await server[Symbol.asyncDispose]();
      expect(await failureOf(client(server).generate(HELLO))).toMatchObject({
        kind: "SERVER_ERROR",
        retryable: true,
        message: expect.stringContaining("ECONNREFUSED"),
      });
    });

    test("a mistake in a fetch of one's own is not tried again", async () => {
      const fetch = async (): Promise<Response> => {
        throw new TypeError("agent.dispatch is not a function");
      };
      const model = openai("m", { apiKey: "k-123456", fetch });
      expect(await failureOf(model.generate(HELLO))).toMatchObject({ kind: "UNKNOWN", retryable: false });
    });

    test("an error's body that never ends is read no further than needed", async () => {
      await using server = await rawServer((response) => {
        response.writeHead(500, { "content-type": "text/plain" });
        const more = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
        };
        response.on("drain", more);
        more();
      });
      const error = await failureOf(client(server).generate(HELLO));
      expect(error).toMatchObject({ kind: "SERVER_ERROR", status: 500 });
      await server.closed(1);
      expect(String(error).length).toBeLessThan(1_200);
    });
  });

  describe("Retry-After", () => {
    test("T10: it reaches the error", async () => {
      expect(await refusedWith({ status: 429, headers: { "retry-after": "3" } })).toMatchObject({
        retryAfterMs: 3_000,
      });
      expect(await refusedWith({ status: 429, headers: { "retry-after": "soon" } })).toMatchObject({
        retryAfterMs: undefined,
      });
    });
  });

  test("O6: Gemini's refusal, a list that says only in words how long to wait, is a rate limit", async () => {
    const message =
      "You exceeded your current quota, please check your plan and billing details.\nPlease retry in 17.3s.";
    const text = JSON.stringify([{ error: { code: 429, message, status: "RESOURCE_EXHAUSTED" } }]);
    const error = await refusedWith({ status: 429, body: text });
    expect(error).toMatchObject({ kind: "RATE_LIMIT", retryable: true, retryAfterMs: 17_300 });
    expect(error.message).toBe(`openai/test-model: 429 ${message}`);
  });

  test("O6: Gemini's refusal that says only in its details how long to wait is a rate limit", async () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" },
    ];
    const message = "You exceeded your current quota, please check your plan.";
    const text = JSON.stringify([{ error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details } }]);
    const error = await refusedWith({ status: 429, body: text });
    expect(error).toMatchObject({ kind: "RATE_LIMIT", retryable: true, retryAfterMs: 34_400 });
  });

  test("O6: a server that says whether to send a request again is obeyed", async () => {
    const told = (answer: string): Record<string, string> => ({ "x-should-retry": answer });
    expect(await refusedWith({ status: 429, headers: told("false") })).toMatchObject({ retryable: false });
    expect(await refusedWith({ status: 424, headers: told("true") })).toMatchObject({ retryable: true });
  });

  test("O6: a rate limit inside a stream says in words how long to wait", async () => {
    const error = { code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 23.03s." };
    await using server = await rawServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`);
    });
    expect(await failureOf(streamed(client(server)))).toMatchObject({
      kind: "RATE_LIMIT",
      retryAfterMs: 23_030,
    });
  });

  describe("T13: secrets", () => {
    const KEY = "canary-key-4711";
    const HEADER = "canary-header-4712";
    const QUERY = "canary-query-4713";
    const ALIEN = "sk-canaryALIEN4714";
    const CANARY = /canary/i;

    /** Everything that a log could show of an error. */
    const shown = (error: unknown): string => {
      const stacks: string[] = [];
      for (let at = error; at instanceof Error; at = at.cause) stacks.push(at.stack ?? "", at.message);
      return [
        inspect(error, { depth: 20, showHidden: true }),
        JSON.stringify(errorToJSON(error)),
        ...stacks,
      ].join("\n");
    };
    const secret = (port: number) =>
      openai("m", {
        baseURL: `http://127.0.0.1:${port}/v1?token=${QUERY}`,
        apiKey: KEY,
        headers: { "api-key": HEADER, "x-other": `Bearer ${HEADER}` },
      });
    const echo = JSON.stringify({
      error: {
        message: `Incorrect API key: ${KEY}, ${HEADER}, ?token=${QUERY}, Bearer ${ALIEN}, ${Buffer.from(KEY).toString("base64")}`,
        code: KEY,
        param: HEADER,
        type: QUERY,
      },
    });

    test.each([
      ["a refusal that quotes them", 401, "application/json", echo],
      [
        "a refusal that quotes them in capitals and encoded",
        401,
        "application/json",
        JSON.stringify({
          error: {
            message: `${KEY.toUpperCase()} ${HEADER.replaceAll("-", "%2d")}`,
            code: KEY.toUpperCase(),
          },
        }),
      ],
      ["a page that quotes them", 502, "text/html", `<p>${KEY} ${HEADER} ${QUERY} ${ALIEN}</p>`],
      ["an error in a stream", 200, "text/event-stream", `data: ${echo}\n\n`],
      [
        "a response that failed",
        200,
        "text/event-stream",
        `data: {"type":"response.failed","response":${echo}}\n\n`,
      ],
      [
        "an event that is an error",
        200,
        "text/event-stream",
        `event: error\ndata: {"type":"error","message":"${KEY} ${HEADER}","code":"${QUERY}"}\n\n`,
      ],
      ["a status that quotes them", 200, "application/json", `{"output":[],"status":"${KEY}"}`],
      ["an answer that is no JSON", 200, "application/json", `${KEY} ${HEADER} ${QUERY} ${ALIEN}`],
      ["an event that is no JSON", 200, "text/event-stream", `data: ${KEY} ${HEADER} ${QUERY} ${ALIEN}\n\n`],
      ["a redirect", 307, "text/plain", `to ${KEY}`],
    ])("T13: %s tells none of them", async (_, status, type, text) => {
      await using server = await rawServer((response) => {
        response.writeHead(status, {
          "content-type": type,
          "x-request-id": `req-${KEY}`,
          location: `http://127.0.0.1:9/?${QUERY}`,
        });
        response.end(text);
      });
      const model = secret(server.port);
      for (const error of [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))]) {
        expect(isRaviError(error, "PROVIDER_ERROR")).toBe(true);
        expect(shown(error)).not.toMatch(CANARY);
      }
      expect(inspect(model, { depth: 20, showHidden: true })).not.toMatch(CANARY);
      expect(server.headers[0]?.authorization).toBe(`Bearer ${KEY}`);
    });

    test("T13: nor does a broken connection, or a fetch that quotes its request", async () => {
      const gone = await rawServer(() => undefined);
      await gone[Symbol.asyncDispose]();
      expect(shown(await failureOf(secret(gone.port).generate(HELLO)))).not.toMatch(CANARY);
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const all = `${String(input)} ${JSON.stringify([...new Headers(init?.headers)])}`;
        throw Object.assign(new Error(all, { cause: new Error(all) }), { code: KEY, request: { all } });
      };
      const model = openai("m", {
        apiKey: KEY,
        headers: { "x-a": HEADER },
        baseURL: `http://a/?q=${QUERY}`,
        fetch,
      });
      expect(shown(await failureOf(model.generate(HELLO)))).not.toMatch(CANARY);
    });

    test("T13: nor does a wrong option", () => {
      const wrong = [
        () => openai("m", { baseURL: `http://user:${KEY}@host/v1` }),
        () => openai("m", { baseURL: `ftp://${KEY}` }),
        () => openai("m", { baseURL: KEY }),
        // @ts-expect-error a misspelt name
        () => openai("m", { apikey: KEY }),
      ];
      for (const make of wrong) {
        let error: unknown;
        try {
          make();
        } catch (thrown) {
          error = thrown;
        }
        expect(isRaviError(error, "INVALID_VALUE")).toBe(true);
        expect(shown(error)).not.toMatch(CANARY);
      }
    });

    test("T13: nor does a key that cannot be a header", async () => {
      const model = openai("m", { baseURL: "http://127.0.0.1:9", apiKey: `canary\n${KEY}` });
      const error = await failureOf(model.generate(HELLO));
      expect(error).toMatchObject({ code: "PROVIDER_ERROR", retryable: false });
      expect(shown(error)).not.toMatch(CANARY);
    });
  });

  describe("redirects", () => {
    test.each([301, 302, 303, 307, 308])(
      "T10: %i is not followed, so the key goes nowhere else",
      async (status) => {
        await using other = await rawServer((response) => void response.end("{}"));
        await using server = await rawServer((response) => {
          response.writeHead(status, { location: other.url });
          response.end();
        });
        const model = client(server, { headers: { "api-key": "canary-key" } });
        for (const error of [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))]) {
          expect(error).toMatchObject({ kind: "FORMAT_ERROR", status, retryable: false });
        }
        expect(other.headers).toHaveLength(0);
      },
    );

    test("T10: one that the platform hides, as browsers do, is not worth another try either", async () => {
      const model = openai("m", { apiKey: "k-123456", fetch: async () => Response.error() });
      expect(await failureOf(model.generate(HELLO))).toMatchObject({
        kind: "FORMAT_ERROR",
        retryable: false,
        message: expect.stringContaining("redirects are not followed"),
      });
    });
  });

  test("T11: a request without messages is refused by name, streamed or not, and nothing is sent", async () => {
    await using server = await rawServer((response) => void response.end("{}"));
    const model = client(server);
    const wrong = { messages: null } as never;
    const refusal = { code: "INVALID_VALUE", field: "request.messages" };
    expect(await failureOf(model.generate(wrong))).toMatchObject(refusal);
    expect(await failureOf(streamed(model, wrong))).toMatchObject(refusal);
    expect(server.bodies).toHaveLength(0);
  });
});

describe("O6: an error with a status inside an answer", () => {
  const error = { code: 502, message: "Provider disconnected" };
  const failed = { error, finish_reason: "error", message: { content: "half an ans" } };
  const usage = { prompt_tokens: 9, completion_tokens: 4_000 };
  const answered = async (body: string, api: Api = "chat"): Promise<unknown> => {
    await using server = await rawServer((response) => void response.end(body));
    return await failureOf(clientOf(server, { api }).generate(HELLO));
  };

  test.each<[string, string, Api]>([
    ["with what it took", JSON.stringify({ choices: [{ ...failed, message: null }], usage }), "chat"],
    ["beside what it took", JSON.stringify({ error, usage }), "chat"],
    ["after a part of it", JSON.stringify({ choices: [failed] }), "chat"],
    ["after a piece of it", chunk({ content: "half" }) + frame({ error }), "chat"],
    ["after a thought", chunk({ reasoning: "hm" }) + frame({ error }), "chat"],
    ["after an item of it", SPOKEN.responses.piece("half") + frame({ error }), "responses"],
  ])("is no refusal, which would cost nothing: %s", async (_, body, api) => {
    const failure = await answered(body, api);
    expect(failure).toMatchObject({ kind: "SERVER_ERROR", retryable: true, status: undefined });
    expect(failure).toHaveProperty("message", expect.stringContaining("Provider disconnected"));
  });

  test.each<[string, string]>([
    ["whole", JSON.stringify({ error })],
    ["streamed", frame({ error })],
  ])("is one where nothing was begun: %s", async (_, body) => {
    expect(await answered(body)).toMatchObject({ kind: "SERVER_ERROR", status: 502 });
  });
});

test("O6: a failure that OpenRouter tells only in the words of the server behind it is none of an empty answer", async () => {
  const ending = { delta: { content: "" }, finish_reason: "stop", native_finish_reason: "network_error" };
  await using server = await rawServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(frame({ choices: [{ index: 0, ...ending }] }) + DONE);
  });
  expect(await failureOf(streamed(clientOf(server)))).toMatchObject({
    kind: "SERVER_ERROR",
    retryable: true,
    message: "openai/test-model: the model failed: network_error",
  });
});
