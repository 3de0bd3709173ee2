import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { isRaviError, type ModelEvent } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { fromAiSdk } from "../src/index.ts";
import { ask, failureOf, FINISH, fixedModel, streamed } from "./support.ts";

const SECRET = "canary-4711-never-shown";

async function failingWith(error: unknown, options = {}) {
  const model = fixedModel({
    result: () => {
      throw error;
    },
  });
  const failure = await failureOf(fromAiSdk(model, options).generate(ask(`tell nobody: ${SECRET}`)));
  if (!isRaviError(failure, "PROVIDER_ERROR")) throw new Error("not a ProviderError", { cause: failure });
  return failure;
}

function apiError(more: object): APICallError {
  return new APICallError({
    message: "refused",
    url: `https://models.example/v1/${SECRET}?key=${SECRET}`,
    requestBodyValues: { prompt: SECRET },
    responseBody: `{"echo":"${SECRET}"}`,
    data: { error: { note: SECRET } },
    ...more,
  });
}

/** As OpenRouter passes on what the server behind it said. */
function behindGateway(raw: string): APICallError {
  const message = "Provider returned error";
  const data = { error: { message, code: 400, metadata: { raw, provider_name: "x" } } };
  return apiError({ statusCode: 400, message, data, responseBody: JSON.stringify(data) });
}

