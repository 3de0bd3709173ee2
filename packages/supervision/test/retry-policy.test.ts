import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  InvalidValueError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
  MiddlewareError,
  MiddlewareTermination,
  NeedsDecisionError,
  NonDeterminismError,
  PausedError,
  ProviderError,
  type RestartPolicy,
  SuspendedError,
  ToolError,
  errorFromJSON,
  errorToJSON,
} from "@ravi/kernel";
import { RetryPolicy } from "@ravi/supervision";

describe("R17: RetryPolicy", () => {
  test("R17: asks and counts, three times unless told otherwise", () => {
    const policy: RestartPolicy = new RetryPolicy();
    expect([1, 2, 3, 4, 5].map(() => policy.shouldRetry("run/hire:a#1"))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  test("R17: the number alone is enough", () => {
    expect(new RetryPolicy(3).maxRetries).toBe(3);
    const once = new RetryPolicy(1);
    expect([once.shouldRetry("x"), once.shouldRetry("x")]).toEqual([true, false]);
    expect(new RetryPolicy(0).shouldRetry("x")).toBe(false);
  });

  test("R17: counts are kept per execution", () => {
    const policy = new RetryPolicy(1);
    expect([policy.shouldRetry("run/a#1"), policy.shouldRetry("run/a#2")]).toEqual([true, true]);
    expect([policy.shouldRetry("run/a#1"), policy.shouldRetry("run/a#2")]).toEqual([false, false]);
  });

  test("R17: reset after a success starts a fresh count, for that execution only", () => {
    const policy = new RetryPolicy(1);
    policy.shouldRetry("a");
    policy.shouldRetry("b");
    policy.reset("a");
    policy.reset("unknown");
    expect([policy.shouldRetry("a"), policy.shouldRetry("b")]).toEqual([true, false]);
  });

  const final: [string, Error][] = [
    ["a provider's error, retryable or not", new ProviderError({ kind: "RATE_LIMIT", message: "slow down" })],
    ["a mistake in the set-up", new InvalidValueError({ field: "key", value: undefined, expected: "a key" })],
    ["a cancellation", new CancellationError({ reason: "stop" })],
    ["a deadline", new DeadlineExceededError({ deadline: 0 })],
    ["a budget stop", new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: "lead" })],
    ["a guardrail's stop", new MiddlewareTermination({ layer: "filter", reason: "no" })],
    ["a pause", new PausedError({ agentId: "a" })],
    ["a suspension", new SuspendedError({ reason: "closed" })],
    ["a decision that is wanted", new NeedsDecisionError({ execId: "x", key: "k", what: "a tool" })],
    ["a changed program", new NonDeterminismError({ execId: "x", key: "k", recorded: "a", requested: "b" })],
    ["a damaged journal", new JournalCorruptError({ runId: "x", position: 1, problem: "torn" })],
    ["a run that another has", new JournalLockedError({ runId: "x", owner: "b" })],
    [
      "a journal that takes nothing more",
      new JournalFailedError({ what: "append", final: true, cause: "full" }),
    ],
  ];
  test.each(final)("R17: %s is never retried, and not counted", (_what, error) => {
    const policy = new RetryPolicy(1);
    expect(policy.shouldRetry("x", error)).toBe(false);
    expect(policy.shouldRetry("x", errorFromJSON(errorToJSON(error)))).toBe(false);
    expect(policy.shouldRetry("x", new Error("the step failed", { cause: error }))).toBe(false);
    expect(policy.shouldRetry("x", new ToolError({ toolName: "t", message: "no", cause: error }))).toBe(
      false,
    );
    expect(policy.shouldRetry("x", new TypeError("a crash"))).toBe(true);
  });

  test.each<[string, unknown]>([
    ["a bug", new TypeError("x is not a function")],
    ["a tool's failure", new ToolError({ toolName: "t", message: "no" })],
    ["a broken layer", new MiddlewareError({ layer: "l", problem: "next() twice" })],
    ["a journal that was busy", new JournalFailedError({ what: "append", final: false, cause: "busy" })],
    ["nothing known", undefined],
    ["a thrown text", "boom"],
    ["a thrown null", null],
  ])("R17: %s is a crash", (_what, error) => {
    expect(new RetryPolicy(1).shouldRetry("x", error)).toBe(true);
  });

  test("R17: it decides the same of an error and of what is on record of it", () => {
    const provider = new ProviderError({ kind: "OVERLOADED", message: "busy" });
    const wrap = (cause: unknown): Error => new Error("the step failed", { cause });
    const deep = Array.from({ length: 12 }).reduce<unknown>(wrap, provider);
    for (const error of [deep, wrap({ cause: provider }), { cause: provider }, wrap(provider)]) {
      const recorded = errorFromJSON(errorToJSON(error));
      expect(new RetryPolicy(1).shouldRetry("x", error)).toBe(new RetryPolicy(1).shouldRetry("x", recorded));
    }
    const hostile = new Proxy(new Error("odd"), {
      get: () => {
        throw new TypeError("not to be read");
      },
    });
    expect(new RetryPolicy(1).shouldRetry("x", hostile)).toBe(true);
  });

  test("R17: an error that is its own cause is looked at once", () => {
    const error = new Error("round");
    error.cause = error;
    expect(new RetryPolicy(1).shouldRetry("x", error)).toBe(true);
  });

  test("R17: full jitter: anywhere between nothing and a ceiling that doubles up to the cap", () => {
    const [least, middle, most] = [0, 0.5, 1 - 2 ** -40].map(
      (chance) => new RetryPolicy({ random: () => chance }),
    );
    expect([1, 2, 3, 4, 5, 6, 7].map((n) => most?.delayMs(n))).toEqual([
      999, 1999, 3999, 7999, 15_999, 29_999, 29_999,
    ]);
    expect([1, 2, 3].map((n) => middle?.delayMs(n))).toEqual([500, 1000, 2000]);
    expect([1, 9].map((n) => least?.delayMs(n))).toEqual([0, 0]);
  });

  test("R17: the wait is a whole number within its bounds for any attempt and any settings", () => {
    const property = fc.property(
      fc.nat(),
      fc.nat(100_000),
      fc.nat(100_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, baseMs, maxMs, chance) => {
        const wait = new RetryPolicy({ baseMs, maxMs, random: () => chance }).delayMs(attempt);
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(maxMs);
      },
    );
    fc.assert(property);
  });

  test("R17: real randomness unless given: waits differ", () => {
    const policy = new RetryPolicy({ baseMs: 1_000_000, maxMs: 1_000_000_000 });
    const waits = Array.from({ length: 20 }, () => policy.delayMs(5));
    expect(waits.every(Number.isInteger)).toBe(true);
    expect(new Set(waits).size).toBeGreaterThan(1);
  });

  test("R17: memory is bounded: past the limit, the first to crash is forgotten", () => {
    const policy = new RetryPolicy({ maxRetries: 1, maxTracked: 2 });
    for (const exec of ["a", "b", "c"]) policy.shouldRetry(exec);
    expect(["c", "b"].map((exec) => policy.shouldRetry(exec))).toEqual([false, false]);
    expect(policy.shouldRetry("a")).toBe(true);
    const one = new RetryPolicy({ maxRetries: 1, maxTracked: 1 });
    expect(["a", "a", "b", "b", "a"].map((exec) => one.shouldRetry(exec))).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
  });

  test.each([
    ["no execution to count", () => new RetryPolicy({ maxTracked: 0 })],
    ["a negative number of retries", () => new RetryPolicy(-1)],
    ["half a retry", () => new RetryPolicy({ maxRetries: 0.5 })],
    ["a misspelt option", () => new RetryPolicy({ maxRetry: 1 } as never)],
    ["a chance that is no function", () => new RetryPolicy({ random: 0.5 as never })],
    ["an attempt that is no number", () => new RetryPolicy().delayMs(Number.NaN)],
  ])("R17: %s is refused", (_what, act) => {
    expect(act).toThrow(InvalidValueError);
  });
});
