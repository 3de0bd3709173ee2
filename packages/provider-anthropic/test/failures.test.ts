import { inspect } from "node:util";
import { errorToJSON, isRaviError, type ProviderError } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { anthropic } from "@ravi/provider-anthropic";
import { byteServer, client, failureOf, HELLO, streamed } from "./support.ts";

interface Refusal {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a refusal is told, which must be the same streamed or not, after one request each. */
async function refused({ status, body = "", headers = {} }: Refusal): Promise<ProviderError> {
  await using server = await byteServer((response) =>
    response
      .writeHead(status, { "content-type": "application/json", "request-id": "req-9", ...headers })
      .end(body),
  );
  const model = client(server);
  const [one, two] = [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))];
  expect(server.received).toHaveLength(2);
  if (!isRaviError(one, "PROVIDER_ERROR") || !isRaviError(two, "PROVIDER_ERROR")) throw one;
  expect([two.kind, two.status, two.retryable, two.message]).toEqual([
    one.kind,
    one.status,
    one.retryable,
    one.message,
  ]);
  expect(one).toMatchObject({ status, requestId: "req-9", provider: "anthropic", model: "test-model" });
  return one;
}

const said = (message: string, type = "invalid_request_error", rest: object = {}): string =>
  JSON.stringify({ type: "error", error: { type, message, ...rest }, request_id: "req-9" });

