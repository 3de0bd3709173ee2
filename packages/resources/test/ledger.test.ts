import { describe, expect, test } from "vitest";
import { executionBudget, type Ledger } from "@ravi/kernel";
import { ExecutionTracker, reserveAll } from "@ravi/resources";
import { complaint, exhaustion } from "./helpers.ts";

const CALL = { tokens: 100, cost: 0.01, turns: 1 };

describe("R18: consume adds, then throws at the first limit that is passed", () => {
  test("R18: reaching a limit is fine, passing it throws and names the dimension", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000, maxTurns: 20 }, { scope: "researcher" });
    tracker.consume({ tokens: 1000, turns: 1 });
    const error = exhaustion(() => tracker.consume({ tokens: 1 }));
    expect(error).toMatchObject({ dimension: "tokens", used: 1001, limit: 1000, scope: "researcher" });
    expect(tracker.used.tokens).toBe(1001);
  });

  test("R18: of several limits that are passed the first in the order tokens, cost, turns, toolCalls is named", () => {
    const all = { maxTokens: 0, maxCostUsd: 0, maxTurns: 0, maxToolCalls: 0 };
    const spend = { tokens: 1, cost: 1, turns: 1, toolCalls: 1 };
    const named = (budget: object): string =>
      exhaustion(() => new ExecutionTracker(budget).consume(spend)).dimension;
    expect(named(all)).toBe("tokens");
    expect(named({ ...all, maxTokens: null })).toBe("cost");
    expect(named({ ...all, maxTokens: null, maxCostUsd: null })).toBe("turns");
    expect(named({ maxToolCalls: 0 })).toBe("toolCalls");
  });

  test("R18: nothing said is nothing consumed, and of a reservation all of it", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    tracker.consume();
    tracker.charge();
    expect(tracker.used.tokens).toBe(0);
    tracker.reserve(CALL).settle();
    expect(tracker.used).toMatchObject(CALL);
    expect(tracker.open).toBe(0);
  });

  test.each([null, 500, "500"])("R18: %j is no amount", (wrong) => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    const open = tracker.reserve(CALL);
    for (const use of ["consume", "charge", "reserve", "raise"] as const)
      expect(complaint(() => Reflect.apply(tracker[use], tracker, [wrong])).message).toMatch(/tokens, cost/);
    expect(complaint(() => Reflect.apply(open.settle, open, [wrong])).message).toMatch(/tokens, cost/);
    expect([open.isOpen, tracker.used.tokens]).toEqual([true, 0]);
  });

  test("R18: null, or nothing, is no limit", () => {
    const tracker = new ExecutionTracker({ maxTokens: null });
    tracker.consume({ tokens: 1e12, cost: 1e6, turns: 1e9, toolCalls: 1e9 });
    expect(tracker.remaining()).toEqual({ tokens: null, cost: null, turns: null, toolCalls: null });
  });

  test("R18: what is consumed is consumed in every ancestor, and an ancestor's limit throws too", () => {
    const root = new ExecutionTracker({ maxTokens: 100 }, { scope: "lead" });
    const leaf = root.child({}, "researcher").child({}, "reader");
    leaf.consume({ tokens: 100, cost: 0.5 });
    expect(root.used).toEqual({ tokens: 100, cost: 0.5, turns: 0, toolCalls: 0 });
    expect(exhaustion(() => leaf.consume({ tokens: 1 })).scope).toBe("lead");
  });
});

describe("R18: ledgers that say nothing of their own", () => {
  test("R18: all of them share the budget without limits, and none of their counters", () => {
    const root = new ExecutionTracker({ maxTokens: 100 }, { scope: "lead" });
    const one = root.child({}, "one");
    const two = root.child({}, "two");
    expect(one.budget).toBe(executionBudget());
    expect(two.budget).toBe(one.budget);
    one.reserve({ tokens: 30, turns: 1 }).settle({});
    one.raise({ tokens: 50, turns: 5 });
    expect(two.used.tokens).toBe(0);
    expect(two.snapshot()).toMatchObject({ largest: { tokens: 0 } });
    expect(one.snapshot()).toMatchObject({ largest: { tokens: 30 } });
    expect(one.budget).toBe(two.budget);
    expect(root.budget.maxTokens).toBe(150);
  });

  test.each([[[]], [null], ["none"], [{ maxToken: 1 }]])("R18: %j is no budget without limits", (wrong) => {
    const root = new ExecutionTracker();
    expect(complaint(() => root.child(wrong as object, "one")).field).toMatch(/^executionBudget/);
  });
});

