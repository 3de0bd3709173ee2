import { describe, expect, test } from "vitest";
import type { ExecutionBudgetOptions, Spend } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { exhaustion } from "./helpers.ts";

const DIMENSIONS = ["tokens", "cost", "turns", "toolCalls"] as const;
type Dimension = (typeof DIMENSIONS)[number];

const LIMITS = { tokens: "maxTokens", cost: "maxCostUsd", turns: "maxTurns", toolCalls: "maxToolCalls" };

/** A limit of 10 in this dimension. */
const ten = (dimension: Dimension): ExecutionBudgetOptions => ({ [LIMITS[dimension]]: 10 });
const ALL = { maxTokens: 10, maxCostUsd: 10, maxTurns: 10, maxToolCalls: 10 };

const some = (dimension: Dimension, amount: number): Partial<Spend> => ({ [dimension]: amount });
const ledger = (budget: ExecutionBudgetOptions): ExecutionTracker =>
  new ExecutionTracker(budget, { scope: "lead", reserve: false });

describe.each(DIMENSIONS)("R18: a limit on %s, whatever the others are", (dimension) => {
  test("R18: is reached without an error, and passed with one", () => {
    for (const budget of [ten(dimension), ALL]) {
      const tracker = ledger(budget);
      tracker.consume(some(dimension, 10));
      expect(exhaustion(() => tracker.consume(some(dimension, 1))).dimension).toBe(dimension);
    }
  });

  test("R18: counts what is reserved, and gives it back", () => {
    const tracker = ledger(ALL);
    const priced = { cost: 0, ...some(dimension, 6) };
    const first = tracker.reserve(priced);
    expect(tracker.remaining()).toEqual({
      tokens: 10,
      cost: 10,
      turns: 10,
      toolCalls: 10,
      ...some(dimension, 4),
    });
    expect(exhaustion(() => tracker.reserve(priced)).dimension).toBe(dimension);
    first.cancel();
    tracker.reserve(priced).settle();
    expect(tracker.used[dimension]).toBe(6);
  });

  test("R18: is warned of at the threshold, once, and is exceeded only above it", () => {
    const tracker = ledger(ALL);
    expect(tracker.charge(some(dimension, 7)).warnings).toEqual([]);
    const warning = { dimension, used: 8, limit: 10, scope: "lead" };
    expect(tracker.charge(some(dimension, 1))).toEqual({ warnings: [warning], exceeded: [] });
    expect(tracker.charge(some(dimension, 2))).toEqual({ warnings: [], exceeded: [] });
    expect(tracker.charge(some(dimension, 1))).toEqual({
      warnings: [],
      exceeded: [{ ...warning, used: 11 }],
    });
  });

  test("R18: keeps its warning, whichever other was warned of before", () => {
    const tracker = ledger(ALL);
    for (const other of DIMENSIONS) if (other !== dimension) tracker.charge(some(other, 8));
    const restored = ExecutionTracker.restore(JSON.parse(JSON.stringify(tracker.snapshot())));
    for (const one of [tracker, restored]) {
      expect(one.charge(some(dimension, 8)).warnings).toMatchObject([{ dimension }]);
      for (const other of DIMENSIONS) expect(one.charge(some(other, 1)).warnings).toEqual([]);
    }
  });

  test("R18: is never counted beyond what can be counted", () => {
    const tracker = ledger({});
    const most = dimension === "cost" ? 9e6 : Number.MAX_SAFE_INTEGER;
    tracker.charge(some(dimension, most));
    tracker.charge(some(dimension, most));
    expect(tracker.used[dimension]).toBeGreaterThanOrEqual(most);
    expect(ExecutionTracker.restore(tracker.snapshot()).used).toEqual(tracker.used);
  });
});

test("R18: a threshold of 1 warns when the limit is reached", () => {
  const tracker = new ExecutionTracker({ maxTokens: 10 }, { scope: "lead", warnAt: 1 });
  expect(tracker.charge({ tokens: 9 }).warnings).toEqual([]);
  const reached = { dimension: "tokens", used: 10, limit: 10, scope: "lead" };
  expect(tracker.charge({ tokens: 1 })).toEqual({ warnings: [reached], exceeded: [] });
});

test("R18: one charge that crosses limits here and above reports all of them", () => {
  const root = ledger({ maxTokens: 10 });
  const settled = root.child({ maxTokens: 10 }, "helper").charge({ tokens: 11 });
  const scopes = (reports: readonly { readonly scope: string }[]) => reports.map(({ scope }) => scope);
  expect([scopes(settled.warnings), scopes(settled.exceeded)]).toEqual([
    ["helper", "lead"],
    ["helper", "lead"],
  ]);
});

test("R18: the limit that is passed is named, and not one that is only reached", () => {
  const reached = { tokens: 10, cost: 10, turns: 10, toolCalls: 10 };
  for (const dimension of DIMENSIONS)
    expect(exhaustion(() => ledger(ALL).consume({ ...reached, [dimension]: 11 })).dimension).toBe(dimension);
});