describe("O6: an error of the AI SDK", () => {
  test.each([
    [apiError({ statusCode: 400 }), "FORMAT_ERROR"],
    [apiError({ statusCode: 429, responseHeaders: { "Retry-After": "2" } }), "RATE_LIMIT"],
    [apiError({ statusCode: 429, data: { error: { code: "insufficient_quota" } } }), "BILLING"],
    [
      apiError({
        statusCode: 400,
        data: undefined,
        responseBody: '{"error":{"code":"context_length_exceeded"}}',
      }),
      "CONTEXT_OVERFLOW",
    ],
    [
      apiError({
        statusCode: 400,
        data: undefined,
        responseBody: '[{"error":{"message":"The input token count (2000) exceeds the maximum number"}}]',
      }),
      "CONTEXT_OVERFLOW",
    ],
    [behindGateway("This model's maximum context length is 8192 tokens"), "CONTEXT_OVERFLOW"],
    [apiError({ statusCode: 200, message: "Invalid JSON response" }), "SERVER_ERROR"],
    [
      apiError({
        isRetryable: true,
        message: "Cannot connect to API",
        cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }),
      }),
      "SERVER_ERROR",
    ],
    [new LoadAPIKeyError({ message: "no key" }), "AUTH"],
    [new NoSuchModelError({ modelId: "x", modelType: "languageModel" }), "MODEL_NOT_FOUND"],
    [new UnsupportedFunctionalityError({ functionality: "audio" }), "FORMAT_ERROR"],
    [new InvalidPromptError({ prompt: [], message: "no" }), "FORMAT_ERROR"],
    [new EmptyResponseBodyError(), "SERVER_ERROR"],
    [new JSONParseError({ text: "{", cause: new SyntaxError("no") }), "SERVER_ERROR"],
    [
      Object.assign(new TypeError("terminated"), {
        cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }),
      }),
      "SERVER_ERROR",
    ],
  ])("%s is known by its fields (%#)", async (error, kind) => {
    expect((await failingWith(error)).kind).toBe(kind);
  });

  test.each([
    ["openai", "OPENAI_API_KEY", () => createOpenAI()("gpt-5")],
    ["anthropic", "ANTHROPIC_API_KEY", () => createAnthropic()("claude")],
  ])("about a missing key says whose it is and what to do, like Ravi's own providers (%s)", async (...at) => {
    const [provider, variable, make] = at;
    vi.stubEnv(variable, undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    const failure = await failureOf(fromAiSdk(make()).generate(ask("hello")));
    expect(failure).toMatchObject({ code: "PROVIDER_ERROR", kind: "AUTH", retryable: false });
    expect(String(failure)).toMatch(
      new RegExp(
        `: apiKey is undefined; expected a key for ${provider}: set ${variable} in the environment, or pass the option apiKey, where the provider of the AI SDK is created$`,
        "i",
      ),
    );
  });

  test("about a key that is no text is left as it is", async () => {
    const message = "OpenAI API key must be a string.";
    expect((await failingWith(new LoadAPIKeyError({ message }))).message).toContain(message);
  });

  test("says when to try again", async () => {
    const error = await failingWith(
      apiError({ statusCode: 429, responseHeaders: { "retry-after-ms": "1500" } }),
    );
    expect([error.retryAfterMs, error.status, error.retryable]).toEqual([1_500, 429, true]);
  });

  test("says when to try again, also in the words of the body", async () => {
    const responseBody = '{"error":{"message":"Please retry in 17.3s"}}';
    const body = { statusCode: 429, data: undefined, responseBody };
    expect((await failingWith(apiError(body))).retryAfterMs).toBe(17_300);
    const responseHeaders = { "retry-after-ms": "1500" };
    expect((await failingWith(apiError({ ...body, responseHeaders }))).retryAfterMs).toBe(1_500);
  });

  test("says when to try again, also in details that the provider's own reading of the body leaves out", async () => {
    const message = "You exceeded your current quota, please check your plan.";
    const report = { code: 429, message, status: "RESOURCE_EXHAUSTED" };
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }];
    const body = {
      statusCode: 429,
      message,
      data: { error: report },
      responseBody: JSON.stringify({ error: { ...report, details } }),
    };
    expect(await failingWith(apiError(body))).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs: 34_400 });
  });

  test.each([
    ['{"detail":"Unauthorized"}', "Unauthorized"],
    ['{"object":"error","message":"too hot","code":"1300"}', "too hot"],
    ['{"detail":[{"msg":"no"}]}', "the model failed without an error message"],
    ["<html>", "the model failed without an error message"],
  ])(
    "without a message says what the body %s says, as of @ai-sdk/mistral 4.0.84",
    async (responseBody, said) => {
      const error = await failingWith(
        apiError({ statusCode: 401, message: "", data: undefined, responseBody }),
      );
      expect(error.message).toBe(`test/small: ${said}`);
    },
  );

  test("says what the server behind a gateway said, since the gateway's own words say nothing", async () => {
    const { message } = await failingWith(behindGateway("image 3 is broken"));
    expect(message).toBe("test/small: Provider returned error: image 3 is broken");
  });

  test("a mistake in a program is not tried again", async () => {
    const error = await failingWith(new TypeError("undefined is not a function"));
    expect([error.kind, error.retryable]).toEqual(["UNKNOWN", false]);
  });

  test.each([
    [{ type: "overloaded_error", message: "Overloaded" }, "OVERLOADED"],
    [{ type: "error", error: { type: "rate_limit_error", message: "slow down" } }, "RATE_LIMIT"],
    [{ message: "server_error", code: "500" }, "SERVER_ERROR"],
    [[{ error: { code: 429, message: "slow down" } }], "RATE_LIMIT"],
    ["boom", "SERVER_ERROR"],
    [undefined, "SERVER_ERROR"],
  ])("inside a stream, as %j, is %s", async (error, kind) => {
    const failure = await failureOf(streamed(fromAiSdk(fixedModel({ parts: [{ type: "error", error }] }))));
    expect(failure).toMatchObject({ code: "PROVIDER_ERROR", kind });
  });
});