describe("R18: reserve before each attempt, settle after", () => {
  test("R18: what was reserved is not to be had by others until it is settled, then the rest is", () => {
    const tracker = new ExecutionTracker({ maxTokens: 150 });
    const first = tracker.reserve({ tokens: 100 });
    expect(tracker.remaining().tokens).toBe(50);
    expect(exhaustion(() => tracker.reserve({ tokens: 51 }))).toMatchObject({ used: 100, limit: 150 });
    first.settle({ tokens: 30 });
    expect(tracker.used.tokens).toBe(30);
    expect(tracker.remaining().tokens).toBe(120);
    expect(tracker.open).toBe(0);
  });

  test("R18: a reservation that does not fit somewhere takes nothing anywhere", () => {
    const root = new ExecutionTracker({ maxTokens: 50 }, { scope: "lead" });
    const child = root.child({ maxTokens: 1000 }, "researcher");
    const error = exhaustion(() => child.reserve({ tokens: 60 }));
    expect(error).toMatchObject({ scope: "lead", dimension: "tokens" });
    expect([child.open, root.open]).toEqual([0, 0]);
    expect(child.remaining().tokens).toBe(50);
  });

  test("R18: the same chain is charged at every level, and siblings share what is left above", () => {
    const root = new ExecutionTracker({ maxTurns: 10 }, { reserve: false });
    const one = root.child({}, "one");
    const two = root.child({ maxTurns: 4 }, "two");
    one.reserve({ turns: 7 }).settle({});
    expect(two.remaining().turns).toBe(3);
    expect(exhaustion(() => two.reserve({ turns: 4 })).scope).toBe("budget");
    expect(one.used.turns).toBe(7);
    expect(two.used.turns).toBe(0);
  });

  test("R18: the 21st turn of 20 is refused before it is paid", () => {
    const tracker = new ExecutionTracker({ maxTurns: 20 }, { reserve: false });
    for (let turn = 0; turn < 20; turn++) tracker.reserve({ turns: 1 }).settle({});
    expect(exhaustion(() => tracker.reserve({ turns: 1 }))).toMatchObject({
      dimension: "turns",
      used: 20,
      limit: 20,
    });
    expect(tracker.used.turns).toBe(20);
  });

  test("R18: an excess is charged in full and everywhere, is delivered with a flag, and nothing is admitted after it", () => {
    const root = new ExecutionTracker({ maxCostUsd: 1 }, { scope: "lead", reserve: false });
    const child = root.child({}, "researcher");
    const settlement = child.reserve({ ...CALL, cost: 0.9 }).settle({ tokens: 10, cost: 1.25 });
    expect(settlement.exceeded).toEqual([{ dimension: "cost", used: 1.25, limit: 1, scope: "lead" }]);
    expect(root.used.cost).toBe(1.25);
    const free = exhaustion(() => child.reserve({ tokens: 1, cost: 0, turns: 1 }));
    expect(free.hint).toContain("exceeded by $0.25");
    expect(exhaustion(() => root.child({}, "other").reserve({ toolCalls: 1 })).dimension).toBe("cost");
    expect(root.remaining().cost).toBe(0);
  });

  test("R18: it tells by how much a limit here or above is exceeded, the most of any", () => {
    const root = new ExecutionTracker({ maxCostUsd: 1, maxTokens: 100, maxTurns: 3 }, { scope: "lead" });
    const child = root.child({ maxTokens: 30, maxToolCalls: 1 }, "researcher");
    expect(child.overrun()).toEqual({ tokens: 0, cost: 0, turns: 0, toolCalls: 0 });
    child.charge({ tokens: 101, cost: 1.1, turns: 3, toolCalls: 3 });
    expect(child.overrun()).toEqual({ tokens: 71, cost: 0.1, turns: 0, toolCalls: 2 });
    expect(root.overrun()).toEqual({ tokens: 1, cost: 0.1, turns: 0, toolCalls: 0 });
    child.raise({ tokens: 70 });
    expect([child.overrun().tokens, root.overrun().tokens]).toEqual([1, 0]);
  });

  test("R18: without usage the whole reservation is charged", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000, maxCostUsd: 1 });
    tracker.reserve(CALL).settle({ estimated: true });
    expect(tracker.used).toEqual({ tokens: 100, cost: 0.01, turns: 1, toolCalls: 0 });
  });

  test("R18: what the settlement does not say is charged as reserved: the turn was taken", () => {
    const tracker = new ExecutionTracker();
    tracker.reserve(CALL).settle({ tokens: 40 });
    expect(tracker.used).toEqual({ tokens: 40, cost: 0.01, turns: 1, toolCalls: 0 });
  });

  test("R18: a deadline in its budget is told to whoever runs the agent, also after it was restored", () => {
    const tracker = new ExecutionTracker({ maxTurns: 3, deadlineS: 60 });
    expect(tracker.deadlineS).toBe(60);
    expect(ExecutionTracker.restore(tracker.snapshot()).deadlineS).toBe(60);
    expect(new ExecutionTracker({ maxTurns: 3 }).deadlineS).toBeNull();
  });

  test("R18: to settle twice is an error that charges nothing", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    const reservation = tracker.reserve({ tokens: 100 });
    reservation.settle({ tokens: 50 });
    expect(complaint(() => reservation.settle({ tokens: 50 })).message).toContain(
      "each can be settled once only",
    );
    expect(tracker.used.tokens).toBe(50);
    expect(tracker.remaining().tokens).toBe(950);
  });

  test("R18: cancel gives all of it back, and does nothing after a settlement or a second time", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    const cancelled = tracker.reserve({ tokens: 100 });
    cancelled.cancel();
    cancelled.cancel();
    expect(tracker.remaining().tokens).toBe(1000);
    const settled = tracker.reserve({ tokens: 100 });
    settled.settle({});
    settled.cancel();
    expect(tracker.used.tokens).toBe(100);
    expect(tracker.open).toBe(0);
    expect(complaint(() => cancelled.settle({ tokens: 1 })).value).toContain("cancelled");
  });

  test("R18: a settlement that makes no sense leaves the reservation open, to be settled again", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 });
    const reservation = tracker.reserve({ tokens: 100 });
    for (const tokens of [-1, Number.NaN, 1.5, Infinity]) complaint(() => reservation.settle({ tokens }));
    complaint(() => reservation.settle({ cost: -0.1 }));
    expect(tracker.remaining().tokens).toBe(900);
    reservation.settle({ tokens: 10 });
    expect(tracker.used.tokens).toBe(10);
  });

  test("R18: an estimate must say something that makes sense", () => {
    const tracker = new ExecutionTracker();
    expect(complaint(() => tracker.reserve({})).expected).toContain("at least one of tokens");
    expect(complaint(() => tracker.reserve({ tokens: -5 })).field).toBe("estimate.tokens");
    expect(complaint(() => tracker.reserve({ cost: Number.NaN })).field).toBe("estimate.cost");
    expect(complaint(() => tracker.reserve({ cost: 1e9 })).expected).toContain("9007199");
    expect(tracker.open).toBe(0);
  });

  test("R18: it is the kernel's Ledger", () => {
    const ledger: Ledger = new ExecutionTracker({ maxTokens: 5 });
    expect(ledger.child({}, "x").remaining().tokens).toBe(5);
  });
});

