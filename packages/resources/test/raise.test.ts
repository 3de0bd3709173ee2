import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidValueError } from "@ravi/kernel";
import { ExecutionTracker, restoreLedgers } from "@ravi/resources";
import { exhaustion } from "./helpers.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 500;

describe("R18: limits that are raised", () => {
  test("what was refused is then admitted, also where a ledger above had refused it", () => {
    const root = new ExecutionTracker({ maxTokens: 100 }, { scope: "lead", reserve: false });
    const child = root.child({ maxTokens: 80 }, "researcher");
    child.reserve({ tokens: 80 }).settle({ tokens: 80 });
    expect(exhaustion(() => child.reserve({ tokens: 30 })).scope).toBe("researcher");
    child.raise({ tokens: 30 });
    child.reserve({ tokens: 30 }).settle({ tokens: 30 });
    expect([child.budget.maxTokens, root.budget.maxTokens]).toEqual([110, 130]);
    expect([child.remaining().tokens, root.remaining().tokens]).toEqual([0, 20]);
  });

  test("only what is granted: not another dimension, not what has no limit, not a sister's own limit", () => {
    const root = new ExecutionTracker({ maxTurns: 2 }, { scope: "lead", reserve: false });
    const [one, other] = [root.child({ maxTurns: 1 }, "one"), root.child({ maxTurns: 1 }, "other")];
    one.raise({ turns: 3, tokens: 500 });
    expect(root.budget).toMatchObject({ maxTurns: 5, maxTokens: null });
    expect(root.remaining()).toMatchObject({ turns: 5, tokens: null });
    expect(one.budget.maxTurns).toBe(4);
    expect(other.budget.maxTurns).toBe(1);
  });

  test("each limit by what was granted of it, as often as it is, and the time stays as it was", () => {
    const given = { maxTokens: 10, maxCostUsd: 1, maxTurns: 2, maxToolCalls: 3, deadlineS: 60 };
    const tracker = new ExecutionTracker(given);
    // 2.01 dollars are 2009999999.9999998 billionths in a double: nothing is taken off the grant.
    for (let n = 0; n < 2; n++) tracker.raise({ tokens: 5, cost: 2.01, turns: 1, toolCalls: 4 });
    expect(tracker.budget).toMatchObject({
      maxTokens: 20,
      maxCostUsd: 5.02,
      maxTurns: 4,
      maxToolCalls: 11,
      deadlineS: 60,
    });
    expect(tracker.remaining()).toEqual({ tokens: 20, cost: 5.02, turns: 4, toolCalls: 11 });
  });

  test("the reserve for the last turn grows with the limit", () => {
    const tracker = new ExecutionTracker({ maxTurns: 1 });
    tracker.reserve({ turns: 1 }).settle({ turns: 1 });
    tracker.raise({ turns: 2 });
    tracker.reserve({ turns: 1 }).settle({ turns: 1 });
    expect(exhaustion(() => tracker.reserve({ turns: 1 })).dimension).toBe("turns");
    tracker.reserve({ turns: 1 }, { wrapUp: true }).settle({ turns: 1 });
    expect(tracker.used.turns).toBe(3);
  });

  test("warns again at the new threshold, and not at the old one", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    expect(tracker.charge({ tokens: 80 }).warnings).toHaveLength(1);
    tracker.raise({ tokens: 100 });
    expect(tracker.charge({ tokens: 79 }).warnings).toEqual([]);
    expect(tracker.charge({ tokens: 1 }).warnings).toMatchObject([{ used: 160, limit: 200 }]);
  });

  test("does not warn again where the new threshold is passed already, until the limit is", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    tracker.charge({ tokens: 95 });
    tracker.raise({ tokens: 10 });
    expect(tracker.charge({ tokens: 15 })).toEqual({ warnings: [], exceeded: [] });
    expect(tracker.charge({ tokens: 1 })).toMatchObject({
      warnings: [],
      exceeded: [{ used: 111, limit: 110 }],
    });
  });

  test("does not warn again where the new threshold is just what is used", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    tracker.charge({ tokens: 88 });
    tracker.raise({ tokens: 10 });
    expect(tracker.charge({ tokens: 1 }).warnings).toEqual([]);
  });

  test("what is not named is not granted", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1, maxCostUsd: 1, maxTurns: 1, maxToolCalls: 1 });
    tracker.raise({ turns: 1 });
    tracker.raise({ tokens: 1 });
    expect(tracker.remaining()).toEqual({ tokens: 2, cost: 1, turns: 2, toolCalls: 1 });
  });

  test("a limit that is raised beyond what can be counted stays at what can be", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100, maxCostUsd: 0.123_456_789_1, maxTurns: 1 });
    for (let n = 0; n < 2; n++) tracker.raise({ tokens: Number.MAX_SAFE_INTEGER });
    expect(tracker.budget).toMatchObject({
      maxTokens: Number.MAX_SAFE_INTEGER,
      maxCostUsd: 0.123_456_789_1,
      maxTurns: 1,
      maxToolCalls: null,
    });
    expect(tracker.charge({ turns: 1 }).warnings).toMatchObject([{ dimension: "turns" }]);
  });

  test("a snapshot has the limits as they are, and a tree comes back with them", () => {
    const root = new ExecutionTracker({ maxCostUsd: 0.07, maxTokens: 10 }, { scope: "lead" });
    const child = root.child({ maxCostUsd: 0.01 }, "researcher");
    child.raise({ cost: 0.1 });
    const back = restoreLedgers([child.snapshot(), root.snapshot()]);
    expect(back.get("lead")?.budget).toMatchObject({ maxCostUsd: 0.17, maxTokens: 10 });
    expect(back.get("researcher")?.budget.maxCostUsd).toBe(0.11);
    expect(back.get("lead")?.remaining()).toEqual(root.remaining());
  });

  test("a wrong amount is refused and changes nothing", () => {
    const tracker = new ExecutionTracker({ maxTokens: 10 });
    for (const more of [{ tokens: -1 }, { tokens: 0.5 }, { tokens: Number.NaN }, { cost: -1 }])
      expect(() => tracker.raise(more)).toThrow(InvalidValueError);
    expect(tracker.remaining().tokens).toBe(10);
  });

  test("whatever is raised and reserved in whatever order, no ledger ever passes its limit of the moment", () => {
    const step = fc.record({
      at: fc.nat(2),
      raise: fc.boolean(),
      tokens: fc.nat(60),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40, size: "max" }),
        fc.array(fc.nat(100), { minLength: 3, maxLength: 3 }),
        (steps, caps) => {
          const root = new ExecutionTracker({ maxTokens: caps[0] ?? 0 }, { scope: "0", reserve: false });
          const middle = root.child({ maxTokens: caps[1] ?? 0 }, "1");
          const chain = [root, middle, middle.child({ maxTokens: caps[2] ?? 0 }, "2")];
          const granted = [0, 0, 0];
          for (const { at, raise, tokens } of steps) {
            if (raise) {
              chain[at]?.raise({ tokens });
              for (let above = at; above >= 0; above--) granted[above] = (granted[above] ?? 0) + tokens;
              continue;
            }
            try {
              chain[at]?.reserve({ tokens }).settle({ tokens });
            } catch (error) {
              expect(error).toMatchObject({ dimension: "tokens" });
            }
            for (const [n, ledger] of chain.entries())
              expect(ledger.used.tokens).toBeLessThanOrEqual((caps[n] ?? 0) + (granted[n] ?? 0));
          }
          expect(chain.map(({ budget }) => budget.maxTokens)).toEqual(
            caps.map((cap, n) => cap + (granted[n] ?? 0)),
          );
        },
      ),
      { numRuns: RUNS },
    );
  });
});
