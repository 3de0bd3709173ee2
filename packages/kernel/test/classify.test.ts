import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CancellationError,
  BudgetExhaustedError,
  classifyError,
  ErrorKind,
  errorFromJSON,
  errorToJSON,
  isRetryableKind,
  ProviderError,
  SuspendedError,
} from "@ravi/kernel";

const http = (
  status: number,
  body: { message?: string; code?: string; type?: string; details?: unknown; metadata?: unknown } = {},
): unknown => Object.assign(new Error(`${status} ${body.message ?? ""}`), { status, error: body });

class OwnTypeError extends TypeError {
  override readonly name = "OwnTypeError";
}

class OwnRangeError extends RangeError {
  override readonly name = "OwnRangeError";
}

describe("O6: classifyError", () => {
  test("O6: the kinds, and which of them are worth another try", () => {
    expect(Object.keys(ErrorKind).filter((kind) => isRetryableKind(kind as ErrorKind))).toEqual([
      "RATE_LIMIT",
      "OVERLOADED",
      "SERVER_ERROR",
      "TIMEOUT",
      "CONTEXT_OVERFLOW",
      "UNKNOWN",
    ]);
    expect(Object.keys(ErrorKind).filter((kind) => !isRetryableKind(kind as ErrorKind))).toEqual([
      "AUTH",
      "AUTH_PERMANENT",
      "BILLING",
      "MODEL_NOT_FOUND",
      "CONTENT_BLOCKED",
      "FORMAT_ERROR",
    ]);
  });

  test.each<[string, unknown, ErrorKind]>([
    ["429", http(429), "RATE_LIMIT"],
    ["429 quota by code", http(429, { code: "insufficient_quota" }), "BILLING"],
    ["429 quota by words", http(429, { message: "You exceeded your current quota" }), "BILLING"],
    [
      "429 quota in the words of Moonshot",
      http(429, { type: "exceeded_current_quota_error", message: "Your account is suspended" }),
      "BILLING",
    ],
    [
      "429 quota in the words of Z.ai",
      http(429, { code: "1113", message: "Insufficient balance" }),
      "BILLING",
    ],
    [
      "400 of Alibaba, whose account is in arrears",
      http(400, {
        code: "Arrearage",
        message: "Access denied, please make sure your account is in good standing.",
      }),
      "BILLING",
    ],
    [
      "403 of xAI, whose credits are used up",
      http(403, {
        code: "The caller does not have permission to execute the specified operation",
        message:
          "Your team has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.",
      }),
      "BILLING",
    ],
    [
      "400 of Alibaba about what a prompt contains",
      http(400, {
        code: "data_inspection_failed",
        message: "Input data may contain inappropriate content.",
      }),
      "CONTENT_BLOCKED",
    ],
    ["400 of DeepSeek about it", http(400, { message: "Content Exists Risk" }), "CONTENT_BLOCKED"],
    [
      "400 of OpenRouter about a model that it has not",
      http(400, { message: "foo/bar is not a valid model ID" }),
      "MODEL_NOT_FOUND",
    ],
    [
      "400 of LM Studio about the context",
      http(400, {
        message:
          "Reached context length of 4096 tokens with model (arch: llama) that does not currently support mid-generation context overflow.",
      }),
      "CONTEXT_OVERFLOW",
    ],
    [
      "Groq's 429, which advertises a page about billing",
      http(429, {
        code: "rate_limit_exceeded",
        message:
          "Rate limit reached. Please try again in 4.77s. Need more? https://console.groq.com/settings/billing",
      }),
      "RATE_LIMIT",
    ],
    [
      "a 429 that advertises the same without a time",
      http(429, { code: "rate_limit_exceeded", message: "Add a payment method: /account/billing" }),
      "RATE_LIMIT",
    ],
    [
      "a 429 of a limit that an hour ends",
      http(429, { message: "you've reached your hourly usage limit" }),
      "RATE_LIMIT",
    ],
    [
      "Gemini's 429, which calls every limit a quota",
      http(429, {
        message:
          "You exceeded your current quota, please check your plan and billing details.\nPlease retry in 17.3s.",
      }),
      "RATE_LIMIT",
    ],
    [
      "Gemini's 429, which says only in its details when to try again",
      http(429, { message: "You exceeded your current quota", details: [null, { retryDelay: "34.4s" }] }),
      "RATE_LIMIT",
    ],
    [
      "Gemini's 400 for a wrong key",
      http(400, { message: "API key not valid. Please pass a valid one." }),
      "AUTH",
    ],
    ["xAI's 400 for a wrong key", http(400, { message: "Incorrect API key provided: k***." }), "AUTH"],
    ["a gateway's 500 about its own wrong key", http(500, { message: "invalid API key" }), "SERVER_ERROR"],
    [
      "a 400 about the key of an object",
      http(400, { message: "invalid key 'x' in api_key_map" }),
      "FORMAT_ERROR",
    ],
    [
      "xAI's 403 of an account without money",
      http(403, { message: "Your newly created team doesn't have any credits yet." }),
      "BILLING",
    ],
    ["503", http(503), "OVERLOADED"],
    ["529", http(529, { type: "overloaded_error" }), "OVERLOADED"],
    ["500", http(500), "SERVER_ERROR"],
    ["502", http(502), "SERVER_ERROR"],
    ["408", http(408), "TIMEOUT"],
    ["504", http(504), "TIMEOUT"],
    ["524 of Cloudflare", http(524), "TIMEOUT"],
    ["409, a lock that another request holds", http(409), "SERVER_ERROR"],
    ["425", http(425), "SERVER_ERROR"],
    ["498, Groq's word for a tier that is full", http(498, { code: "capacity_exceeded" }), "OVERLOADED"],
    ["401", http(401, { code: "invalid_api_key" }), "AUTH"],
    ["403", http(403), "AUTH"],
    ["401 for good", http(401, { message: "this account has been deactivated" }), "AUTH_PERMANENT"],
    ["402", http(402), "BILLING"],
    ["404", http(404, { code: "model_not_found" }), "MODEL_NOT_FOUND"],
    ["413", http(413), "CONTEXT_OVERFLOW"],
    ["422 overflow", http(422, { code: "context_length_exceeded" }), "CONTEXT_OVERFLOW"],
    ["a socket time-out in an answer", http(200, { code: "ETIMEDOUT" }), "TIMEOUT"],
    ["400", http(400, { message: "'messages' is required" }), "FORMAT_ERROR"],
    ["422", http(422), "FORMAT_ERROR"],
    ["400 filter", http(400, { code: "content_filter" }), "CONTENT_BLOCKED"],
    ["400 policy", http(400, { code: "content_policy_violation" }), "CONTENT_BLOCKED"],
    [
      "an error event in a stream",
      { error: { type: "overloaded_error", message: "Overloaded" } },
      "OVERLOADED",
    ],
    ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), "SERVER_ERROR"],
    [
      "fetch's own",
      new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
      "SERVER_ERROR",
    ],
    ["a socket time-out", Object.assign(new Error("x"), { code: "ETIMEDOUT" }), "TIMEOUT"],
    ["money as 400", http(400, { message: "Your credit balance is too low to access the API" }), "BILLING"],
    ["money as 403", http(403, { message: "You have reached your specified API usage limits" }), "BILLING"],
    ["a tool named billing", http(400, { message: "Invalid schema for function 'billing'" }), "FORMAT_ERROR"],
    [
      "a filter in words",
      http(400, { type: "invalid_request_error", message: "Output blocked by content filtering policy" }),
      "CONTENT_BLOCKED",
    ],
    [
      "a setting about safety",
      http(400, { message: "Unknown parameter: 'safety_identifier'" }),
      "FORMAT_ERROR",
    ],
    ["a call that the model got wrong", http(400, { code: "tool_use_failed" }), "SERVER_ERROR"],
    [
      "an answer whose shape the model got wrong, in a stream",
      { error: { type: "invalid_request_error", code: "json_validate_failed", message: "no" } },
      "SERVER_ERROR",
    ],
    [
      "a gateway's moderation",
      http(403, { message: "The model requires moderation and your input was flagged" }),
      "CONTENT_BLOCKED",
    ],
    [
      "a refusal of Amazon's client",
      Object.assign(new Error("Too many requests"), {
        name: "ThrottlingException",
        $metadata: { httpStatusCode: 429 },
      }),
      "RATE_LIMIT",
    ],
    [
      "a refusal of Amazon's client under status 400",
      Object.assign(new Error("Too many tokens, please wait before trying again."), {
        name: "ThrottlingException",
        $metadata: { httpStatusCode: 400 },
      }),
      "RATE_LIMIT",
    ],
    ["the same inside a stream", { name: "throttlingException", message: "Too many requests" }, "RATE_LIMIT"],
    [
      "a model of Amazon that failed",
      Object.assign(new Error("The model failed. Retry your request."), {
        name: "ModelStreamErrorException",
        $metadata: { httpStatusCode: 424 },
      }),
      "SERVER_ERROR",
    ],
    ["424", http(424), "SERVER_ERROR"],
    [
      "a prompt that is too long for Amazon",
      Object.assign(new Error("Input is too long for requested model."), {
        name: "ValidationException",
        $metadata: { httpStatusCode: 400 },
      }),
      "CONTEXT_OVERFLOW",
    ],
    ["a gateway's code", { error: { code: 429, message: "upstream" } }, "RATE_LIMIT"],
    [
      "a prompt that is too long for the server behind a gateway",
      http(400, { message: "Provider returned error", metadata: { raw: "prompt is too long: 9 > 8" } }),
      "CONTEXT_OVERFLOW",
    ],
    ["a gateway's code as text", { error: { code: "502", message: "upstream" } }, "SERVER_ERROR"],
    [
      "a wrapped refusal",
      new Error("it failed", { cause: new Error("again", { cause: http(429) }) }),
      "RATE_LIMIT",
    ],
    [
      "a wrapped error of Ravi's",
      new Error("it failed", { cause: new ProviderError({ kind: "TIMEOUT", message: "m" }) }),
      "TIMEOUT",
    ],
    [
      "a time-out under fetch's own",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error(), { code: "UND_ERR_HEADERS_TIMEOUT" }),
      }),
      "TIMEOUT",
    ],
    ["something else", new Error("what?"), "UNKNOWN"],
    ["not an error", "text", "UNKNOWN"],
  ])("O6: %s", (_, error, kind) => {
    const classified = classifyError(error);
    expect(classified.kind).toBe(kind);
    expect(classified.retryable).toBe(isRetryableKind(kind));
  });

  test.each<[string, ErrorKind]>([
    ["overloaded_error", "OVERLOADED"],
    ["slow_down", "OVERLOADED"],
    ["rate_limit_error", "RATE_LIMIT"],
    ["rate_limit_exceeded", "RATE_LIMIT"],
    ["authentication_error", "AUTH"],
    ["invalid_api_key", "AUTH"],
    ["permission_error", "AUTH"],
    ["billing_error", "BILLING"],
    ["insufficient_quota", "BILLING"],
    ["not_found_error", "MODEL_NOT_FOUND"],
    ["model_not_found", "MODEL_NOT_FOUND"],
    ["request_too_large", "CONTEXT_OVERFLOW"],
    ["context_length_exceeded", "CONTEXT_OVERFLOW"],
    ["timeout_error", "TIMEOUT"],
    ["conflict_error", "SERVER_ERROR"],
    ["exceeded_current_quota_error", "BILLING"],
    ["insufficient_balance_error", "BILLING"],
    ["api_error", "SERVER_ERROR"],
    ["server_error", "SERVER_ERROR"],
    ["internal_server_error", "SERVER_ERROR"],
    ["invalid_request_error", "FORMAT_ERROR"],
    ["invalid_encrypted_content", "FORMAT_ERROR"],
    ["unsupported_image_media_type", "FORMAT_ERROR"],
    ["image_parse_error", "FORMAT_ERROR"],
    ["invalid_prompt", "CONTENT_BLOCKED"],
    ["bio_policy", "CONTENT_BLOCKED"],
  ])("O6: %s without a status, as a stream reports it, is %s", (word, kind) => {
    const expected = { kind, status: undefined, retryable: isRetryableKind(kind) };
    expect(classifyError({ error: { type: word, message: "m" } })).toMatchObject(expected);
    expect(classifyError({ error: { type: "invalid_request_error", code: word } }).kind).toBe(kind);
  });

  test.each([
    "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.",
    "Your account is not active, please check your billing settings.",
    "You have reached your specified billing limit",
    "You have run out of credits. Add credits in billing.",
    "insufficient_balance: top up",
    "Your team has either used all available credits or reached its monthly spending limit.",
    "The billing account has exceeded its monthly spending cap",
    "This request would exceed your account's monthly spend limit",
    "Your credits are exhausted: https://example.com/top-up",
  ])("O6: a 429 that says %j is about money, and is not sent again", (message) => {
    expect(classifyError(http(429, { message }))).toMatchObject({ kind: "BILLING", retryable: false });
  });

  test("O6: a 500 that says that the balance is insufficient, as MiniMax does, is about money; other 500s are not", () => {
    const error = (message: string) => ({ type: "api_error", message });
    const money = { kind: "BILLING", retryable: false };
    expect(classifyError(http(500, error("insufficient balance (1008)")))).toMatchObject({
      ...money,
      status: 500,
    });
    expect(classifyError({ error: error("insufficient balance (1008)") })).toMatchObject(money);
    for (const message of ["insufficient memory", "unknown error (1000)", "could not write to billing"])
      expect(classifyError(http(500, error(message)))).toMatchObject({
        kind: "SERVER_ERROR",
        retryable: true,
      });
  });

  test.each([
    "Rate limit reached. Need more tokens? Upgrade at https://console.groq.com/settings/billing",
    "Too many requests: see console.groq.com/settings/billing/plans",
    "Too many requests: see https://example.com/account?page=billing",
    "You are out of credits for this minute. Try again in 20s.",
  ])("O6: a 429 that says %j passes by itself", (message) => {
    expect(classifyError(http(429, { message })).kind).toBe("RATE_LIMIT");
  });

  test.each<[string, number | undefined]>([
    ["Rate limit reached for gpt-x. Please try again in 23.03s. Visit our pages to learn more.", 23_030],
    ["Please try again in 458ms.", 458],
    ["Limit 100000, Used 97050. Please try again in 9m38.016s. Need more tokens?", 578_016],
    ["Please try again in 1h2m3s", 3_723_000],
    ["* Quota exceeded for metric: requests\nPlease retry in 17.30897372s.", 17_309],
    ["exceeded the token rate limit. Please retry after 45 seconds.", 45_000],
    ["Rate limit is exceeded. Try again in 1 minute.", 60_000],
    ["Please try again in 1h30min.", 5_400_000],
    ["Please try again in 1 minute and 30 seconds.", 90_000],
    ["Please try again in 1 hour, 2 minutes, and 3 seconds.", 3_723_000],
    ["Please retry after 5 min", 300_000],
    ["Please retry after 30 sec", 30_000],
    ["Please retry after 2 hrs", 7_200_000],
    ["Please try again in 1d2h", 93_600_000],
    ["Please try again in 3 days", 259_200_000],
    ["Please try again in 0.2ms", 1],
    ["Please try again in 4.077s", 4_077],
    ["Please try again in a while", undefined],
    ["try again in 3 dogs", undefined],
    ["try again in 3 parts", undefined],
    ["try again in 3", undefined],
    [`try again in ${"9".repeat(400)}s`, undefined],
  ])("O6: a rate limit that says %j is to be waited for as long as that", (message, retryAfterMs) => {
    expect(classifyError(http(429, { message }))).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs });
    expect(classifyError({ error: { code: "rate_limit_exceeded", message } })).toMatchObject({
      kind: "RATE_LIMIT",
      retryAfterMs,
    });
    expect(classifyError(http(503, { message })).retryAfterMs).toBeUndefined();
  });

  test.each([
    [[{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }], 34_400],
    [[{ "@type": "type.googleapis.com/google.rpc.QuotaFailure" }, { retryDelay: "0.5s" }], 500],
    [[{ retryDelay: 34 }], undefined],
    [[{ retryDelay: "soon" }], undefined],
    [{ retryDelay: "3s" }, undefined],
    ["3s", undefined],
  ])("O6: a rate limit with the details %j is to be waited for %s ms", (details, retryAfterMs) => {
    expect(classifyError(http(429, { details }))).toMatchObject({ kind: "RATE_LIMIT", retryAfterMs });
  });

  test("O6: what Amazon's client says of a wrong key is final", () => {
    const error = Object.assign(new Error("no"), {
      name: "AccessDeniedException",
      $metadata: { httpStatusCode: 403 },
    });
    expect(classifyError(error)).toMatchObject({ kind: "AUTH", status: 403, retryable: false });
  });

  test("O6: a chain of causes that closes on itself ends", () => {
    const error = new Error("what?");
    error.cause = error;
    expect(classifyError(error).kind).toBe("UNKNOWN");
  });

  const overflows = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: input length 190000 exceeds 180000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
    "Your input exceeds the context window of this model",
    "Please reduce the length of the messages or completion",
    "the request exceeds the model's maximum context",
    "Input is too long for requested model",
    "Requested token count exceeds the model's maximum context length",
    "too many tokens: 9000 > 8192",
    "prompt is larger than the maximum context size",
    "context window exceeded",
    "context_length_exceeded",
    "too many input tokens",
    "input too large for this model",
    "Please shorten the length of your prompt",
    "model_context_window_exceeded",
    "token limit of 8192 exceeded",
    "string_above_max_length",
    "the prompt exceeds maximum context",
    "the request exceeds the available context size",
    // xAI, LM Studio, MiniMax, Kimi, Ollama, OpenAI, Qwen, TGI, vLLM, Z.ai, Together
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "the model is loaded with context length of only 4096 tokens, which is not enough",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 262144 (requested: 291351)",
    "prompt too long; exceeded max context length by 4 tokens",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "Range of input length should be [1, 129024]",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "Prompt exceeds max length",
    "prompt length exceeds the maximum",
    "The prompt is longer than the model's context size",
    "Context limit exceeded",
    "context size exceeded",
    "tokens in request more than max tokens allowed",
    "request too large: exceeds model context window",
    "The total number of tokens exceeds the model's limit of 128000",
  ];
  test.each(overflows)("O6: a prompt that is too long, in the words %j", (message) => {
    expect(classifyError(http(400, { message })).kind).toBe("CONTEXT_OVERFLOW");
  });

  test.each([
    [429, "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000", "RATE_LIMIT"],
    [
      400,
      "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
      "FORMAT_ERROR",
    ],
    [400, "max_output_tokens must be at least 16", "FORMAT_ERROR"],
    [400, "max_completion_tokens exceeds the model's maximum of 16384", "FORMAT_ERROR"],
    [400, "Invalid 'tools': array too long. Expected an array with maximum length 128", "FORMAT_ERROR"],
    [400, "ThrottlingException: Too many tokens, please wait before trying again.", "FORMAT_ERROR"],
    [400, "the context parameter is not allowed", "FORMAT_ERROR"],
    [500, "maximum context length could not be determined", "SERVER_ERROR"],
  ])("O6: %i %j only looks like one", (status, message, kind) => {
    expect(classifyError(http(status, { message })).kind).toBe(kind);
  });

  test("O6: a ProviderError says it itself", () => {
    const error = new ProviderError({ kind: "RATE_LIMIT", message: "m", status: 429, retryAfterMs: 1500 });
    expect(classifyError(error)).toEqual({
      kind: "RATE_LIMIT",
      retryable: true,
      status: 429,
      retryAfterMs: 1500,
    });
    expect(
      classifyError(new ProviderError({ kind: "UNKNOWN", message: "m", retryable: false })).retryable,
    ).toBe(false);
  });

  test("O6: what cannot be looked at is unknown, and not tried again", () => {
    const getter = Object.defineProperty(new Error("no"), "status", {
      get(): never {
        throw new Error("getter");
      },
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const error of [getter, proxy, new Error("wrapped", { cause: getter })])
      expect(classifyError(error)).toMatchObject({ kind: "UNKNOWN", retryable: false });
  });

  test("O6: a program's mistake, a cancellation and a refusal are never tried again", () => {
    const broken = [
      new TypeError("x is not a function"),
      new ReferenceError("x is not defined"),
      new RangeError("stack"),
      new SyntaxError("unexpected"),
      new OwnTypeError("x is not a function"),
      new OwnRangeError("stack"),
      new CancellationError({ reason: "user" }),
      new Error("the client failed", { cause: new CancellationError({ reason: "user" }) }),
      new Error("the client failed", { cause: new TypeError("x is not a function") }),
      new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "a" }),
      new SuspendedError({ reason: "closed" }),
      // Also where somebody took it for the provider's.
      new ProviderError({
        kind: "SERVER_ERROR",
        message: "m",
        cause: new SuspendedError({ reason: "closed" }),
      }),
    ];
    for (const error of broken)
      expect(classifyError(error)).toMatchObject({ kind: "UNKNOWN", retryable: false });
  });
});