describe("R18: a refusal says what to do", () => {
  test("R18: it says what the call may cost, what is left, and what is held for others", () => {
    const tracker = new ExecutionTracker({ maxCostUsd: 5 }, { scope: "lead/researcher", reserve: false });
    tracker.consume({ cost: 4.9 });
    tracker.reserve({ cost: 0.04 });
    const error = exhaustion(() => tracker.reserve({ tokens: 10, cost: 0.12, turns: 1 }));
    expect(error.message).toBe(
      "cost budget of lead/researcher exhausted: 4.94 of 5; the next call may cost up to $0.12 and $0.06 is left, $0.04 reserved by 1 open call, which may give some back; raise maxCostUsd or lower maxOutputTokens",
    );
  });

  test("R18: it names the unit, and how many calls hold the rest", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100, maxTurns: 2 }, { reserve: false });
    const refused = (estimate: object): string | undefined =>
      exhaustion(() => tracker.reserve(estimate)).hint;
    tracker.reserve({ tokens: 40 });
    expect(refused({ tokens: 70 })).toMatch(/may take up to 70 tokens.* 1 open call[^s]/);
    tracker.reserve({ tokens: 40 });
    expect(refused({ tokens: 70 })).toContain("2 open calls");
  });

  test.each([
    {
      spent: 700,
      expected: "the next call may take up to 400 tokens and 300 is left, all of it held back for",
    },
    { spent: 1_000, expected: "the next call may take up to 400 tokens and 0 is left; raise maxTokens" },
  ])("R18: it never holds back more than is left ($spent spent)", ({ spent, expected }) => {
    const ledger = new ExecutionTracker({ maxTokens: 1_000 }, { scope: "lead", reserve: { tokens: 500 } });
    ledger.charge({ tokens: spent });
    expect(exhaustion(() => ledger.reserve({ tokens: 400 })).hint).toContain(expected);
  });

  test("R18: it says when the last turn is what is held back", () => {
    const tracker = new ExecutionTracker({ maxTurns: 2 });
    tracker.reserve({ turns: 1 }).settle({});
    expect(exhaustion(() => tracker.reserve({ turns: 1 })).hint).toBe(
      "1 left, 1 of it held back for the last turn (wrapUp: true); raise maxTurns",
    );
  });
});

