import { describe, expect, test } from "vitest";
import { ExecutionTracker, restoreLedgers } from "@ravi/resources";
import { complaint, exhaustion } from "./helpers.ts";

const turn = { turns: 1 };
const last = { wrapUp: true };

describe("R18: the reserve for the last turn lies inside the limit", () => {
  test("R18: of 20 turns the 20th is only for the wrap-up, and there is no 21st", () => {
    const tracker = new ExecutionTracker({ maxTurns: 20 });
    for (let n = 0; n < 19; n++) tracker.reserve(turn).settle({});
    expect(exhaustion(() => tracker.reserve(turn)).dimension).toBe("turns");
    tracker.reserve(turn, last).settle({});
    expect(tracker.used.turns).toBe(20);
    expect(exhaustion(() => tracker.reserve(turn, last)).used).toBe(20);
  });

  test("R18: nothing is held back below two turns", () => {
    const tracker = new ExecutionTracker({ maxTurns: 1 });
    tracker.reserve(turn).settle({});
    expect(exhaustion(() => tracker.reserve(turn, last)).used).toBe(1);
    exhaustion(() => new ExecutionTracker({ maxTurns: 0 }).reserve(turn));
  });

  test("R18: a tool call, which takes no turn, is not refused for the turn that is held back", () => {
    const tracker = new ExecutionTracker({ maxTurns: 2, maxToolCalls: 3 });
    tracker.reserve(turn).settle({});
    for (let n = 0; n < 3; n++) tracker.reserve({ toolCalls: 1 }).settle({});
    expect(exhaustion(() => tracker.reserve({ toolCalls: 1 })).dimension).toBe("toolCalls");
  });

  test("R18: one call that fits the limit is admitted, however large a part of it", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000, maxCostUsd: 1 });
    tracker.reserve({ tokens: 1000, cost: 1, turns: 1 }).cancel();
    expect(tracker.reserve({ tokens: 1000, cost: 1, turns: 1 }).isOpen).toBe(true);
  });

  test("R18: a conversation that grows by its answers still gets its last turn, in tokens and dollars", () => {
    const usd = (tokens: number): number => tokens * 0.000_003;
    for (const maxOutput of [200, 1000, 4000]) {
      const tracker = new ExecutionTracker({ maxTokens: 50_000, maxCostUsd: usd(50_000) });
      let input = 1500;
      const reserve = (wrapUp: boolean) =>
        tracker.reserve({ tokens: input + maxOutput, cost: usd(input + maxOutput), turns: 1 }, { wrapUp });
      let turns = 0;
      for (; ; turns++) {
        let call;
        try {
          call = reserve(false);
        } catch {
          break;
        }
        const used = input + Math.min(150, maxOutput);
        call.settle({ tokens: used, cost: usd(used) });
        input += 250;
      }
      expect(turns).toBeGreaterThan(8);
      reserve(true).settle({});
      expect(tracker.used.tokens).toBeLessThanOrEqual(50_000);
    }
  });

  test("R18: small calls cannot nibble at what the largest one needs for its last turn", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    tracker.reserve({ tokens: 200, turns: 1 }).settle({});
    let small = 0;
    for (; small < 100; small++) {
      try {
        tracker.reserve({ tokens: 10, turns: 1 }).settle({});
      } catch {
        break;
      }
    }
    expect(small).toBe(55);
    expect(tracker.reserve({ tokens: 250, turns: 1 }, last).isOpen).toBe(true);
  });

  test("R18: a helper's last turn leaves its employer's reserve alone", () => {
    const root = new ExecutionTracker({ maxTurns: 5 }, { scope: "lead" });
    const helper = root.child({}, "helper");
    for (let n = 0; n < 4; n++) helper.reserve(turn).settle({});
    expect(exhaustion(() => helper.reserve(turn, last)).scope).toBe("lead");
    root.reserve(turn, last).settle({});
    expect(root.used.turns).toBe(5);
  });

  test("R18: a helper with a limit of its own has a reserve of its own", () => {
    const root = new ExecutionTracker({ maxTurns: 20 });
    const helper = root.child({ maxTurns: 3 }, "helper");
    helper.reserve(turn).settle({});
    helper.reserve(turn).settle({});
    expect(exhaustion(() => helper.reserve(turn)).scope).toBe("helper");
    helper.reserve(turn, last).settle({});
    expect([helper.used.turns, root.used.turns]).toEqual([3, 3]);
  });

  test("R18: a second limit on the same agent shares the reserve above it", () => {
    const run = new ExecutionTracker({ maxTurns: 3 }, { scope: "run" });
    const agent = run.child({ maxTurns: 10 }, "agent", { sameAgent: true });
    const helper = agent.child({}, "helper");
    agent.reserve(turn).settle({});
    agent.reserve(turn).settle({});
    expect(exhaustion(() => helper.reserve(turn, last)).scope).toBe("run");
    agent.reserve(turn, last).settle({});
    expect(run.used.turns).toBe(3);
  });

  test("R18: a second limit on the same agent still shares the reserve after a restart", () => {
    const before = new ExecutionTracker({ maxTurns: 3 }, { scope: "run" });
    const limit = before.child({ maxTurns: 10 }, "agent", { sameAgent: true });
    for (let n = 0; n < 2; n++) limit.reserve(turn).settle({});
    const back = restoreLedgers([before.snapshot(), limit.snapshot()]);
    back.get("agent")?.reserve(turn, last).settle({});
    expect(back.get("run")?.used.turns).toBe(3);
  });

  test("R18: its size can be fixed or set to nothing, which children inherit", () => {
    const fixed = new ExecutionTracker(
      { maxTokens: 100, maxTurns: 10 },
      { reserve: { tokens: 40, turns: 2 } },
    );
    expect(exhaustion(() => fixed.reserve({ tokens: 61, turns: 1 })).dimension).toBe("tokens");
    expect(exhaustion(() => fixed.reserve({ turns: 9 })).dimension).toBe("turns");
    fixed.reserve({ tokens: 60, turns: 8 }).settle({});
    fixed.reserve({ tokens: 40, turns: 2 }, last).settle({});
    const dollars = new ExecutionTracker({ maxCostUsd: 1 }, { reserve: { cost: 0.25 } });
    expect(exhaustion(() => dollars.reserve({ cost: 0.76 })).dimension).toBe("cost");
    const none = new ExecutionTracker({ maxTurns: 2 }, { reserve: false }).child({ maxTurns: 2 }, "child");
    none.reserve({ turns: 2 }).settle({});
    expect(none.used.turns).toBe(2);
  });

  test("R18: what is charged from a record says how large the calls in it were; without a word it is one call", () => {
    const spent = { tokens: 400, turns: 4 };
    const left = (options?: Parameters<ExecutionTracker["charge"]>[1]): number => {
      const tracker = new ExecutionTracker({ maxTokens: 1000 });
      tracker.charge(spent, options);
      expect(tracker.used).toMatchObject(spent);
      let tokens = 600;
      while (tokens > 0) {
        try {
          tracker.reserve({ tokens, turns: 1 }).cancel();
          break;
        } catch {
          tokens--;
        }
      }
      return tokens;
    };
    expect(left()).toBe(100);
    expect(left({ largest: { tokens: 100, cost: 0 } })).toBe(475);
    expect(left({ largest: null })).toBe(600);
  });

  test("R18: of dollars, 1.25 times the largest call is held back, and never more than half of the limit", () => {
    const tracker = new ExecutionTracker({ maxCostUsd: 1 });
    for (const cost of [0.2, 0.1]) tracker.reserve({ cost, turns: 1 }).settle({});
    expect(exhaustion(() => tracker.reserve({ cost: 0.451, turns: 1 })).dimension).toBe("cost");
    tracker.reserve({ cost: 0.45, turns: 1 }).cancel();
    tracker.reserve({ cost: 0.7, turns: 1 }, last).cancel();
    const large = new ExecutionTracker({ maxTokens: 100 });
    large.charge({ tokens: 45, turns: 1 });
    exhaustion(() => large.reserve({ tokens: 6, turns: 1 }));
    large.reserve({ tokens: 5, turns: 1 }).settle({});
  });

  test("R18: of whole numbers, what the largest call may need is rounded up, and half of the limit down", () => {
    const heldBack = (maxTokens: number, largest: number): number => {
      const tracker = new ExecutionTracker({ maxTokens });
      tracker.reserve({ tokens: largest, turns: 1 }).settle({});
      const { hint } = exhaustion(() => tracker.reserve({ tokens: maxTokens - largest, turns: 1 }));
      return Number(/(\d+) of it held back/.exec(hint ?? "")?.[1]);
    };
    expect(heldBack(100, 5), "of 6.25").toBe(7);
    expect(heldBack(9, 4), "of 4.5, as 1.25 times the call is more").toBe(4);
  });

  test("R18: what a tool spends says nothing about the size of a last turn", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    tracker.charge({ tokens: 40, toolCalls: 1 });
    expect(tracker.reserve({ tokens: 60, turns: 1 }).isOpen).toBe(true);
  });

  test("R18: a size that is not fixed keeps the rule, and a fixed one may be nothing or the whole limit", () => {
    const mixed = new ExecutionTracker({ maxTokens: 100, maxCostUsd: 1 }, { reserve: { tokens: 0 } });
    mixed.charge({ tokens: 40, cost: 0.2, turns: 1 });
    expect(exhaustion(() => mixed.reserve({ tokens: 1, cost: 0.6, turns: 1 })).dimension).toBe("cost");
    mixed.reserve({ tokens: 60, cost: 0.55, turns: 1 }).settle({});
    const all = { tokens: 10, cost: 1, turns: 2 };
    const whole = new ExecutionTracker({ maxTokens: 10, maxCostUsd: 1, maxTurns: 2 }, { reserve: all });
    exhaustion(() => whole.reserve({ tokens: 1, cost: 0, turns: 1 }));
    whole.reserve(all, last).settle({});
    const dollars = new ExecutionTracker({ maxCostUsd: 1 }, { reserve: { cost: 0.25 } });
    dollars.reserve({ cost: 0.75 }).settle({});
    dollars.reserve({ cost: 0.25 }, last).settle({});
  });

  test("R18: a reserve above its limit is refused", () => {
    expect(complaint(() => new ExecutionTracker({ maxTokens: 10 }, { reserve: { tokens: 11 } })).field).toBe(
      "reserve.tokens",
    );
    expect(complaint(() => new ExecutionTracker({ maxCostUsd: 1 }, { reserve: { cost: 2 } })).field).toBe(
      "reserve.cost",
    );
    expect(complaint(() => new ExecutionTracker({}, { reserve: { turns: -1 } })).expected).toBe(
      "a whole number of at least 0",
    );
    expect(
      complaint(() => new ExecutionTracker({ maxTurns: 5 }, { reserve: { turns: 6 } })).expected,
    ).toContain("at most 5");
    for (const cost of [-1, Number.NaN])
      expect(complaint(() => new ExecutionTracker({}, { reserve: { cost } })).field).toBe("reserve.cost");
    const misspelt: object = { tuns: 1 };
    complaint(() => new ExecutionTracker({}, { reserve: misspelt }));
  });
});