describe("T6: an error of a provider's own client, read back from a record", () => {
  const named = (name: string, fields: object): Error =>
    Object.assign(new Error("it failed"), { name, ...fields });
  const cases: readonly (readonly [string, unknown])[] = [
    ["a status", named("APIError", { status: 401 })],
    ["a status under another name", named("E", { response: { status: 404 } })],
    ["the server's own type", named("E", { error: { type: "overloaded_error" } })],
    ["a code", named("E", { code: "ECONNRESET" })],
    ["a code of a prompt that is too long", http(400, { code: "context_length_exceeded" })],
    ["a cause", new Error("wrapped", { cause: named("E", { status: 402 }) })],
    ["a broken connection", new TypeError("fetch failed", { cause: named("E", { code: "ECONNREFUSED" }) })],
    ["a bug", new RangeError("too many")],
    ["a bug inside", new Error("wrapped", { cause: new ReferenceError("x") })],
    ["no error at all", "fetch failed"],
    ["the server's own words", { status: 400, error: { message: "the maximum context length is 8192" } }],
    ["a quota in its words", { status: 429, error: { message: "You exceeded your current quota" } }],
    ["a wait in its words", { status: 429, error: { message: "Please try again in 20s" } }],
    ["the server's own name", { status: 400, error: { name: "ThrottlingException" } }],
    ["a code of several words", { code: "credit balance is too low" }],
    [
      "a getter that throws",
      Object.defineProperty(named("E", { code: "ECONNRESET" }), "status", {
        get() {
          throw new Error("no");
        },
      }),
    ],
    [
      "a provider's error inside",
      new Error("wrapped", { cause: new ProviderError({ kind: "AUTH", message: "m" }) }),
    ],
  ];
  test.each(cases)(
    "T6: with %s, it is classified as it was before: a replayed run decides the same",
    (_, error) => {
      const before = classifyError(error);
      const back = errorFromJSON(JSON.parse(JSON.stringify(errorToJSON(error))));
      expect(classifyError(back)).toEqual(before);
    },
  );

  test("T6: so is any error, however it is made, wrapped and recorded again", () => {
    const text = fc.constantFrom(
      "it failed",
      "fetch failed",
      "prompt is too long",
      "rate limit",
      "rate_limit_error",
      "You exceeded your current quota",
      "Please try again in 20s",
      "ThrottlingException",
      "content_filter",
      "account deactivated",
      "ETIMEDOUT",
      "TypeError",
      "constructor",
      "429",
      "",
    );
    const status = fc.constantFrom<unknown>(200, 400, 401, 403, 413, 422, 429, 500, 503, -1, 1.5, NaN, "429");
    const some = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<unknown> => fc.oneof(of, fc.anything());
    const words = { message: some(text), name: some(text), code: fc.oneof(text, status), type: some(text) };
    const body = fc.record({ ...words, status }, { requiredKeys: [] });
    const fields = fc.record(
      { ...words, status, statusCode: status, response: body, error: some(body), classified: some(body) },
      { requiredKeys: [] },
    );
    const link = fc.oneof(
      fields,
      fc.tuple(text, fields).map(([message, given]) => Object.assign(new Error(message), given)),
      fc.constantFrom(new RangeError("bug"), new SuspendedError({ reason: "closed" })),
      fc
        .constantFrom<ErrorKind>("AUTH", "RATE_LIMIT")
        .map((kind) => new ProviderError({ kind, message: "m" })),
      fc.anything(),
    );
    const chain = fc
      .array(link, { minLength: 1, maxLength: 10 })
      .map((links) =>
        links.reduceRight((cause, outer) =>
          typeof outer === "object" &&
          outer !== null &&
          Object.isExtensible(outer) &&
          !("isRaviError" in outer)
            ? Object.defineProperty(outer, "cause", { value: cause, configurable: true })
            : outer,
        ),
      );
    const again = (error: unknown): Error => errorFromJSON(JSON.parse(JSON.stringify(errorToJSON(error))));
    fc.assert(
      fc.property(chain, (error) => {
        const before = classifyError(error);
        expect(classifyError(again(error))).toEqual(before);
        expect(classifyError(again(again(error)))).toEqual(before);
        // Whoever catches it may wrap it.
        expect(classifyError(new Error("wrapped", { cause: again(error) }))).toEqual(before);
      }),
      { numRuns: 2_000 },
    );
  });

  test("T13: of its fields only what they mean is recorded", () => {
    const error = named("E", {
      status: 400,
      code: "Bearer sk-1 and more",
      type: "t",
      headers: { key: "sk-2" },
    });
    expect(errorToJSON(error).fields).toEqual({
      classified: { kind: "FORMAT_ERROR", retryable: false, status: 400 },
    });
  });

  test("T6: a record that nobody can have written is not taken for a meaning", () => {
    for (const classified of [
      null,
      "AUTH",
      { kind: "toString", retryable: true },
      { kind: "AUTH" },
      { kind: "AUTH", retryable: "no" },
    ])
      expect(classifyError({ status: 404, classified })).toMatchObject({ kind: "MODEL_NOT_FOUND" });
    const odd = { kind: "AUTH", retryable: false, status: "401", retryAfterMs: null };
    expect(classifyError({ classified: odd })).toEqual({ kind: "AUTH", retryable: false });
  });
});