describe("R18: a model without a price under a limit in dollars", () => {
  test("R18: is refused, whoever in the chain has the limit, and told how to give a price", () => {
    const root = new ExecutionTracker({ maxCostUsd: 5 }, { scope: "lead" });
    const child = root.child({}, "researcher");
    const error = complaint(() => child.reserve({ tokens: 100, turns: 1 }, { what: "acme:large" }));
    expect(error.message).toContain("the cost of acme:large");
    expect(error.message).toContain("lead has a limit of $5");
    expect(error.message).toContain('prices: { "acme:large": { input: 0.5, output: 1.5 } }, an option of');
    expect(root.open).toBe(0);
    const unnamed = complaint(() => child.reserve({ tokens: 100, turns: 1 })).message;
    expect(unnamed).toContain("the cost of a model call");
    expect(unnamed).toContain('"provider:model": { input: 0.5, output: 1.5 }');
  });

  test.each([{ tokens: 1 }, { turns: 1 }])("R18: %j alone is a call that needs a price", (call) => {
    const tracker = new ExecutionTracker({ maxCostUsd: 1 });
    expect(complaint(() => tracker.reserve(call)).message).toContain("price");
    tracker.reserve({ ...call, cost: 0 }).settle();
  });

  test("R18: a price of 0 is a price, a tool call needs none, and without a limit in dollars nobody asks", () => {
    const root = new ExecutionTracker({ maxCostUsd: 0 });
    root.reserve({ tokens: 100, cost: 0, turns: 1 }).settle({});
    root.reserve({ tokens: 0, turns: 0, toolCalls: 1 }).settle({});
    new ExecutionTracker({ maxTokens: 100 }).reserve({ tokens: 100, turns: 1 }).settle({});
    expect(root.used).toEqual({ tokens: 100, cost: 0, turns: 1, toolCalls: 1 });
  });
});

