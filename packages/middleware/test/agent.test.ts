import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import {
  type AgentRunContext,
  type AuditEntry,
  type AuditLog,
  type Layer,
  CancellationError,
  CancellationToken,
  isCancellation,
  isRaviError,
  JournalFailedError,
  MiddlewareTermination,
  PausedError,
  SuspendedError,
} from "@ravi/kernel";
import { auditLogger, MiddlewarePipeline, rateLimiter, sessionValidation } from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import fc from "fast-check";
import { agentContext, PATIENCE, recordingHooks, RUNS, thenable } from "./support.ts";

const done = { status: "completed", output: "ok", stopReason: "done" } as const;

async function through(layer: Layer<AgentRunContext>, options: Parameters<typeof agentContext>[0] = {}) {
  const context = agentContext(options);
  let ran = 0;
  const error = await new MiddlewarePipeline<AgentRunContext>([layer])
    .run(context, async () => {
      ran++;
      context.result = done;
    })
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  return { context, error, ran };
}

describe("R27: rateLimiter", () => {
  it("R27: 60 runs in 60 seconds for each tenant, then a refusal that says when", async () => {
    const clock = virtualClock();
    const layer = rateLimiter();
    for (let at = 0; at < 60; at++)
      expect((await through(layer, { clock, tenantId: "a" })).error).toBeUndefined();
    const hooks = recordingHooks();
    const refused = await through(layer, { clock, hooks, tenantId: "a" });
    expect(isRaviError(refused.error, "MIDDLEWARE_TERMINATION")).toBe(true);
    expect(String(refused.error)).toMatch(/in 60000 ms/);
    expect(refused.ran).toBe(0);
    expect(hooks.events).toMatchObject([{ payload: { layer: "rateLimiter", sessionId: "session-1" } }]);
    expect((await through(layer, { clock, tenantId: "b" })).ran).toBe(1);
    expect((await through(layer, { clock })).ran).toBe(1);
    await clock.advance(60_000);
    expect((await through(layer, { clock, tenantId: "a" })).ran).toBe(1);
  });

  it.each(["refuse", "wait"] as const)(
    "R27: a run that is resumed has begun before: it is never refused, and does not count (%s)",
    async (onExceed) => {
      const clock = virtualClock();
      const layer = rateLimiter({ limit: 1, onExceed, maxWaitMs: 0 });
      const resumed = { clock, isResumed: true };
      expect((await through(layer, resumed)).ran).toBe(1);
      expect((await through(layer, { clock })).ran).toBe(1);
      expect((await through(layer, resumed)).ran).toBe(1);
      expect((await through(layer, { clock })).ran).toBe(0);
    },
  );

  it.each(["refuse", "wait"] as const)(
    "R27: a clock that goes back by an hour blocks for a window, not for an hour (%s)",
    async (onExceed) => {
      const clock = virtualClock();
      let now = 7_200_000;
      const at = { ...clock, now: () => now };
      const layer = rateLimiter({ limit: 1, windowMs: 1_000, onExceed, maxWaitMs: 0 });
      expect((await through(layer, { clock: at })).ran).toBe(1);
      now -= 3_600_000;
      expect(String((await through(layer, { clock: at })).error)).toMatch(/in 1000 ms/);
      now += 1_000;
      expect((await through(layer, { clock: at })).ran).toBe(1);
    },
  );

  it("R27: a clock that goes back blocks for a window, however many began before", async () => {
    let now = 7_200_000;
    const clock = { ...virtualClock(), now: () => now };
    const layer = rateLimiter({ limit: 3, windowMs: 1_000 });
    for (let n = 0; n < 3; n++) await through(layer, { clock });
    now = 0;
    expect(String((await through(layer, { clock })).error)).toMatch(/in 1000 ms/);
    now = 1_000;
    for (let n = 0; n < 3; n++) expect((await through(layer, { clock })).ran).toBe(1);
  });

  it("R27: who stops waiting after its place was forgotten takes nobody else's", async () => {
    const clock = virtualClock();
    let late = 0;
    const at = { ...clock, now: () => clock.now() + late };
    const layer = rateLimiter({ limit: 1, windowMs: 1_000, onExceed: "wait" });
    await through(layer, { clock: at });
    const token = new CancellationToken();
    const waiting = through(layer, { clock: at, token });
    // The machine slept: the time has gone on, and no timer has come.
    late = 5_000;
    expect((await through(layer, { clock: at })).ran).toBe(1);
    token.cancel("enough");
    expect((await waiting).ran).toBe(0);
    const next = through(layer, { clock: at });
    await clock.advance(999);
    expect(await Promise.race([next, Promise.resolve("waits")])).toBe("waits");
    await clock.advance(1);
    expect((await next).ran).toBe(1);
  });

  it("R27: in no window of that length do more begin, whatever the times", PATIENCE, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        async (gaps, limit) => {
          const clock = virtualClock();
          const layer = rateLimiter({ limit, windowMs: 100 });
          const begun: number[] = [];
          let now = 0;
          const at = { ...clock, now: () => now };
          for (const gap of gaps) {
            now += gap;
            if ((await through(layer, { clock: at })).ran === 1) begun.push(now);
          }
          for (const start of begun)
            expect(begun.filter((time) => time >= start && time < start + 100).length).toBeLessThanOrEqual(
              limit,
            );
        },
      ),
      { numRuns: RUNS(100, 5_000) },
    );
  });

  it("R27: those who may wait begin in the order asked, each as soon as there is room", async () => {
    const clock = virtualClock();
    const layer = rateLimiter({ limit: 2, windowMs: 1_000, onExceed: "wait", maxWaitMs: 2_000 });
    const begun: string[] = [];
    const runs = ["a", "b", "c", "d", "e", "f", "g"].map(async (name) => {
      const { error } = await through(layer, { clock });
      begun.push(`${name} at ${clock.now()}${error === undefined ? "" : " refused"}`);
    });
    await clock.runAll();
    await Promise.all(runs);
    expect(begun.toSorted()).toEqual([
      "a at 0",
      "b at 0",
      "c at 1000",
      "d at 1000",
      "e at 2000",
      "f at 2000",
      "g at 0 refused",
    ]);
    expect(clock.pending).toBe(0);
  });

  it("R27: who is cancelled while others wait lets each of them move up by one place", async () => {
    const clock = virtualClock();
    const layer = rateLimiter({ limit: 1, windowMs: 1_000, onExceed: "wait", maxWaitMs: 9_000 });
    const begun: number[] = [];
    const ask = async (token?: CancellationToken): Promise<void> => {
      if ((await through(layer, { clock, token })).ran === 1) begun.push(clock.now());
    };
    await ask();
    const token = new CancellationToken();
    const waiting = [ask(token), ask()];
    token.cancel("enough");
    await waiting[0];
    waiting.push(ask(), ask());
    await clock.runAll();
    await Promise.all(waiting);
    expect(begun).toEqual([0, 1_000, 2_000, 3_000]);
    expect(clock.pending).toBe(0);
  });

  it(
    "R27: whoever gives up while waiting, the others begin in the order asked, each as soon as there is room",
    PATIENCE,
    async () => {
      const asks = fc.record({
        gap: fc.integer({ min: 0, max: 40 }),
        patience: fc.option(fc.integer({ min: 1, max: 150 })),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(asks, { maxLength: 30 }),
          fc.integer({ min: 1, max: 4 }),
          async (all, limit) => {
            const clock = virtualClock();
            const layer = rateLimiter({ limit, windowMs: 100, onExceed: "wait", maxWaitMs: 1e9 });
            const begun: number[] = [];
            const order: number[] = [];
            const waits: Promise<void>[] = [];
            const ask = async (who: number, token: CancellationToken): Promise<void> => {
              if ((await through(layer, { clock, token })).ran === 0) return;
              begun.push(clock.now());
              order.push(who);
            };
            for (const [who, { gap, patience }] of all.entries()) {
              await clock.advance(gap);
              const token = new CancellationToken();
              waits.push(ask(who, token));
              if (patience !== null) clock.setTimer(() => token.cancel("no patience"), patience);
            }
            await clock.runAll();
            await Promise.all(waits);
            expect(order).toEqual(order.toSorted((a, b) => a - b));
            for (const start of begun)
              expect(begun.filter((time) => time >= start && time < start + 100).length).toBeLessThanOrEqual(
                limit,
              );
            // Each began when it came, or exactly a window after the one that began `limit` places before it.
            const arrivals = all.map((_, who) =>
              all.slice(0, who + 1).reduce((sum, { gap }) => sum + gap, 0),
            );
            for (const [place, who] of order.entries()) {
              const room = (begun[place - limit] ?? -100) + 100;
              expect(begun[place]).toBe(Math.max(arrivals[who] ?? 0, room));
            }
          },
        ),
        { numRuns: RUNS(100, 5_000) },
      );
    },
  );

  it("R27: who is cancelled while waiting gives the place back", async () => {
    const clock = virtualClock();
    const layer = rateLimiter({ limit: 1, windowMs: 1_000, onExceed: "wait", maxWaitMs: 5_000 });
    await through(layer, { clock });
    const token = new CancellationToken();
    const waiting = through(layer, { clock, token });
    await clock.advance(10);
    token.cancel("enough");
    expect(isCancellation((await waiting).error)).toBe(true);
    expect(getEventListeners(token.signal, "abort")).toEqual([]);
    expect(clock.pending).toBe(0);
    const next = through(layer, { clock });
    await clock.runAll();
    expect((await next).ran).toBe(1);
    expect(clock.now()).toBe(1_000);
  });

  it("R27: tenants cannot be confused, and quiet ones are forgotten", async () => {
    const clock = virtualClock();
    const layer = rateLimiter({ limit: 1 });
    await through(layer, { clock });
    expect((await through(layer, { clock, tenantId: "null" })).ran).toBe(1);
    const keyed = rateLimiter({ limit: 1, key: ({ sessionId }) => sessionId });
    expect((await through(keyed, { clock, sessionId: "x" })).ran).toBe(1);
    expect((await through(keyed, { clock, sessionId: "y" })).ran).toBe(1);
    expect((await through(keyed, { clock, sessionId: "x" })).ran).toBe(0);
  });

  it("R27: a key that is no text, such as a promise, is refused: each would be a group of its own", async () => {
    const layer = rateLimiter({ limit: 1, key: (async () => "all") as never });
    const { error, ran } = await through(layer);
    expect([String(error), ran]).toEqual([expect.stringMatching(/rateLimiter\.key\(\) is .*a string/), 0]);
  });

  it("R27: of more tenants than are kept for good, none is forgotten within its window", async () => {
    const clock = virtualClock();
    const layer = rateLimiter({ limit: 1, windowMs: 1_000 });
    for (let tenant = 0; tenant < 500; tenant++) await through(layer, { clock, tenantId: `early ${tenant}` });
    await clock.advance(500);
    for (let tenant = 0; tenant < 500; tenant++) await through(layer, { clock, tenantId: `late ${tenant}` });
    await clock.advance(500);
    expect((await through(layer, { clock, tenantId: "late 0" })).ran).toBe(0);
    expect((await through(layer, { clock, tenantId: "late 499" })).ran).toBe(0);
    expect((await through(layer, { clock, tenantId: "early 0" })).ran).toBe(1);
    expect((await through(layer, { clock, tenantId: "early 0" })).ran).toBe(0);
  });
});

