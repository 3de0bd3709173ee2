import { describe, expect, expectTypeOf, test } from "vitest";
import {
  AgentNotFoundError,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  ErrorCode,
  errorFromJSON,
  errorToJSON,
  InvalidValueError,
  isCancellation,
  isRaviError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
  LaneViolationError,
  MiddlewareError,
  MiddlewareTermination,
  NeedsDecisionError,
  NonDeterminismError,
  PausedError,
  ProviderError,
  RaviError,
  SuspendedError,
  ToolError,
} from "@ravi/kernel";

const samples: readonly RaviError[] = [
  new CancellationError({ reason: "user" }),
  new DeadlineExceededError({ deadline: 1 }),
  new PausedError({ agentId: "a" }),
  new BudgetExhaustedError({
    dimension: "cost",
    used: 4.98,
    limit: 5,
    scope: "lead/researcher",
    hint: "raise maxCostUsd",
  }),
  new MiddlewareTermination({ layer: "ContentFilter", reason: "blocked word" }),
  new MiddlewareError({ layer: "Cache", problem: "next() was called twice" }),
  new ProviderError({
    kind: "RATE_LIMIT",
    message: "slow down",
    status: 429,
    retryAfterMs: 1500,
    provider: "openai",
  }),
  new ToolError({ toolName: "search", message: "no index" }),
  new InvalidValueError({ field: "maxAgents", value: -1, expected: "at least 1" }),
  new AgentNotFoundError({ agent: "ghost@2", known: ["lead@1"] }),
  new NonDeterminismError({ execId: "r", key: "llm#1", recorded: "abc", requested: "def" }),
  new LaneViolationError({ execId: "r", running: "llm#1", attempted: "llm#2" }),
  new NeedsDecisionError({ execId: "r", key: "tool:1:0", what: "the call to send_mail" }),
  new JournalLockedError({ runId: "r" }),
  new JournalCorruptError({ runId: "r", position: 17, problem: "checksum" }),
  new JournalFailedError({ what: "append", final: true, cause: new Error("disk full") }),
  new SuspendedError({ reason: "the runtime was closed" }),
];