describe("R18: warnings", () => {
  test("R18: crossing 80 % is reported once for each limit of each ledger", () => {
    const root = new ExecutionTracker({ maxTokens: 100, maxTurns: 5 }, { scope: "lead", reserve: false });
    const child = root.child({ maxTokens: 90 }, "researcher");
    const step = () => child.reserve({ tokens: 15, turns: 1 }).settle({}).warnings;
    expect([step(), step(), step()].flat()).toEqual([]);
    expect(step()).toEqual([{ dimension: "turns", used: 4, limit: 5, scope: "lead" }]);
    expect(step()).toEqual([{ dimension: "tokens", used: 75, limit: 90, scope: "researcher" }]);
    expect(root.charge({ tokens: 4 }).warnings).toEqual([]);
    expect(root.charge({ tokens: 1 }).warnings).toMatchObject([
      { dimension: "tokens", used: 80, scope: "lead" },
    ]);
    expect(root.charge({ tokens: 1 }).warnings).toEqual([]);
  });

  test("R18: the threshold can be set, is inherited, and must be a part of the limit", () => {
    const root = new ExecutionTracker({ maxTokens: 100 }, { warnAt: 0.5 });
    expect(root.child({ maxTokens: 10 }, "c").charge({ tokens: 5 }).warnings).toMatchObject([{ scope: "c" }]);
    for (const warnAt of [0, -1, 1.1, Number.NaN]) complaint(() => new ExecutionTracker({}, { warnAt }));
  });

  test("R18: nothing is reported before the threshold is reached, also where it is no whole number", () => {
    const tracker = new ExecutionTracker({ maxTokens: 7 }, { warnAt: 0.5 });
    expect(tracker.charge({ tokens: 3 }).warnings).toEqual([]);
    expect(tracker.charge({ tokens: 1 }).warnings).toMatchObject([{ used: 4, limit: 7 }]);
  });

  test("R18: whether it is the same agent's must be true or false, or its snapshot could not be restored", () => {
    // @ts-expect-error a word
    expect(complaint(() => new ExecutionTracker({}, { sameAgent: "no" }))).toMatchObject({
      field: "sameAgent",
    });
  });

  test("R18: spend of nothing warns of nothing", () => {
    expect(new ExecutionTracker({ maxTokens: 0 }).charge({ turns: 1 })).toEqual({
      warnings: [],
      exceeded: [],
    });
  });

  test("R18: a limit that was passed is not reported again by a spend of something else", () => {
    const tracker = new ExecutionTracker({ maxTokens: 10 });
    expect(tracker.charge({ tokens: 11 }).exceeded).toHaveLength(1);
    expect(tracker.charge({ toolCalls: 1 })).toEqual({ warnings: [], exceeded: [] });
  });
});

describe("R18: exact money", () => {
  test("R18: 1,000,000 settles of $0.000001 sum to exactly $1", () => {
    const root = new ExecutionTracker({ maxCostUsd: 1 }, { reserve: false });
    const child = root.child({}, "child");
    for (let n = 0; n < 1_000_000; n++) child.reserve({ cost: 0.000_001 }).settle({ cost: 0.000_001 });
    expect(root.used.cost).toBe(1);
    expect(root.remaining().cost).toBe(0);
    expect(exhaustion(() => child.reserve({ cost: 1e-9 })).used).toBe(1);
  });

  test("R18: amounts that a double cannot hold still fill a limit to the brim", () => {
    for (const cost of [0.07, 0.1, 0.57, 1.1, 4.35, 1234.56]) {
      const tracker = new ExecutionTracker({ maxCostUsd: cost });
      tracker.reserve({ cost }).settle({ cost });
      expect(tracker.used.cost).toBe(cost);
      expect(tracker.remaining().cost).toBe(0);
    }
    const sum = new ExecutionTracker({ maxCostUsd: 0.3 }, { reserve: false });
    sum.reserve({ cost: 0.1 }).settle({});
    sum.reserve({ cost: 0.2 }).settle({});
    expect(sum.used.cost).toBe(0.3);
  });

  test("R18: a reservation rounds up, a limit down, a settlement to the nearest billionth", () => {
    const tracker = new ExecutionTracker({ maxCostUsd: 2.9e-9 }, { reserve: false });
    expect(tracker.remaining().cost).toBe(2e-9);
    const reservation = tracker.reserve({ cost: 1.1e-9 });
    expect(tracker.remaining().cost).toBe(0);
    reservation.settle({ cost: 1.4e-9 });
    expect(tracker.used.cost).toBe(1e-9);
  });

  test("R18: a limit that cannot be counted exactly is refused", () => {
    expect(complaint(() => new ExecutionTracker({ maxCostUsd: 1e9 })).field).toBe(
      "executionBudget.maxCostUsd",
    );
  });
});