describe("R27: sessionValidation", () => {
  it.each(["", "a b", "../etc", "a..b", "/x", "a\0b", "x".repeat(513), "naïve"])(
    "R27: the session id %j is refused",
    async (sessionId) => {
      const { error, ran } = await through(sessionValidation(), { sessionId });
      expect(isRaviError(error, "MIDDLEWARE_TERMINATION")).toBe(true);
      expect(ran).toBe(0);
    },
  );

  it("R27: only a true from the owner lets a session be used", async () => {
    const answering = (answer: unknown) => sessionValidation({ validate: (() => answer) as () => true });
    expect((await through(answering(true))).ran).toBe(1);
    expect((await through(answering(Promise.resolve(true)))).ran).toBe(1);
    expect((await through(answering(thenable(true)))).ran).toBe(1);
    for (const no of [
      undefined,
      false,
      "",
      "expired",
      1,
      null,
      {},
      Promise.resolve("expired"),
      Promise.reject(new Error("db down")),
      // It gives nothing back from its `then`, which must not count as a yes.
      thenable("expired"),
    ]) {
      expect((await through(answering(no))).ran).toBe(0);
    }
    const relaxed = sessionValidation({
      validate: () => Promise.reject(new Error("db down")),
      onError: "allow",
    });
    expect((await through(relaxed)).ran).toBe(1);
  });

  it("R27: who validates is asked about the session of that run, and its words are told", async () => {
    const asked: unknown[] = [];
    const layer = sessionValidation({
      validate(about) {
        asked.push(about);
        return "the session has expired";
      },
    });
    const { error } = await through(layer, { sessionId: "s-7", tenantId: "acme" });
    expect(asked).toEqual([{ sessionId: "s-7", tenantId: "acme", agentName: "tester", runId: "run-1" }]);
    expect(error).toMatchObject({ reason: "the session has expired" });
  });

  it("R27: an input of exactly the allowed length is accepted", async () => {
    expect((await through(sessionValidation({ maxInputLength: 4 }), { input: "long" })).ran).toBe(1);
  });

  it("R27: an input that is too long, a missing tenant and a run that is cancelled are refused", async () => {
    expect((await through(sessionValidation({ maxInputLength: 3 }), { input: "long" })).ran).toBe(0);
    expect((await through(sessionValidation({ requireTenant: true }))).ran).toBe(0);
    expect((await through(sessionValidation({ requireTenant: true }), { tenantId: "a" })).ran).toBe(1);
    const token = new CancellationToken();
    token.cancel("before");
    expect(isCancellation((await through(sessionValidation(), { token })).error)).toBe(true);
  });
});