describe("T13: an error", () => {
  test("shows neither the URL, nor the request, nor the answer", async () => {
    const error = await failingWith(apiError({ statusCode: 500, cause: apiError({ statusCode: 500 }) }));
    const shown =
      inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error) + String(error.stack);
    expect(shown).not.toContain(SECRET);
  });

  test("shows nothing of an answer that the provider could not read, which its error quotes", async () => {
    const unread = (): unknown => {
      try {
        return JSON.parse(SECRET);
      } catch (cause) {
        return cause;
      }
    };
    const quoting = [
      new TypeValidationError({ value: { text: SECRET }, cause: new Error("expected a number") }),
      new JSONParseError({ text: SECRET, cause: unread() }),
    ];
    for (const cause of quoting)
      for (const error of [cause, apiError({ statusCode: 200, message: "Invalid JSON response", cause })]) {
        const failure = await failingWith(error);
        expect(failure.kind).toBe("SERVER_ERROR");
        const shown = inspect(failure, { depth: Infinity, showHidden: true }) + JSON.stringify(failure);
        expect(shown).not.toContain(SECRET.slice(0, 6));
      }
  });

  test("is told at once, however long its message is and whatever is in it", async () => {
    const failure = await failingWith(new Error(', "'.repeat(100_000)));
    expect(failure.message.length).toBeLessThan(2_000);
  });

  test("shows no key of a shape that is known, and none that was named", async () => {
    const keys = [
      "sk-ant-api03-abcdefgh",
      "gsk_0123456789abcdef",
      "AIzaSyA0123456789_abcdefghijklmno",
      "Bearer abcdefghijk",
    ];
    const error = await failingWith(new Error(`you sent ${keys.join(" and ")}, and ${SECRET}`), {
      secrets: [SECRET],
    });
    for (const key of [...keys.map((each) => each.replace("Bearer ", "")), SECRET])
      expect(inspect(error)).not.toContain(key);
  });

  test("shows no header, and no word of one", async () => {
    const error = await failingWith(new Error(`not known: ${SECRET}`), {
      headers: { authorization: `Token ${SECRET}` },
    });
    expect(inspect(error)).not.toContain(SECRET);
  });
});

test("T10: a model that does not heed its signal is left all the same, when it is silent for too long", async () => {
  const clock = virtualClock();
  const model = fixedModel({ result: () => new Promise(() => undefined) });
  const failed = failureOf(fromAiSdk(model, { clock, idleTimeoutMs: 5_000 }).generate(ask("go")));
  await clock.advance(4_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await failed).toMatchObject({ kind: "TIMEOUT", retryable: true });
  expect(clock.pending).toBe(0);
});

test("T4: a stream that opens only after the call was given up is let go", async () => {
  const left = Promise.withResolvers<void>();
  const opening = Promise.withResolvers<{ stream: ReadableStream<unknown> }>();
  const model = { ...fixedModel(), doStream: () => opening.promise };
  const controller = new AbortController();
  const reading = async (): Promise<void> => {
    for await (const event of fromAiSdk(model).stream?.(ask("go"), { signal: controller.signal }) ?? [])
      throw new Error(event.type);
  };
  const failed = failureOf(reading());
  controller.abort("enough");
  expect(await failed).toMatchObject({ reason: "enough" });
  opening.resolve({ stream: new ReadableStream<unknown>({ cancel: () => left.resolve() }) });
  await expect(left.promise).resolves.toBeUndefined();
});