describe("T2: what is beyond what a ledger can count is counted as the most that it can", () => {
  const MOST = { tokens: Number.MAX_SAFE_INTEGER, cost: Number.MAX_SAFE_INTEGER / 1e9 };

  test.each([
    ["cost", { maxCostUsd: 1 }, { tokens: 10, cost: 10_000_000_000.005 }],
    ["cost", { maxCostUsd: 1 }, { tokens: 10, cost: Number.MAX_VALUE }],
    ["tokens", { maxTokens: 1_000_000 }, { tokens: 2 ** 60, cost: 0 }],
  ] as const)(
    "the excess in %s under %j closes the reservation, is flagged, and nothing is admitted after",
    (dimension, budget, actual) => {
      const root = new ExecutionTracker(budget, { scope: "lead" });
      const child = root.child({}, "researcher");
      const { exceeded } = child.reserve(CALL).settle(actual);
      expect(exceeded).toMatchObject([{ dimension, used: MOST[dimension], scope: "lead" }]);
      expect(root.used[dimension]).toBe(MOST[dimension]);
      expect([root.open, root.remaining()[dimension]]).toEqual([0, 0]);
      expect(exhaustion(() => child.reserve(CALL)).dimension).toBe(dimension);
      expect(exhaustion(() => child.reserve({ toolCalls: 1 })).dimension).toBe(dimension);
    },
  );

  test("several of them stay there, with those under way, and a snapshot of it can be read again", () => {
    const root = new ExecutionTracker({ maxTurns: 10 }, { scope: "lead", reserve: false });
    const calls = [root.reserve(CALL), root.reserve(CALL), root.reserve(CALL)];
    for (const call of calls.slice(1)) call.settle({ tokens: Number.MAX_SAFE_INTEGER, cost: 8e6, turns: 1 });
    expect(root.used).toEqual({ ...MOST, turns: 2, toolCalls: 0 });
    const restored = ExecutionTracker.restore(JSON.parse(JSON.stringify(root.snapshot())));
    expect(restored.used).toEqual({ ...MOST, turns: 3, toolCalls: 0 });
    calls[0]?.cancel();
    expect(root.open).toBe(0);
    expect(root.snapshot()).toMatchObject({ held: { tokens: 0, nanos: 0, turns: 0 } });
  });

  test("what a journal says was spent is counted again as it was", () => {
    const root = new ExecutionTracker({ maxCostUsd: 1 });
    root.charge({ tokens: 2 ** 54, cost: 1e10, turns: 2 });
    expect(root.used).toEqual({ ...MOST, turns: 2, toolCalls: 0 });
  });

  test("what is no amount at all is refused as before, and so is a limit or a wish beyond it", () => {
    const root = new ExecutionTracker({ maxCostUsd: 1 });
    const call = root.reserve(CALL);
    for (const wrong of [
      { cost: Number.NaN },
      { cost: Infinity },
      { cost: -1 },
      { tokens: -1 },
      { tokens: 0.5 },
    ])
      complaint(() => call.settle(wrong));
    expect(call.isOpen).toBe(true);
    complaint(() => root.raise({ cost: 1e10 }));
    complaint(() => root.reserve({ cost: 1e10 }));
  });
});

