import { AgentId, HookEvent, type Price } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CostReport, CostTracker, HookManager, type HookProblem, RunLogger } from "../src/index.ts";
import { llmEnd, memoryLogger, runEnd } from "./sample.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;
const { LLM_END, RUN_END } = HookEvent;

function tracked(options: ConstructorParameters<typeof CostTracker>[0] = {}) {
  const problems: HookProblem[] = [];
  const clock = virtualClock();
  const hooks = new HookManager({ clock, onError: (problem) => void problems.push(problem) });
  const tracker = new CostTracker(options);
  const detach = tracker.attachTo(hooks);
  return { hooks, tracker, detach, problems, clock };
}

describe("counting", () => {
  test("R22: usage and cost are summed per agent, per model and in total", () => {
    const { hooks, tracker } = tracked();
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 0.1 }));
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 0.2, model: "mini" }));
    void hooks.dispatch(
      LLM_END,
      llmEnd({
        costUsd: 0.3,
        agentName: "researcher",
        agentId: AgentId("researcher", 2),
        usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40 },
        status: "error",
      }),
    );
    const { total, agents, models } = tracker.report();
    expect(total).toEqual({
      calls: 3,
      failedCalls: 1,
      replayedCalls: 0,
      usage: { inputTokens: 120, outputTokens: 60, cachedInputTokens: 40 },
      costUsd: 0.6,
      pricedUsd: 0.6,
      unpricedCalls: 0,
      estimatedCalls: 0,
      estimated: false,
    });
    expect(agents.map(({ agentName, calls, costUsd }) => ({ agentName, calls, costUsd }))).toEqual([
      { agentName: "lead", calls: 2, costUsd: 0.3 },
      { agentName: "researcher", calls: 1, costUsd: 0.3 },
    ]);
    expect(models.map(({ provider, model, costUsd }) => [provider, model, costUsd])).toEqual([
      ["openai", "gpt", 0.4],
      ["openai", "mini", 0.2],
    ]);
  });

  test("R22: models stand in the order in which they were first called, and no two pairs of names are one", () => {
    const { hooks, tracker } = tracked();
    const pairs = [
      ["b", "c/d"],
      ["a", "x"],
      ["b/c", "d"],
      ["b", "x"],
    ] as const;
    for (const [provider, model] of [...pairs, ...pairs]) {
      void hooks.dispatch(LLM_END, llmEnd({ provider, model }));
    }
    const { models } = tracker.report();
    expect(models.map(({ provider, model, calls }) => [provider, model, calls])).toEqual(
      pairs.map((pair) => [...pair, 2]),
    );
  });

  test("R22: a price of 0 is a price, and no price is not 0", () => {
    const { hooks, tracker } = tracked();
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 0, model: "free" }));
    expect(tracker.report().total).toMatchObject({ costUsd: 0, pricedUsd: 0, unpricedCalls: 0 });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null, model: "unknown" }));
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 2 }));
    const { total, models } = tracker.report();
    expect(total).toMatchObject({ calls: 3, costUsd: null, pricedUsd: 2, unpricedCalls: 1 });
    expect(models.map(({ model, costUsd }) => [model, costUsd])).toEqual([
      ["free", 0],
      ["unknown", null],
      ["gpt", 2],
    ]);
  });

  test("R22: what a resumed run tells again is shown, and neither counted nor reported twice", () => {
    const reports: CostReport[] = [];
    const { hooks, tracker } = tracked({ onReport: (report) => reports.push(report) });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1, replayed: true }));
    void hooks.dispatch(RUN_END, runEnd({ replayed: true }));
    expect(reports).toEqual([]);
    expect(tracker.report().total).toMatchObject({
      calls: 1,
      replayedCalls: 1,
      costUsd: 1,
      usage: { inputTokens: 10, outputTokens: 5 },
    });
  });

  test("R22: an estimated call is flagged in every sum it is part of, and in no other", () => {
    const { hooks, tracker } = tracked();
    void hooks.dispatch(LLM_END, llmEnd({ agentName: "careful" }));
    void hooks.dispatch(LLM_END, llmEnd({ estimated: true }));
    const { total, agents } = tracker.report();
    expect(total).toMatchObject({ estimated: true, estimatedCalls: 1 });
    expect(agents.map(({ agentName, estimated }) => [agentName, estimated])).toEqual([
      ["careful", false],
      ["lead", true],
    ]);
  });

  test("R22: an event without usage is reported, and nothing of it is counted", () => {
    const { hooks, tracker, problems } = tracked();
    void hooks.dispatch(LLM_END, llmEnd({ usage: undefined as never }));
    expect(tracker.report().total).toMatchObject({ calls: 0, costUsd: 0 });
    expect(problems.map(({ kind }) => kind)).toEqual(["failed"]);
  });

  test("R22: an agent or model with the name of a prototype's field is a line like any other", () => {
    const { hooks, tracker } = tracked();
    for (const name of ["__proto__", "constructor"]) {
      void hooks.dispatch(LLM_END, llmEnd({ agentName: name, model: name, costUsd: 1 }));
    }
    expect(tracker.report().agents.map(({ agentName, costUsd }) => [agentName, costUsd])).toEqual([
      ["__proto__", 1],
      ["constructor", 1],
    ]);
  });

  test("R22: a report is frozen and does not change afterwards", () => {
    const { hooks, tracker } = tracked();
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    const report = tracker.report();
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    expect(report.total.calls).toBe(1);
    expect(
      [report, report.total, report.total.usage, report.agents, report.agents[0]].every(Object.isFrozen),
    ).toBe(true);
  });

  test("R22: a million calls of $0.000001 cost $1", () => {
    const tracker = new CostTracker();
    let tell: ((payload: never) => unknown) | undefined;
    tracker.attachTo({
      on: (event, callback) => {
        if (event === LLM_END) tell = callback as typeof tell;
        return () => {};
      },
      onAny: () => () => {},
    });
    const call = llmEnd({ costUsd: 0.000001 });
    for (let n = 0; n < 1_000_000; n++) tell?.(call as never);
    expect(tracker.report().total).toMatchObject({ costUsd: 1, calls: 1_000_000 });
  });

  test("R22: for any calls the parts sum to the whole, and the sum is the exact one rounded", () => {
    const call = fc.record({
      agentName: fc.constantFrom("a", "b", "c"),
      model: fc.constantFrom("m", "n"),
      // In units of a pico-dollar, from nothing to a thousand dollars.
      pico: fc.option(
        fc.oneof(
          fc.nat({ max: 1_000_000 }),
          fc.maxSafeNat().map((n) => n % 1e15),
        ),
        { nil: null },
      ),
      tokens: fc.nat({ max: 1_000_000 }),
      replayed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60, size: "max" }), (calls) => {
        const { hooks, tracker } = tracked();
        for (const { agentName, model, pico, tokens, replayed } of calls) {
          const usage = { inputTokens: tokens, outputTokens: 1 };
          const costUsd = pico === null ? null : pico / 1e12;
          void hooks.dispatch(LLM_END, llmEnd({ agentName, model, usage, costUsd, replayed }));
        }
        const paid = calls.filter(({ replayed }) => !replayed);
        const exact = Number(paid.reduce((sum, { pico }) => sum + BigInt(pico ?? 0), 0n)) / 1e12;
        const { total, agents, models } = tracker.report();
        expect(total.calls).toBe(paid.length);
        expect(total.unpricedCalls).toBe(paid.filter(({ pico }) => pico === null).length);
        expect(total.costUsd === null).toBe(total.unpricedCalls > 0);
        expect(Math.abs(total.pricedUsd - exact)).toBeLessThanOrEqual(exact * 1e-14);
        for (const parts of [agents, models]) {
          const sum = (read: (part: (typeof parts)[number]) => number) =>
            parts.reduce((before, part) => before + read(part), 0);
          expect(sum((part) => part.calls)).toBe(total.calls);
          expect(sum((part) => part.unpricedCalls)).toBe(total.unpricedCalls);
          expect(sum((part) => part.usage.inputTokens)).toBe(total.usage.inputTokens);
          expect(sum((part) => part.pricedUsd)).toBeCloseTo(total.pricedUsd, 9);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

describe("pricing", () => {
  test("R22: a call without a price is priced by the meter, which is asked for no other", () => {
    const asked: unknown[] = [];
    const meter = {
      price: (...args: unknown[]): Price => {
        asked.push(args);
        return { usd: 0.5 };
      },
    };
    const { hooks, tracker } = tracked({ meter });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 0 }));
    expect(asked).toEqual([]);
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    expect(asked).toEqual([
      [
        { provider: "openai", model: "gpt" },
        { inputTokens: 10, outputTokens: 5 },
      ],
    ]);
    expect(tracker.report().total.costUsd).toBe(0.5);
  });

  test.each([
    ["says so", { unpriced: true }],
    ["gives NaN", { usd: Number.NaN }],
    ["gives a negative price", { usd: -1 }],
    ["gives infinity", { usd: Infinity }],
  ] as const)("R22: a call stays unpriced when the meter %s", (_what, price) => {
    const { hooks, tracker } = tracked({ meter: { price: () => price } });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    expect(tracker.report().total).toMatchObject({ costUsd: null, pricedUsd: 0, unpricedCalls: 1 });
  });

  test("R22: a meter that fails leaves the call unpriced and is reported", async () => {
    for (const price of [
      (): never => {
        throw new Error("no book");
      },
      () => Promise.reject(new Error("no book")),
    ]) {
      const { hooks, tracker, problems } = tracked({ meter: { price } });
      await hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
      expect(tracker.report().total).toMatchObject({ calls: 1, costUsd: null, unpricedCalls: 1 });
      expect(problems.map(({ kind, listener }) => [kind, listener])).toEqual([["failed", "costTracker"]]);
    }
  });

  test("R22: the report at RUN_END waits for prices that are being looked up", async () => {
    const lookup = Promise.withResolvers<Price>();
    const reports: CostReport[] = [];
    const { hooks, tracker } = tracked({
      meter: { price: () => lookup.promise },
      onReport: (report) => reports.push(report),
    });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    void hooks.dispatch(RUN_END, runEnd());
    expect(reports).toEqual([]);
    expect(tracker.report().total).toMatchObject({ costUsd: null, unpricedCalls: 1 });
    lookup.resolve({ usd: 3 });
    await hooks.drain();
    expect(reports.map(({ total }) => total.costUsd)).toEqual([3]);
  });

  test("R22: a lookup that never ends is reported by the hooks and holds up nobody", async () => {
    const { hooks, tracker, problems, clock } = tracked({
      meter: { price: () => new Promise<Price>(() => {}) },
    });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    void hooks.dispatch(RUN_END, runEnd());
    const drained = hooks.drain();
    await clock.runAll();
    expect(await drained).toBeUndefined();
    expect(problems.map(({ kind, event }) => [kind, event])).toEqual([
      ["hung", LLM_END],
      ["hung", RUN_END],
    ]);
    expect(tracker.report().total.unpricedCalls).toBe(1);
  });
});

test("R22: a price that is found is reported at once, and nothing waits for it any longer", async () => {
  const clock = virtualClock();
  const hooks = new HookManager({ clock });
  const logger = memoryLogger();
  const price = async (): Promise<Price> => ({ usd: 0.5 });
  new CostTracker({ clock, meter: { price }, logger }).attachTo(hooks);
  void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
  await hooks.dispatch(RUN_END, runEnd());
  expect(clock.now()).toBe(0);
  expect(clock.pending).toBe(0);
  expect(JSON.stringify(logger.lines)).toContain('cost of 1 model call so far: $0.500000"');
});

test("R22: a lookup that never ends keeps no report back, neither of its run nor of later ones", async () => {
  const clock = virtualClock();
  const hooks = new HookManager({ clock });
  const reports: CostReport[] = [];
  const price = (): Promise<Price> => new Promise(() => {});
  new CostTracker({ clock, meter: { price }, onReport: (report) => reports.push(report) }).attachTo(hooks);
  void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
  void hooks.dispatch(RUN_END, runEnd());
  await clock.runAll();
  expect(reports.map(({ total }) => total.unpricedCalls)).toEqual([1]);
  void hooks.dispatch(RUN_END, runEnd());
  expect(reports).toHaveLength(2);
  expect(clock.pending).toBe(0);
});

describe("reporting", () => {
  test("R22: the sums are told at RUN_END, as data and as a line that never shows an unknown price as $0", () => {
    const logger = memoryLogger();
    const told: unknown[] = [];
    const { hooks, tracker } = tracked({ logger, onReport: (report, run) => told.push([report, run.runId]) });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 0.25, estimated: true }));
    void hooks.dispatch(RUN_END, runEnd());
    expect(told).toEqual([[tracker.report(), "run-1"]]);
    expect(logger.lines).toEqual([
      {
        level: "info",
        message:
          "lead ended; cost of 2 model calls so far: about $0.250000, and the price of 1 model call is unknown",
        fields: expect.objectContaining({ runId: "run-1", costUsd: null, unpricedCalls: 1, inputTokens: 20 }),
      },
    ]);
  });

  test("R22: detach stops counting and keeps the sums; reset forgets them, and prices that come late", async () => {
    const lookup = Promise.withResolvers<Price>();
    const { hooks, tracker, detach } = tracked({ meter: { price: () => lookup.promise } });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    tracker.reset();
    lookup.resolve({ usd: 1 });
    await hooks.drain();
    expect(tracker.report()).toMatchObject({ total: { calls: 0, costUsd: 0 }, agents: [], models: [] });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    detach();
    expect(hooks.has(LLM_END)).toBe(false);
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    expect(tracker.report().total.costUsd).toBe(1);
  });

  test("R22: after a reset, a report does not wait for prices of what was forgotten", () => {
    const told: unknown[] = [];
    const meter = { price: () => new Promise<Price>(() => {}) };
    const { hooks, tracker } = tracked({ meter, onReport: ({ total }) => told.push(total.calls) });
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: null }));
    tracker.reset();
    void hooks.dispatch(RUN_END, runEnd());
    expect(told).toEqual([0]);
  });

  test("R22: attached twice to the same hooks it counts once, also after they were cleared; two hooks add up", () => {
    const { hooks, tracker } = tracked();
    const other = new HookManager();
    tracker.attachTo(hooks);
    tracker.attachTo(other);
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    void other.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    expect(tracker.report().total.costUsd).toBe(2);
    hooks.clear();
    tracker.attachTo(hooks);
    void hooks.dispatch(LLM_END, llmEnd({ costUsd: 1 }));
    expect(tracker.report().total.costUsd).toBe(3);
    tracker.detach();
    expect([hooks.has(LLM_END), other.has(RUN_END)]).toEqual([false, false]);
  });

  test("R22: an event that two hooks are told, as those of a runtime and of an agent are, counts once", () => {
    const reports: (number | null)[] = [];
    const tracker = new CostTracker({ onReport: ({ total }) => reports.push(total.costUsd) });
    const log = new RunLogger();
    const both = [new HookManager(), new HookManager()];
    for (const hooks of both) {
      tracker.attachTo(hooks);
      log.attachTo(hooks);
    }
    const [call, run] = [llmEnd({ costUsd: 1 }), runEnd()];
    for (const hooks of both) void hooks.dispatchOwn(LLM_END, call);
    for (const hooks of both) void hooks.dispatchOwn(RUN_END, run);
    expect(reports).toEqual([1]);
    expect(log.entries().map(({ event }) => event)).toEqual([LLM_END, RUN_END]);
    void both[0]?.dispatchOwn(LLM_END, call);
    expect(tracker.report().total.costUsd, "told again by the one that told it first").toBe(2);
  });

  test("R22: a misspelt option is refused", () => {
    expect(() => new CostTracker({ prices: {} } as never)).toThrow(/CostTracker options.prices/);
  });
});