describe("O6: what a status means", () => {
  // The others are in the suite that all models pass.
  test.each([
    [409, "SERVER_ERROR", true],
    [422, "FORMAT_ERROR", false],
    [504, "TIMEOUT", true],
  ])("O6: %i is %s, tried once", async (status, kind, retryable) => {
    expect(await refused({ status, body: said("no", "some_error") })).toMatchObject({ kind, retryable });
  });

  test("O6: an empty account is not retried, though MiniMax reports it as a 500", async () => {
    const error = await refused({ status: 500, body: said("insufficient balance (1008)", "api_error") });
    expect(error).toMatchObject({ kind: "BILLING", retryable: false });
  });

  test("O6: a rate limit is waited for until the limit that is used up is whole again, for at most a minute", async () => {
    for (const [reset, retryAfterMs] of [
      ["2026-01-01T00:00:00Z", 0],
      ["2125-01-01T00:00:00Z", 60_000],
    ] as const) {
      const headers = {
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2126-01-01T00:00:00Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": reset,
      };
      const error = await refused({ status: 429, body: said("slow down", "rate_limit_error"), headers });
      expect(error).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs });
    }
  });

  test.each([
    ["an empty body", ""],
    ["HTML", "<html>Bad gateway</html>"],
    ["an error that is a string", '{"error":"busy"}'],
    ["a list", "[1]"],
    ["null", "null"],
  ])("O6: %s changes nothing of what a 502 means", async (_, body) => {
    const error = await refused({ status: 502, body });
    expect(error).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
    expect(error.message).not.toContain("baseURL");
  });

  test.each(["<html>Not found</html>", "", '{"detail":"Not Found"}'])(
    "O6: a 404 that Anthropic would not send (%j) says what to check",
    async (body) => {
      const { message } = await refused({ status: 404, body });
      expect(message).toContain("check that baseURL is the address");
      const model = await refused({ status: 404, body: said("model: claude-9", "not_found_error") });
      expect(model.message).not.toContain("baseURL");
      for (const gone of [
        "model 'claude-9' not found",
        "The model claude-9 does not exist",
        "unknown model: claude-9",
        "model claude-9 is unknown",
      ]) {
        const named = await refused({ status: 404, body: JSON.stringify({ error: gone }) });
        expect(named.message).toBe(`anthropic/test-model: ${gone}`);
      }
    },
  );

  test.each([600, 999])(
    "O6: %i, which is no status of HTTP, is told as the server said it",
    async (status) => {
      const error = await refused({ status, body: said("request denied", "some_error") });
      expect(error).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
      expect(error.message).toBe("anthropic/test-model: request denied");
    },
  );

  test("O6: a refusal without a word is told by its number", async () => {
    const { message } = await refused({ status: 999 });
    expect(message).toContain("999");
  });

  test.each([
    ["a detail", { detail: "prompt is too long: 10 tokens" }],
    ["a list", [{ error: { message: "prompt is too long: 10 tokens" } }]],
    ["details", { message: { detail: [{ msg: "prompt is too long: 10 tokens" }] } }],
  ])("O6: what a server says in a shape of its own, as %s, is understood", async (_, body) => {
    const error = await refused({ status: 400, body: JSON.stringify(body) });
    expect(error).toMatchObject({ kind: "CONTEXT_OVERFLOW", retryable: true });
    expect(error.message).toContain("prompt is too long");
  });

  test("O6: the message is what the server said, not its JSON", async () => {
    const { message } = await refused({ status: 400, body: said("max_tokens: Field required") });
    expect(message).toBe("anthropic/test-model: max_tokens: Field required");
  });

  test.each([
    [400, said("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.")],
    [400, said("You have reached your specified API usage limits. You will regain access on 2026-12-01.")],
    [403, said("no", "billing_error")],
    [429, said("no", "rate_limit_error", { details: { error_code: "enforced_spend_limit_reached" } })],
  ])("O6: money that is used up is not retried (%i)", async (status, body) => {
    expect(await refused({ status, body })).toMatchObject({ kind: "BILLING", retryable: false });
  });

  test("O6: a server that says whether to send a request again is obeyed", async () => {
    const told = (answer: string): Record<string, string> => ({ "x-should-retry": answer });
    const body = said("no", "some_error");
    expect(await refused({ status: 529, body, headers: told("false") })).toMatchObject({ retryable: false });
    expect(await refused({ status: 424, body, headers: told("true") })).toMatchObject({ retryable: true });
  });

  test("O6: a filter's verdict is told in words", async () => {
    const error = await refused({ status: 400, body: said("Output blocked by content filtering policy") });
    expect(error).toMatchObject({ kind: "CONTENT_BLOCKED", retryable: false });
  });

  test.each([
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens`",
    "Input is too long for requested model.",
    "This model's maximum context length is 8192 tokens",
    "Too many input tokens",
  ])("O6: a prompt that is too long, said as %j", async (message) => {
    const error = await refused({ status: 400, body: said(message) });
    expect(error).toMatchObject({ kind: "CONTEXT_OVERFLOW", retryable: true });
  });

  test("O6: what looks like it and is not", async () => {
    const kindOf = async (status: number, message: string): Promise<string> =>
      (await refused({ status, body: said(message) })).kind;
    const limit = "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens";
    expect(await kindOf(400, limit)).toBe("FORMAT_ERROR");
    const rate = "This request would exceed your organization's rate limit of 40,000 input tokens per minute";
    expect(await kindOf(429, rate)).toBe("RATE_LIMIT");
  });

  test("a refused connection is worth another try", async () => {
    const server = await byteServer(() => undefined);
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
    const failed = failureOf(anthropic("m", { apiKey: "k-123456", fetch }).generate(HELLO));
    expect(await failed).toMatchObject({
      kind: "UNKNOWN",
      retryable: false,
      message: expect.stringContaining("agent.dispatch"),
    });
  });

  test("a refusal is read where a body cannot be iterated, as in Safari", async () => {
    const fetch = async (): Promise<Response> => {
      const response = new Response(said("prompt is too long: 300000 tokens > 200000 maximum"), {
        status: 400,
      });
      Object.defineProperty(response.body, Symbol.asyncIterator, { value: undefined });
      return response;
    };
    const failed = failureOf(anthropic("m", { apiKey: "k-123456", fetch }).generate(HELLO));
    expect(await failed).toMatchObject({
      kind: "CONTEXT_OVERFLOW",
      message: expect.stringContaining("prompt is too long"),
    });
  });

  test("a refusal that never ends is read no further than needed", async () => {
    await using server = await byteServer((response) => {
      response.writeHead(500, { "content-type": "text/plain" });
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    const error = await failureOf(client(server).generate(HELLO));
    expect(error).toMatchObject({ kind: "SERVER_ERROR", status: 500 });
    await (
      await server.nth(0)
    ).over;
    expect(String(error).length).toBeLessThan(1_200);
  });
});

describe("Retry-After", () => {
  test("T10: it reaches the error", async () => {
    const error = await refused({ status: 529, headers: { "retry-after": "3" } });
    expect(error.retryAfterMs).toBe(3_000);
  });

  test("O6: it is understood in the details of an error of Google, whose quota comes back", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }];
    const message = "You exceeded your current quota, please check your plan.";
    const body = JSON.stringify([{ error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details } }]);
    expect(await refused({ status: 429, body })).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs: 34_400 });
  });
});

describe("T13: secrets", () => {
  const KEY = "canary-key-4711";
  const HEADER = "canary-header-4712";
  const QUERY = "canary-query-4713";
  const ALIEN = "sk-ant-canaryALIEN4714";
  const ALL = `${KEY} ${HEADER} ${QUERY} ${ALIEN}`;
  const CANARY = /canary/i;

  /** Everything that a log could show of an error. */
  const shown = (error: unknown): string => {
    const texts = [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(errorToJSON(error))];
    for (let at = error; at instanceof Error; at = at.cause) texts.push(at.stack ?? "", at.message, at.name);
    return texts.join("\n");
  };
  const secretive = (port: number) =>
    anthropic("m", {
      baseURL: `http://127.0.0.1:${port}/v1?token=${QUERY}`,
      apiKey: KEY,
      headers: { "x-proxy-key": HEADER, "x-other": `Bearer ${HEADER}` },
    });
  const quote = `invalid key: ${ALL}, Bearer ${ALIEN}, ${Buffer.from(KEY).toString("base64")}, ?token=${QUERY}`;
  const echo = said(quote, KEY, { details: { error_code: HEADER }, code: QUERY });

  test.each([
    ["a refusal that quotes them", 401, "application/json", echo],
    ["a page that quotes them", 502, "text/html", `<p>${ALL}</p>`],
    ["an error in a stream", 200, "text/event-stream", `event: error\ndata: ${echo}\n\n`],
    ["an error that is no JSON", 200, "text/event-stream", `event: error\ndata: ${ALL}\n\n`],
    ["an answer that is no JSON", 200, "application/json", ALL],
    ["an event that is no JSON", 200, "text/event-stream", `data: ${ALL}\n\n`],
    ["a redirect", 307, "text/plain", ALL],
  ])("T13: %s tells none of them", async (_, status, type, body) => {
    await using server = await byteServer((response) =>
      response
        .writeHead(status, {
          "content-type": type,
          "request-id": `req-${KEY}`,
          location: `http://127.0.0.1:9/?${QUERY}`,
        })
        .end(body),
    );
    const model = secretive(server.port);
    for (const error of [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))]) {
      expect(isRaviError(error, "PROVIDER_ERROR")).toBe(true);
      expect(shown(error)).not.toMatch(CANARY);
    }
    expect(inspect(model, { depth: 20, showHidden: true })).not.toMatch(CANARY);
    const [first] = server.received;
    expect(first?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(first?.path).toBe(`/v1/messages?token=${QUERY}`);
  });

  test("T13: nor does a broken connection, or a fetch that quotes its request", async () => {
    const gone = await byteServer(() => undefined);
    await gone[Symbol.asyncDispose]();
    expect(shown(await failureOf(secretive(gone.port).generate(HELLO)))).not.toMatch(CANARY);
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const all = `${String(input)} ${JSON.stringify([...new Headers(init?.headers)])}`;
      throw Object.assign(new Error(all, { cause: new Error(all) }), {
        code: KEY,
        name: KEY,
        request: { all },
      });
    };
    const model = anthropic("m", {
      apiKey: KEY,
      headers: { "x-a": HEADER },
      baseURL: `http://a/?q=${QUERY}`,
      fetch,
    });
    expect(shown(await failureOf(model.generate(HELLO)))).not.toMatch(CANARY);
  });

  test("T13: nor does a wrong option", () => {
    const wrong = [
      () => anthropic("m", { baseURL: `http://user:${KEY}@host` }),
      () => anthropic("m", { baseURL: `ftp://${KEY}` }),
      () => anthropic("m", { baseURL: KEY }),
      // @ts-expect-error a misspelt name
      () => anthropic("m", { apikey: KEY }),
    ];
    for (const make of wrong) {
      const error = thrownBy(make);
      expect(isRaviError(error, "INVALID_VALUE")).toBe(true);
      expect(shown(error)).not.toMatch(CANARY);
    }
  });

  test("T13: nor does a key that cannot be a header", async () => {
    const model = anthropic("m", { baseURL: "http://127.0.0.1:9", apiKey: `canary\n${KEY}` });
    const error = await failureOf(model.generate(HELLO));
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", retryable: false });
    expect(shown(error)).not.toMatch(CANARY);
  });
});

describe("redirects", () => {
  test.each([301, 302, 303, 307, 308])(
    "T10: %i is not followed, so the key goes nowhere else",
    async (status) => {
      await using other = await byteServer((response) => response.end("{}"));
      await using server = await byteServer((response) =>
        response.writeHead(status, { location: other.url }).end(),
      );
      const model = client(server, { headers: { "x-api-key": "canary-key" } });
      for (const error of [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))]) {
        expect(error).toMatchObject({ kind: "FORMAT_ERROR", status, retryable: false });
      }
      expect(other.received).toHaveLength(0);
    },
  );
});

function thrownBy(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

test("T11: a request without messages is refused by name, streamed or not, and nothing is sent", async () => {
  await using server = await byteServer((response) => response.end("{}"));
  const model = client(server);
  const wrong = { messages: null } as never;
  const refusal = { code: "INVALID_VALUE", field: "request.messages" };
  expect(await failureOf(model.generate(wrong))).toMatchObject(refusal);
  expect(await failureOf(streamed(model, wrong))).toMatchObject(refusal);
  expect(server.received).toHaveLength(0);
});