it("T8: a malformed session is refused in the same words, whether anybody listens or not", async () => {
  const alone = await through(sessionValidation(), { sessionId: "" });
  const hooks = recordingHooks();
  const heard = await through(sessionValidation(), { sessionId: "", hooks });
  expect(String(heard.error)).toBe(String(alone.error));
  expect(isRaviError(heard.error, "MIDDLEWARE_TERMINATION")).toBe(true);
  expect(hooks.events).toHaveLength(1);
});

describe("R27: auditLogger", () => {
  const logOf = () => {
    const entries: AuditEntry[] = [];
    return { entries, isNoop: false, append: (entry: AuditEntry) => void entries.push(entry) };
  };

  it("R27: writes down every run, with its content only when asked for", async () => {
    const log = logOf();
    await through(auditLogger({ log }), { input: "private", tenantId: "acme" });
    expect(log.entries).toMatchObject([
      {
        action: "run.begin",
        actor: "tester",
        target: "tester",
        outcome: "ok",
        details: { runId: "run-1", sessionId: "session-1", tenantId: "acme" },
      },
      { action: "run.end", outcome: "ok" },
    ]);
    expect(JSON.stringify(log.entries)).not.toContain("private");
    const open = logOf();
    await through(auditLogger({ log: open, recordContent: true }), { input: "private" });
    expect(JSON.stringify(open.entries)).toContain("private");
    expect(open.entries.at(-1)?.details).toMatchObject({ output: "ok" });
    expect(JSON.stringify(log.entries)).not.toContain('"output"');
  });

  it("R27: a guardrail's stop is a denial, another failure an error", async () => {
    const log = logOf();
    for (const error of [new MiddlewareTermination({ layer: "x", reason: "no" }), new Error("boom")]) {
      const pipeline = new MiddlewarePipeline<AgentRunContext>([auditLogger({ log })]);
      await expect(pipeline.run(agentContext(), () => Promise.reject(error))).rejects.toBe(error);
    }
    expect(log.entries.filter(({ action }) => action === "run.end").map(({ outcome }) => outcome)).toEqual([
      "denied",
      "error",
    ]);
  });

  it.each([
    ["waits for an approval", new SuspendedError("waits for a person"), "ok", "SUSPENDED"],
    ["was paused", new PausedError("tester"), "ok", "PAUSED"],
    ["was cancelled", new CancellationError("by its user"), "denied", "CANCELLED"],
    [
      "has a journal that failed",
      new JournalFailedError({ what: "append", final: true, cause: "disk full" }),
      "error",
      "JOURNAL_FAILED",
    ],
  ])("R27: a run that %s", async (_, error, outcome, code) => {
    const log = logOf();
    const pipeline = new MiddlewarePipeline<AgentRunContext>([auditLogger({ log })]);
    await expect(pipeline.run(agentContext(), () => Promise.reject(error))).rejects.toBe(error);
    expect(log.entries.at(-1)).toMatchObject({ action: "run.end", outcome, details: { code } });
  });

  it("R27: a log that fails keeps the run from beginning, unless set otherwise", async () => {
    const broken = { isNoop: false, append: () => Promise.reject(new Error("disk full")) };
    expect((await through(auditLogger({ log: broken }))).ran).toBe(0);
    expect((await through(auditLogger({ log: broken, onError: "allow" }))).ran).toBe(1);
    expect((await through(auditLogger({ log: { ...broken, isNoop: true } }))).ran).toBe(1);
    // Untyped code may have a method here: only `true` leaves the log out.
    const unclear = { ...broken, isNoop: () => false } as object as AuditLog;
    expect((await through(auditLogger({ log: unclear }))).ran).toBe(0);
  });
});