test("T4: a reader who stops early lets the stream go", async () => {
  const left = Promise.withResolvers<void>();
  const stream = new ReadableStream<unknown>({
    pull: (controller) => controller.enqueue({ type: "text-delta", id: "1", delta: "more" }),
    cancel: () => left.resolve(),
  });
  const model = { ...fixedModel(), doStream: async () => ({ stream }) };
  const { signal } = new AbortController();
  for await (const event of fromAiSdk(model).stream?.(ask("go"), { signal }) ?? []) {
    expect(event.type).toBe("text");
    break;
  }
  await expect(left.promise).resolves.toBeUndefined();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("T4: an abort between two events of one part ends the stream with it", async () => {
  const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: '{"at":"sky"}' };
  const controller = new AbortController();
  const { signal } = controller;
  const seen: ModelEvent[] = [];
  const read = async (): Promise<void> => {
    const client = fromAiSdk(fixedModel({ parts: [call, FINISH] }));
    for await (const event of client.stream?.(ask("go"), { signal }) ?? []) {
      seen.push(event);
      controller.abort("enough");
    }
  };
  expect(await failureOf(read())).toMatchObject({ code: "CANCELLED", reason: "enough" });
  expect(seen).toEqual([{ type: "toolCall", index: 0, id: "c", name: "look", delta: "" }]);
});

test("T4: the signal of a call that went well is not aborted at its end", async () => {
  const sdk = fixedModel({ parts: [FINISH] });
  await fromAiSdk(sdk).generate(ask("go"));
  await streamed(fromAiSdk(sdk));
  expect(sdk.seen.map(({ abortSignal }) => abortSignal?.aborted)).toEqual([false, false]);
});

test("T4: a thousand pieces cost one timer", async () => {
  const clock = virtualClock();
  let timers = 0;
  const counting = {
    now: clock.now,
    setTimer: (callback: () => void, delayMs: number) => {
      timers++;
      return clock.setTimer(callback, delayMs);
    },
  };
  const parts = [
    ...Array.from({ length: 1_000 }, () => ({ type: "text-delta", id: "1", delta: "x" })),
    FINISH,
  ];
  await streamed(fromAiSdk(fixedModel({ parts }), { clock: counting }));
  expect([timers, clock.pending]).toEqual([1, 0]);
});

describe("what is no model, or no option, is refused before anything is sent", () => {
  const wrong = (model: unknown, options?: unknown) => () =>
    Reflect.apply(fromAiSdk, undefined, [model, options]) as unknown;

  test("a name in place of a model", () => {
    expect(wrong("openai/gpt-5")).toThrow(
      /model is "openai\/gpt-5"; expected a language model of the AI SDK/,
    );
  });

  test("a version that is not known", () => {
    expect(wrong({ ...fixedModel(), specificationVersion: "v1" })).toThrow(/specificationVersion is "v1"/);
    expect(wrong(undefined)).toThrow(/model is/);
  });

  test("an option that is not known, without showing its value", () => {
    expect(wrong(fixedModel(), { apiKey: SECRET })).toThrow(/apiKey/);
    expect(wrong(fixedModel(), { apiKey: SECRET })).not.toThrow(new RegExp(SECRET));
    expect(wrong(fixedModel(), { idleTimeoutMs: 0 })).toThrow(/idleTimeoutMs/);
    expect(wrong(fixedModel(), Promise.resolve({}))).toThrow(/^fromAiSdk options is .* \(await it first\)/);
    expect(wrong(fixedModel(), { headers: { authorization: 5 } })).toThrow(/headers\.authorization is 5/);
    expect(wrong(fixedModel(), { headers: new Headers({ x: SECRET }) })).toThrow(/^headers is an object/);
    expect(wrong(fixedModel(), { secrets: SECRET })).toThrow(/^secrets is .*expected a list of strings/);
    expect(wrong(fixedModel(), { secrets: SECRET })).not.toThrow(new RegExp(SECRET));
    expect(wrong(fixedModel(), { secrets: [1] })).toThrow(/^secrets is/);
    expect(wrong(fixedModel(), { systemAnywhere: "no" })).toThrow(/^systemAnywhere is "no"/);
    expect(wrong(fixedModel(), { providerOptions: new Map() })).toThrow(/^providerOptions is a Map/);
    expect(wrong(fixedModel(), { logger: {} })).toThrow(/^fromAiSdk options\.logger/);
  });
});

test("T11: a request without messages is refused by name, streamed or not, and nothing is sent", async () => {
  const sdk = fixedModel();
  const model = fromAiSdk(sdk);
  const wrong = { messages: null } as never;
  const refusal = { code: "INVALID_VALUE", field: "request.messages" };
  expect(await failureOf(model.generate(wrong))).toMatchObject(refusal);
  expect(await failureOf(streamed(model, wrong))).toMatchObject(refusal);
  expect(sdk.seen).toHaveLength(0);
});
