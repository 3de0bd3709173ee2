import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { ErrorKind } from "@ravi/kernel";
import {
  BrokenConnection,
  causeChain,
  headerSecrets,
  OversizedAnswer,
  providerError,
  type Scrub,
  scrubber,
  transportVerdict,
  UnusableAnswer,
  urlSecrets,
} from "@ravi/kernel/provider";

const RUNS = process.env["RAVI_LONG"] ? 10_000 : 200;

const none: Scrub = scrubber([]);

describe("T13: secrets", () => {
  test("T13: are taken out however they are written", () => {
    const secret = 'canary/äé "4711"';
    const scrub = scrubber([secret, null, undefined, "  "]);
    const forms = [
      secret,
      encodeURIComponent(secret),
      encodeURI(secret),
      JSON.stringify(secret),
      Buffer.from(secret).toString("base64"),
    ];
    for (const form of forms)
      expect(scrub(`before ${form} after`)).toMatch(/^before "?\[redacted\]"? after$/);
  });

  test("T13: are taken out in any letter case, also percent-encoded", () => {
    const secret = "Canary-Key/47+11=";
    const scrub = scrubber([secret]);
    const encoded = encodeURIComponent(secret);
    const forms = [
      secret.toLowerCase(),
      secret.toUpperCase(),
      encoded.toLowerCase(),
      encoded.replaceAll("-", "%2D"),
      encoded.replaceAll("-", "%2d").toLowerCase(),
    ];
    for (const form of forms) expect(scrub(`before ${form} after`)).toBe("before [redacted] after");
  });

  test("T13: are no patterns, whatever they are made of", () => {
    const secret = String.raw`a.b*c+?(d)[e]{f}|^$\g/-`;
    expect(scrubber([secret])(`<${secret}>`)).toBe("<[redacted]>");
    expect(scrubber(["a.b.c.d"])("aXbXcXd")).toBe("aXbXcXd");
    expect(scrubber([])("")).toBe("");
    const long = "aB-/".repeat(50_000);
    expect(scrubber([long])(`<${long}>`)).toBe("<[redacted]>");
    // A letter that becomes longer in small letters does not shift what is cut out.
    expect(scrubber(["canary-4711"])("İİ CANARY-4711 İ")).toBe("İİ [redacted] İ");
  });

  test("T13: a letter whose small form depends on the next one hides nothing", () => {
    expect(scrubber(["CANARYΣ"])("CANARYΣB canaryσ")).toBe("[redacted]B [redacted]");
  });

  test("T13: a long text is read once in small letters, however many secrets there are", () => {
    const scrub = scrubber(["canary-4711", "Other Key/1", "third-one=="]);
    using lower = vi.spyOn(String.prototype, "toLowerCase");
    expect(scrub(`${"aB".repeat(1_000)} CANARY-4711`)).toBe(`${"aB".repeat(1_000)} [redacted]`);
    expect(lower).toHaveBeenCalledOnce();
  });

  test("T13: of any length and script, base64 as every platform writes it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 6, maxLength: 40 }), (secret) => {
        fc.pre(secret.trim().length >= 6);
        const encoded = Buffer.from(secret.trim()).toString("base64");
        expect(scrubber([secret])(`<${encoded}>`)).toBe("<[redacted]>");
      }),
      { numRuns: RUNS },
    );
  });

  test.each([
    ["sk-canary-4711-abcd", "[redacted]"],
    ["gsk_canary4711abcd", "[redacted]"],
    ["AIzaSyCanary4711Canary4711Canary", "[redacted]"],
    ["ghp_canary4711canary4711abcd", "[redacted]"],
    ["glpat-canary4711canary", "[redacted]"],
    ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[redacted]"],
    ["key_not_found_error", "key_not_found_error"],
    ["Authorization: Bearer canary4711", "Authorization: Bearer [redacted]"],
    ["Basic dXNlcjpjYW5hcnk=", "Basic [redacted]"],
    ["http://user:canary@host/v1", "http://[redacted]@host/v1"],
    ["/v1?api_key=canary&n=1", "/v1?api_key=[redacted]&n=1"],
  ])("T13: %j is shown as %j, whosever it is", (text, shown) => expect(none(text)).toBe(shown));

  test("T13: a longer one goes before a shorter one in it, and what is short stays", () => {
    expect(scrubber(["canary", "canary-4711"])("canary-4711 canary")).toBe("[redacted] [redacted]");
    expect(scrubber(["no"])("no")).toBe("no");
  });

  test("T13: headers and URLs hide them in their words", () => {
    const headers = headerSecrets({ authorization: "Bearer canary", cookie: "a=4711; b=4712" });
    expect(headers).toEqual(expect.arrayContaining(["Bearer canary", "canary", "4711", "4712"]));
    expect(urlSecrets(new URL("http://a/?token=canary%21"))).toEqual(["token=canary%21", "canary!"]);
    expect([headerSecrets(undefined), urlSecrets(undefined)]).toEqual([[], []]);
  });
});