describe("R18: reserveAll, for a tracker of the user's own beside the run's", () => {
  test("R18: a ledger is below those that its spend is counted in, and below no other", () => {
    const root = new ExecutionTracker();
    const child = root.child({}, "child");
    const grandchild = child.child({}, "grandchild");
    // One of another kind may stand before a tracker, and counts for itself.
    const before: Ledger = {
      used: root.used,
      reserve: (estimate) => root.reserve(estimate),
      charge: (spent) => root.charge(spent),
      child: (budget, scope) => root.child(budget, scope),
      remaining: () => root.remaining(),
      snapshot: () => root.snapshot(),
    };
    const others = [root, child, grandchild, before];
    expect(others.map((one) => child.isBelow(one))).toEqual([true, false, false, false]);
  });

  test("R18: takes from all or from none", () => {
    const run = new ExecutionTracker({ maxTokens: 100 }, { scope: "run", reserve: false });
    const own = new ExecutionTracker({ maxTokens: 50 }, { scope: "own", reserve: false });
    expect(exhaustion(() => reserveAll([run, own], { tokens: 60 })).scope).toBe("own");
    expect([run.open, own.open]).toEqual([0, 0]);
    const both = reserveAll([run, own], { tokens: 45 });
    expect([run.open, own.open]).toEqual([1, 1]);
    if ("then" in both) throw new Error("both answer at once, so the answer is no promise");
    expect(both.settle({ tokens: 45 })).toMatchObject({
      warnings: [{ scope: "own", used: 45 }],
      exceeded: [],
    });
    expect([run.used.tokens, own.used.tokens]).toEqual([45, 45]);
  });

  test("T2: one that refuses to be settled leaves none of the others open", () => {
    const run = new ExecutionTracker({ maxTokens: 100 }, { scope: "run" });
    const own = new ExecutionTracker({ maxTokens: 100 }, { scope: "own" });
    const broken: Ledger = new ExecutionTracker();
    const refusing: Ledger = Object.assign(broken, {
      reserve: () => ({
        settle: () => {
          throw new Error("a ledger of the user's");
        },
        cancel: () => undefined,
      }),
    });
    const all = reserveAll([run, refusing, own], { tokens: 45 });
    if ("then" in all) throw new Error("all answer at once, so the answer is no promise");
    expect(() => all.settle({ tokens: 40 })).toThrow("a ledger of the user's");
    expect([run.open, own.open, own.used.tokens]).toEqual([0, 0, 40]);
  });

  test("T2: one that cannot be given back keeps none of the others, and the refusal is what is told", () => {
    const run = new ExecutionTracker({ maxTokens: 100 }, { scope: "run" });
    const none = new ExecutionTracker({ maxTokens: 0 }, { scope: "none" });
    const stuck: Ledger = Object.assign(new ExecutionTracker(), {
      reserve: () => ({
        settle: () => ({ warnings: [], exceeded: [] }),
        cancel: () => {
          throw new Error("a ledger of the user's");
        },
      }),
    });
    expect(exhaustion(() => reserveAll([stuck, run, none], { tokens: 45 })).scope).toBe("none");
    expect(run.open).toBe(0);
    const both = reserveAll([stuck, run], { tokens: 45 });
    if ("then" in both) throw new Error("both answer at once, so the answer is no promise");
    expect(() => both.cancel()).toThrow("a ledger of the user's");
    expect([run.open, run.used.tokens]).toEqual([0, 0]);
  });

  test("R18: waits for a remote ledger and gives back what it got when that refuses", async () => {
    const run = new ExecutionTracker({ maxTokens: 100 });
    const far = new ExecutionTracker({ maxTokens: 50 });
    const remote: Ledger = {
      reserve: async (estimate) => far.reserve(estimate),
      charge: async (spent) => far.charge(spent),
      child: (budget, scope) => far.child(budget, scope),
      remaining: () => far.remaining(),
      used: far.used,
      snapshot: () => far.snapshot(),
    };
    await expect(reserveAll([run, remote], { tokens: 60 })).rejects.toThrow("tokens budget");
    expect(run.open).toBe(0);
    const both = await reserveAll([run, remote, new ExecutionTracker()], { tokens: 50 });
    await both.cancel();
    expect([run.open, far.open]).toEqual([0, 0]);
  });

  test("R18: every ledger after a remote one is asked, waited for, settled and given back like the first", async () => {
    const far = [50, 50, 20].map((maxTokens) => new ExecutionTracker({ maxTokens }, { reserve: false }));
    const [one, two, three] = far.map((ledger): Ledger =>
      Object.assign(new ExecutionTracker(), {
        reserve: async (estimate: { tokens: number }) => {
          const held = ledger.reserve(estimate);
          return {
            settle: async (actual: object) => held.settle(actual),
            cancel: async () => {
              for (let tick = 0; tick < 20; tick++) await Promise.resolve();
              held.cancel();
            },
          };
        },
      }),
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error("three were made");
    await expect(reserveAll([one, two, three], { tokens: 30 })).rejects.toThrow("tokens budget");
    expect(far.map(({ open }) => open)).toEqual([0, 0, 0]);
    const both = await reserveAll([one, two], { tokens: 30 });
    expect(far.map(({ open }) => open)).toEqual([1, 1, 0]);
    expect((await both.settle({ tokens: 45 })).warnings).toMatchObject([{ used: 45 }, { used: 45 }]);
    expect(far.map(({ used }) => used.tokens)).toEqual([45, 45, 0]);
  });
});