describe("R13: errors", () => {
  test("R13: one base with a code, and every code has its class", () => {
    expect(samples.map((error) => error.code).toSorted()).toEqual(Object.values(ErrorCode).toSorted());
    for (const error of samples) {
      expect(error).toBeInstanceOf(RaviError);
      expect(error).toBeInstanceOf(Error);
      expect(error.name).toBe(error.constructor.name);
      expect(isRaviError(error)).toBe(true);
      expect(isRaviError(error, error.code)).toBe(true);
    }
  });

  test("R13: each is told apart from all others, but a deadline is a cancellation", () => {
    for (const error of samples) {
      for (const other of samples) {
        const Class = other.constructor as typeof RaviError;
        const same =
          error.code === other.code || (error.code === "DEADLINE_EXCEEDED" && other.code === "CANCELLED");
        expect(error instanceof Class).toBe(same);
      }
    }
    expect(samples.filter((error) => isCancellation(error)).map((error) => error.code)).toEqual([
      "CANCELLED",
      "DEADLINE_EXCEEDED",
    ]);
  });

  test("R13: dimension and scope are fields", () => {
    const error: unknown = samples[3];
    if (!isRaviError(error, "BUDGET_EXHAUSTED")) throw new Error("not recognised");
    expectTypeOf(error).toEqualTypeOf<BudgetExhaustedError>();
    expect(error).toMatchObject({ dimension: "cost", used: 4.98, limit: 5, scope: "lead/researcher" });
    expect(error.message).toBe("cost budget of lead/researcher exhausted: 4.98 of 5; raise maxCostUsd");
  });

  test("R13: recognised by a field: an error of another copy of the kernel counts", () => {
    const foreign = Object.assign(new Error("other copy"), {
      isRaviError: true,
      code: "BUDGET_EXHAUSTED",
      retryable: false,
    });
    expect(isRaviError(foreign, "BUDGET_EXHAUSTED")).toBe(true);
    expect(foreign).toBeInstanceOf(BudgetExhaustedError);
    expect(foreign).not.toBeInstanceOf(ToolError);
    for (const no of [null, undefined, "text", 7, {}, new Error("plain"), { isRaviError: true }])
      expect(isRaviError(no)).toBe(false);
  });

  test("R13: a subclass of the user's own is known by its prototype", () => {
    class MyToolError extends ToolError {}
    const mine = new MyToolError({ toolName: "x", message: "y" });
    expect(mine).toBeInstanceOf(MyToolError);
    expect(mine).toBeInstanceOf(ToolError);
    expect(new ToolError({ toolName: "x", message: "y" })).not.toBeInstanceOf(MyToolError);
  });

  test("R13: an error survives JSON as plain data", () => {
    for (const error of samples) {
      const back = errorFromJSON(JSON.parse(JSON.stringify(errorToJSON(error))));
      expect(isRaviError(back, error.code)).toBe(true);
      expect(back).toBeInstanceOf(error.constructor);
      expect([back.name, back.message]).toEqual([error.name, error.message]);
      expect(errorToJSON(back)).toEqual(errorToJSON(error));
    }
  });

  test.each<[RaviError, string, Record<string, unknown>]>([
    [new CancellationError("user left"), "cancelled: user left", { reason: "user left" }],
    [new DeadlineExceededError("too slow"), "cancelled: too slow", { reason: "too slow", deadline: null }],
    [new PausedError("editor"), "editor is paused: a more urgent agent took its slot", { agentId: "editor" }],
    [new SuspendedError("closed"), "suspended: closed", { reason: "closed" }],
    [
      new MiddlewareTermination("blocked: PII"),
      "middleware stopped the run: blocked: PII",
      { reason: "blocked: PII", layer: "middleware" },
    ],
    [
      new MiddlewareTermination({ reason: "blocked: PII" }),
      "middleware stopped the run: blocked: PII",
      { reason: "blocked: PII", layer: "middleware" },
    ],
    [new MiddlewareError("broken"), "middleware: broken", { layer: "middleware" }],
    [new ProviderError("no answer"), "no answer", { kind: "UNKNOWN", retryable: true }],
    [new ToolError("no index"), "no index", { toolName: "tool" }],
    [new AgentNotFoundError("ghost"), "agent ghost is not registered", { agent: "ghost" }],
    [
      new JournalLockedError("r"),
      "run r is claimed by another process; wait for it to end, or stop it",
      { runId: "r" },
    ],
  ])("R13: a text alone says what it was made for: %s", (error, message, fields) => {
    expect(error.message).toBe(message);
    expect(error).toMatchObject(fields);
    const back = errorFromJSON(JSON.parse(JSON.stringify(errorToJSON(error))));
    expect(back).toMatchObject({ ...fields, message });
    expect(errorToJSON(back)).toEqual(errorToJSON(error));
  });

  test("R13: a text may be followed by the other fields, as with JavaScript's own errors", () => {
    const cause = new Error("reset");
    const slow = { kind: "RATE_LIMIT", status: 429, retryAfterMs: 100, cause } as const;
    expect(new ProviderError("slow down", slow)).toMatchObject({ ...slow, message: "slow down" });
    expect(new ProviderError("no", { kind: "AUTH" }).retryable).toBe(false);
    expect(new ProviderError("no", { status: 500 })).toMatchObject({ kind: "UNKNOWN", status: 500 });
    expect(new ToolError("no index", { toolName: "search", retryable: true, cause })).toMatchObject({
      message: "no index",
      toolName: "search",
      retryable: true,
      cause,
    });
    expect(new MiddlewareError("broken", { layer: "pii", cause })).toMatchObject({ layer: "pii", cause });
    expect(new MiddlewareTermination("PII", { layer: "pii", cause })).toMatchObject({
      reason: "PII",
      layer: "pii",
      cause,
    });
    for (const Class of [CancellationError, DeadlineExceededError, SuspendedError])
      expect(new Class("left", { cause })).toMatchObject({ reason: "left", cause });
    // The text is what was meant, whatever else is said.
    const both = Reflect.construct(ToolError, ["first", { message: "second" }]);
    expect(both).toMatchObject({ message: "first" });
    expect(new ToolError({ message: "no index" }, { cause })).toMatchObject({ message: "no index", cause });
    expect(Reflect.construct(ProviderError, ["no", { kind: undefined }])).toMatchObject({ kind: "UNKNOWN" });
    // It must not get in the way of the error that is thrown.
    for (const wrong of ["x", 7, null]) {
      expect(Reflect.construct(ToolError, ["failed", wrong])).toMatchObject({ message: "failed" });
    }
  });

  test("R13: whatever the error is, it keeps its cause", () => {
    const cause = new Error("why");
    const because: readonly RaviError[] = [
      new CancellationError({ reason: "user", cause }),
      new DeadlineExceededError({ deadline: 1, cause }),
      new PausedError({ agentId: "a", cause }),
      new PausedError("a", { cause }),
      new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: "lead", cause }),
      new MiddlewareTermination({ reason: "blocked word", cause }),
      new MiddlewareError({ problem: "next() was called twice", cause }),
      new ProviderError({ kind: "TIMEOUT", cause }),
      new ToolError({ message: "no index", cause }),
      new InvalidValueError({ field: "maxAgents", value: -1, expected: "at least 1", cause }),
      new AgentNotFoundError({ agent: "ghost@2", cause }),
      new AgentNotFoundError("ghost@2", { known: ["lead@1"], cause }),
      new NonDeterminismError({ execId: "r", key: "llm#1", recorded: "abc", requested: "def", cause }),
      new LaneViolationError({ execId: "r", running: "llm#1", attempted: "llm#2", cause }),
      new NeedsDecisionError({ execId: "r", key: "tool:1:0", what: "the call to send_mail", cause }),
      new JournalLockedError({ runId: "r", cause }),
      new JournalLockedError("r", { owner: "worker 7", cause }),
      new JournalCorruptError({ runId: "r", position: 17, problem: "checksum", cause }),
      new JournalFailedError({ what: "append", final: true, cause }),
      new SuspendedError({ reason: "the runtime was closed", cause }),
    ];
    expect(new Set(because.map(({ code }) => code))).toEqual(new Set(samples.map(({ code }) => code)));
    for (const error of because) {
      expect([error.name, error.cause]).toEqual([error.name, cause]);
      expect(errorFromJSON(JSON.parse(JSON.stringify(error))).cause).toMatchObject({ message: "why" });
    }
    const [unregistered, locked] = [because[11]?.message, because[16]?.message];
    expect([unregistered, locked]).toEqual([
      "agent ghost@2 is not registered; registered agents: lead@1",
      "run r is claimed by worker 7; wait for it to end, or stop it",
    ]);
    // An error without one has no such field, so that it is not printed as undefined.
    const withOne = samples.filter((error) => Object.hasOwn(error, "cause"));
    expect(withOne.map(({ name }) => name)).toEqual(["JournalFailedError"]);
  });

  test("R13: the failure of a provider needs no words: its kind and status say what happened", () => {
    const full = new ProviderError({ kind: "RATE_LIMIT", status: 429, retryAfterMs: 50 });
    expect(full).toMatchObject({ kind: "RATE_LIMIT", status: 429, retryAfterMs: 50, retryable: true });
    expect(full.message).toBe("the model call failed: RATE_LIMIT (429)");
    expect(new ProviderError({ kind: "AUTH" }).message).toBe("the model call failed: AUTH");
    expect(() => Reflect.construct(ProviderError, [{ kind: "AUTH", message: 7 }])).toThrow(
      "ProviderError.message is 7; expected a string",
    );
  });

  test("R13: an error made of the wrong thing says what it takes", () => {
    for (const { constructor } of samples) {
      for (const wrong of [undefined, null, 7, {}]) {
        const made = (): unknown => Reflect.construct(constructor, [wrong]);
        expect(made).toThrow(InvalidValueError);
        expect(made).toThrow(constructor.name);
      }
    }
    const texts = [
      BudgetExhaustedError,
      InvalidValueError,
      NonDeterminismError,
      LaneViolationError,
      RaviError,
    ];
    for (const Class of texts) {
      expect(() => Reflect.construct(Class, ["out of money"])).toThrow(InvalidValueError);
      expect(() => Reflect.construct(Class, ["out of money"])).toThrow(/"out of money"; expected .*object/);
    }
    expect(() => new DeadlineExceededError({ deadline: NaN })).toThrow(InvalidValueError);
    expect(new DeadlineExceededError({ deadline: -1e300 }).message).toContain("-1e+300");
    expect(() => Reflect.construct(AgentNotFoundError, [{ agent: "a", known: "lead" }])).toThrow(
      InvalidValueError,
    );
  });

  test("R13: JSON.stringify of an error keeps what it says, and shows no more than its plain data", () => {
    for (const error of samples) {
      expect(JSON.parse(JSON.stringify(error))).toEqual(JSON.parse(JSON.stringify(errorToJSON(error))));
      expect(Object.keys(error)).not.toContain("toJSON");
    }
    const cause = Object.assign(new Error("root cause"), { headers: { authorization: "secret" } });
    const error = new ToolError({ toolName: "search", message: "no index", cause });
    const json = JSON.stringify({ status: "failed", error });
    expect(JSON.parse(json)).toMatchObject({
      error: { name: "ToolError", message: "no index", code: "TOOL_ERROR", cause: { message: "root cause" } },
    });
    expect(json).not.toMatch(/secret|stack/);
    const back = errorFromJSON(JSON.parse(JSON.stringify(error)));
    expect(JSON.stringify(back)).toBe(JSON.stringify(error));
    const data = { ...errorToJSON(error), fields: { toJSON: "mine" } };
    expect(JSON.parse(JSON.stringify(errorFromJSON(data)))).toMatchObject({ message: "no index" });
  });

  test("R13: causes are kept, a chain without end is cut, and what is no error is described", () => {
    const cause = new TypeError("root cause");
    const back = errorFromJSON(errorToJSON(new ToolError({ toolName: "t", message: "m", cause })));
    expect(back.cause).toMatchObject({ name: "TypeError", message: "root cause" });

    const loop = new Error("loop");
    loop.cause = loop;
    expect(JSON.stringify(errorToJSON(loop)).length).toBeLessThan(2_000);
    expect(errorToJSON("just text")).toMatchObject({ code: null, message: "just text" });
    expect(errorToJSON(undefined)).toMatchObject({
      code: null,
      message: "something was thrown that is not an error",
    });
    const hostile = {
      get message(): string {
        throw new Error("no");
      },
    };
    expect(errorToJSON(hostile).code).toBeNull();
    const refuse = (): never => {
      throw new Error("no");
    };
    const proxy = new Proxy({}, { has: refuse, get: refuse, ownKeys: refuse });
    expect(errorToJSON(proxy)).toMatchObject({ code: null });
    expect(isRaviError(proxy)).toBe(false);
    const trap = new ToolError({ toolName: "t", message: "m" });
    Object.defineProperty(trap, "toolName", { get: refuse, enumerable: true });
    expect(errorToJSON(trap)).toMatchObject({ code: "TOOL_ERROR", message: "m", fields: {} });
  });

  test("R13: data chooses no constructor and overwrites no base field", () => {
    const data = JSON.parse(
      '{"code":"TOOL_ERROR","name":"ToolError","message":"m","retryable":false,"cause":null,"fields":{"__proto__":{"polluted":1},"stack":"fake","code":"X","isRaviError":false,"toolName":"t"}}',
    );
    const back = errorFromJSON(data);
    expect(back).toMatchObject({ code: "TOOL_ERROR", toolName: "t", isRaviError: true });
    expect(back.stack).not.toBe("fake");
    expect("polluted" in back).toBe(false);
    expect(isRaviError(errorFromJSON({ ...data, code: "NO_SUCH" }))).toBe(false);
  });

  test("R13: a message shows a value without running its code", () => {
    const hostile = {
      toString() {
        throw new Error("ran");
      },
      toJSON() {
        throw new Error("ran");
      },
    };
    const refuse = (): never => {
      throw new Error("ran");
    };
    const trapped = new Proxy([], { get: refuse, getPrototypeOf: refuse });
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [hostile, new Proxy({}, { getPrototypeOf: refuse }), trapped, revoked])
      expect(new InvalidValueError({ field: "f", value, expected: "e" }).message).toBe(
        "f is an object; expected e",
      );
    expect(
      new InvalidValueError({ field: "f", value: "x".repeat(500), expected: "e" }).value.length,
    ).toBeLessThan(100);
    expect(new InvalidValueError({ field: "f", value: [1, 2], expected: "e" }).value).toBe("an array of 2");
    expect(new InvalidValueError({ field: "f", value: 10n, expected: "e" }).value).toBe("10n");
  });

  test.each([
    [Promise.resolve(1), "a promise"],
    [new Set([1]), "a Set"],
    [new Map([[1, 2]]), "a Map"],
  ])("R13: a message names what is easily taken for something else: %s", (value, shown) => {
    const error = new InvalidValueError({ field: "f", value, expected: "e" });
    expect(error.message).toBe(`f is ${shown}; expected e`);
  });

  test.each([
    ["MiddlewareTermination", (reason: string) => new MiddlewareTermination({ layer: "guard", reason })],
    ["SuspendedError", (reason: string) => new SuspendedError({ reason })],
    ["CancellationError", (reason: string) => new CancellationError({ reason })],
  ])("R13: the message of a %s has the beginning of a long reason, and the field all of it", (_, make) => {
    const reason = "x".repeat(1_000_000);
    const error = make(reason);
    expect(error.reason).toBe(reason);
    expect(error.message.length).toBeLessThan(5_000);
    expect(error.message).toMatch(/x\.\.\. \(1000000 characters\)$/);
    expect(new MiddlewareError({ layer: "guard", problem: reason }).message.length).toBeLessThan(5_000);
  });

  test("R13: what is locked or damaged is called by its name, and so is who has it", () => {
    const what = "the audit log /var/audit.jsonl";
    expect(new JournalLockedError({ runId: "/var/audit.jsonl", what }).message).toBe(
      `${what} is claimed by another process; wait for it to end, or stop it`,
    );
    const held = { runId: "r", owner: "process 7 on web-3", pid: 7, host: "web-3", expiresAt: 0 };
    const locked = new JournalLockedError(held);
    expect(locked).toMatchObject(held);
    expect(locked.message).toBe(
      "run r is claimed by process 7 on web-3 (until 1970-01-01T00:00:00.000Z, unless the claim is renewed); wait for it to end, or stop it",
    );
    const torn = { position: 3, problem: "torn" };
    expect(new JournalCorruptError({ runId: "/var/audit.jsonl", what, ...torn }).message).toBe(
      `${what} is damaged at 3: torn`,
    );
    expect(new JournalCorruptError({ runId: "r", ...torn }).message).toBe(
      "the journal of r is damaged at 3: torn",
    );
  });

  test("a step that asks for something else says what may have changed, for whoever has deployed it", () => {
    const changed = (key: string, requested: string): string =>
      new NonDeterminismError({ execId: "r", key, recorded: "another request", requested }).message;
    expect(changed("llm:openai/small#1", "the call to openai/small")).toContain(
      "asks for the call to openai/small (its messages, instructions, tools or settings have changed)",
    );
    expect(changed("tool:2:0", "the call to pay")).toContain("(the tool or its arguments have changed)");
    expect(changed("hire:helper#1", "the hire of helper")).toContain(
      "(its task, attachments or version have changed)",
    );
    // The steps themselves differ.
    expect(changed("llm:openai/small#2", "llm:openai/small#2")).not.toContain("changed)");
    expect(changed("receive#1", "one that it waits for")).not.toContain("changed)");
  });

  test("a call that was decided to fail says so, and asks for nothing", () => {
    const init = { execId: "r", key: "tool:1:0", what: "the call to pay", decided: "fail" } as const;
    const { message, pending } = new NeedsDecisionError(init);
    expect([message, pending]).toEqual([
      'the call to pay was under way when the run was stopped or crashed, and may or may not have happened; the decision was "fail"',
      [],
    ]);
  });

  test("a call that needs a decision says how that came about: a deployment is no crash", () => {
    const { message } = new NeedsDecisionError({ execId: "r", key: "tool:1:0", what: "the call to pay" });
    expect(message).toBe(
      'the call to pay was under way when the run was stopped or crashed, and may or may not have happened; resume with decisions: { "r:tool:1:0": "retry" | "skip" | "fail" }',
    );
  });
});