describe("O6: a failed call", () => {
  const scrub = scrubber(["canary-4711"]);
  const context = { provider: "p", model: "m", scrub, now: 0 };

  test("O6: becomes an error of Ravi with all that is known of it", () => {
    const headers = new Map([
      ["retry-after", "2"],
      ["request-id", "req-canary-4711"],
    ]);
    const verdict = {
      kind: "RATE_LIMIT",
      status: 429,
      said: "slow down, canary-4711",
      advice: "; wait",
    } as const;
    expect(providerError(new Error("x"), verdict, { ...context, headers })).toMatchObject({
      code: "PROVIDER_ERROR",
      kind: "RATE_LIMIT",
      retryable: true,
      status: 429,
      provider: "p",
      model: "m",
      message: "p/m: slow down, [redacted]; wait",
      retryAfterMs: 2_000,
      requestId: "req-[redacted]",
    });
  });

  test("O6: waits as long as a header says, and without one as the words of a rate limit say", () => {
    const verdict = { kind: "RATE_LIMIT", said: "Please try again in 3.5s." } as const;
    expect(providerError(new Error("x"), verdict, context).retryAfterMs).toBe(3_500);
    const headers = new Map([["retry-after", "2"]]);
    expect(providerError(new Error("x"), verdict, { ...context, headers }).retryAfterMs).toBe(2_000);
    const other = { kind: "SERVER_ERROR", said: "Please try again in 3.5s." } as const;
    expect(providerError(new Error("x"), other, context).retryAfterMs).toBeUndefined();
  });

  const openai = (what: string, left: string | undefined, reset: string): [string, string][] => [
    [`x-ratelimit-reset-${what}`, reset],
    ...(left === undefined ? [] : [[`x-ratelimit-remaining-${what}`, left] as [string, string]]),
  ];
  const anthropic = (what: string, left: string, reset: string): [string, string][] => [
    [`anthropic-ratelimit-${what}-reset`, reset],
    [`anthropic-ratelimit-${what}-remaining`, left],
  ];
  test.each<[string, [string, string][], number | undefined]>([
    ["the limit that is used up", [...openai("requests", "0", "6s"), ...openai("tokens", "9", "7s")], 6_000],
    ["the later of two", [...openai("requests", "0", "1s"), ...openai("tokens", "0", "88ms")], 1_000],
    ["a part of a second", openai("tokens", "0", "0m59.56s"), 59_560],
    ["a minute has passed, at most", openai("tokens", "0", "6m0s"), 60_000],
    ["a minute has passed, whatever the time", anthropic("tokens", "0", "2126-01-01T00:00:00Z"), 60_000],
    ["seconds, as Azure writes them", openai("tokens", "0", "59"), 59_000],
    [
      "the shortest, if nobody says what is left",
      [...openai("requests", undefined, "1h2s"), ...openai("tokens", undefined, "1s")],
      1_000,
    ],
    ["a minute has passed, if nobody says what is left", openai("tokens", undefined, "1h"), 60_000],
    [
      "the limit that is more than used up",
      [...openai("requests", "9", "7s"), ...openai("tokens", "-5", "6s")],
      6_000,
    ],
    [
      "what is used up rather than what is not known",
      [...openai("requests", "0", "1s"), ...openai("tokens", undefined, "9s")],
      1_000,
    ],
    [
      "nothing, if something is left of each",
      [...openai("requests", "7", "1s"), ...openai("tokens", "8", "9s")],
      undefined,
    ],
    ["a time, as Anthropic writes it", anthropic("input-tokens", "0", "2026-01-01T00:00:30Z"), 30_000],
    ["a time elsewhere", anthropic("requests", "0", "2026-01-01T02:00:30.5+02:00"), 30_500],
    ["no time that is past", anthropic("output-tokens", "0", "2025-12-31T23:59:00Z"), 0],
    [
      "nothing that is no time",
      [...anthropic("tokens", "0", "soon"), ...openai("tokens", "0", "-1s")],
      undefined,
    ],
    ["nothing that is a moment in seconds", openai("requests", "0", "1767225600"), undefined],
  ])("O6: a rate limit that says no time is waited for until %s", (_, pairs, waitMs) => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    const waitOf = (kind: ErrorKind, said: string, ...more: [string, string][]): number | undefined =>
      providerError(
        new Error("x"),
        { kind, said },
        { ...context, now, headers: new Map([...pairs, ...more]) },
      ).retryAfterMs;
    expect(waitOf("RATE_LIMIT", "slow down")).toBe(waitMs);
    expect(waitOf("RATE_LIMIT", "slow down", ["retry-after", "2"])).toBe(2_000);
    expect(waitOf("RATE_LIMIT", "Please try again in 3.5s.")).toBe(3_500);
    expect(waitOf("SERVER_ERROR", "slow down")).toBeUndefined();
  });

  test.each<[string, ErrorKind, boolean]>([
    ["false", "RATE_LIMIT", false],
    ["false", "OVERLOADED", false],
    ["false", "SERVER_ERROR", false],
    // The same prompt is not to be sent again; a shorter one may be.
    ["false", "CONTEXT_OVERFLOW", true],
    ["false", "AUTH", false],
    ["true", "RATE_LIMIT", true],
    ["true", "FORMAT_ERROR", true],
    ["true", "BILLING", false],
    ["true", "AUTH", false],
    ["maybe", "SERVER_ERROR", true],
  ])("O6: x-should-retry: %s makes a %s retryable: %s", (word, kind, retryable) => {
    const headers = new Map([["x-should-retry", word]]);
    const error = providerError(new Error("x"), { kind, said: "no" }, { ...context, headers });
    expect(error).toMatchObject({ kind, retryable });
  });

  test("T13: its cause is a copy without secrets, headers and bodies", () => {
    class ClientError extends Error {}
    const inner = Object.assign(new Error("canary-4711 inside"), { code: "ECONNRESET" });
    const error = Object.assign(new ClientError("canary-4711", { cause: inner }), {
      code: "canary-4711",
      headers: { authorization: "canary-4711" },
    });
    const { cause } = providerError(error, { kind: "UNKNOWN", said: "x" }, context);
    expect(inspect(cause, { depth: 9, showHidden: true })).not.toContain("canary");
    expect(cause).toMatchObject({
      name: "ClientError",
      message: "[redacted]",
      code: "[redacted]",
      cause: { name: "Error", message: "[redacted] inside", code: "ECONNRESET" },
    });
    expect(String((cause as Error).stack)).toContain("provider-failure.test.ts");
  });

  test("T10: what is told of it is not endless, nor are its causes", () => {
    const error = new Error("y".repeat(5_000));
    error.cause = error;
    const told = providerError(error, { kind: "UNKNOWN", said: "x".repeat(5_000) }, context);
    expect(told.message.length).toBeLessThan(1_100);
    expect(causeChain(told)).toHaveLength(5);
    expect(causeChain(error)).toHaveLength(8);
  });

  test.each([{ message: { code: 7 } }, { message: undefined }, { name: 5 }, { stack: 7 }])(
    "O6: is told even if the error has fields of a wrong type, as foreign code may write them: %o",
    (fields) => {
      const error = Object.assign(new Error("no"), fields);
      const failure = providerError(error, { kind: "UNKNOWN", said: "no" }, context);
      expect(failure).toMatchObject({ code: "PROVIDER_ERROR", cause: expect.any(Error) });
    },
  );

  test("the platform's errors are understood where they are of another realm, as in jest", () => {
    const refused = runInNewContext(
      'new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) })',
    ) as Error;
    expect(refused).not.toBeInstanceOf(Error);
    const error = new Error("Connection error.", { cause: refused });
    expect(transportVerdict(error, "broken")).toMatchObject({ advice: " (ECONNREFUSED)" });
    const told = providerError(error, { kind: "SERVER_ERROR", said: "x" }, context);
    expect(causeChain(told).at(-1)).toMatchObject({ message: "connect", code: "ECONNREFUSED" });
    expect(causeChain({ message: "no error", cause: refused })).toEqual([]);
  });

  const coded = (code: string): Error =>
    new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code }) });

  const SILENT = "the server was silent for longer than fetch itself waits";

  test.each<[string, unknown, "timed out" | "broken" | undefined, object]>([
    ["too long", new OversizedAnswer("it", 5), undefined, { kind: "SERVER_ERROR", retryable: false }],
    ["no answer", new UnusableAnswer("no"), undefined, { kind: "SERVER_ERROR", said: "no" }],
    ["the client's time-out", new Error("x"), "timed out", { kind: "TIMEOUT" }],
    ["the platform's time-out", coded("UND_ERR_HEADERS_TIMEOUT"), "broken", { kind: "TIMEOUT" }],
    [
      "silence for longer than fetch waits, before the headers",
      // The official clients speak of options that are theirs.
      new Error("timed out; configure fetchOptions", { cause: coded("UND_ERR_HEADERS_TIMEOUT") }),
      "timed out",
      {
        kind: "TIMEOUT",
        said: SILENT,
        advice: " (UND_ERR_HEADERS_TIMEOUT); to wait longer, give a fetch of your own",
      },
    ],
    [
      "silence for longer than fetch waits, in the middle",
      new BrokenConnection(coded("UND_ERR_BODY_TIMEOUT")),
      undefined,
      {
        kind: "TIMEOUT",
        said: SILENT,
        advice: " (UND_ERR_BODY_TIMEOUT); to wait longer, give a fetch of your own",
      },
    ],
    ["no connection in time", coded("UND_ERR_CONNECT_TIMEOUT"), "broken", { said: "fetch failed" }],
    ["a reset", coded("ECONNRESET"), "broken", { kind: "SERVER_ERROR", advice: " (ECONNRESET)" }],
    ["a break", new BrokenConnection(undefined), undefined, { kind: "SERVER_ERROR", advice: "" }],
    [
      "a bug in a fetch",
      new Error("Connection error.", { cause: new TypeError("a.b is not a function") }),
      "broken",
      { kind: "UNKNOWN", retryable: false, said: "a.b is not a function" },
    ],
    [
      "a cause without a code",
      new Error("Connection error.", {
        cause: new TypeError("fetch failed", { cause: new Error("bad port") }),
      }),
      "broken",
      { kind: "SERVER_ERROR", said: "Connection error. (bad port)" },
    ],
    ["no cause", new Error("Connection error."), "broken", { said: "Connection error." }],
    [
      "a cause that says nothing",
      new Error("Connection error.", { cause: new AggregateError([]) }),
      "broken",
      { said: "Connection error." },
    ],
  ])("O6: on the way: %s", (_, error, fault, verdict) => {
    expect(transportVerdict(error, fault)).toMatchObject(verdict);
  });

  test("O6: what the server itself says is not judged here", () => {
    expect(transportVerdict(Object.assign(new Error("no"), { status: 500 }), undefined)).toBeUndefined();
    expect(transportVerdict("text", undefined)).toBeUndefined();
  });
});
