import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Actual, type ExecutionBudgetOptions, InvalidValueError, type Spend } from "@ravi/kernel";
import { ExecutionTracker, restoreLedgers } from "@ravi/resources";
import {
  type LedgerUnderTest,
  play,
  type ReservationUnderTest,
  scripts,
  type Step,
  type System,
} from "./budget-model.ts";

const RUNS = process.env["RAVI_LONG"] ? 100_000 : 1_000;
const TIME = process.env["RAVI_LONG"] ? 3_600_000 : 60_000;

const HONEST: readonly Step["kind"][] = [
  "reserve",
  "reserve",
  "reserve",
  "settle",
  "settle",
  "estimated",
  "cancel",
  "again",
];
const ALL: readonly Step["kind"][] = [...HONEST, "lie", "lie", "consume", "restart"];

const real: System = {
  root: (budget, holdsBack) => new ExecutionTracker(budget, holdsBack ? {} : { reserve: false }),
  restart: (ledgers) => {
    const trackers = ledgers.filter((one) => one instanceof ExecutionTracker);
    const snapshots = JSON.parse(JSON.stringify(trackers.map((one) => one.snapshot()))) as unknown[];
    const tree = restoreLedgers(snapshots, { open: "keep" });
    const restored = trackers.map((one) => {
      const again = tree.get(one.scope);
      if (again === undefined) throw new Error(`${one.scope} was not restored`);
      return again;
    });
    return {
      ledgers: restored,
      find: (node, id) => {
        const found = restored[node]?.reservation(id);
        if (found === undefined) throw new Error(`reservation ${id} of ledger ${node} is gone`);
        return found;
      },
    };
  },
};

describe("T2: nested budgets hold, in any order of reserving, settling, cancelling", () => {
  test(
    "T2: with a provider that keeps its maximum, no ledger passes any limit, and all sums are exact",
    () => {
      fc.assert(
        fc.property(scripts(HONEST), (script) => play(real, script)),
        { numRuns: RUNS },
      );
    },
    TIME,
  );

  test(
    "T2: with one that lies, with consume and with restarts in between, only the excess in flight is over",
    () => {
      fc.assert(
        fc.property(scripts(ALL), (script) => play(real, script)),
        { numRuns: RUNS },
      );
    },
    TIME,
  );
});

/** A ledger with one rule broken, around the real one. */
class Broken implements LedgerUnderTest {
  readonly inner: ExecutionTracker;
  readonly above: Broken | undefined;
  constructor(inner: ExecutionTracker, above?: Broken) {
    this.inner = inner;
    this.above = above;
  }
  reserve(estimate: Partial<Spend>, options: { wrapUp: boolean }): ReservationUnderTest {
    return this.inner.reserve(estimate, options);
  }
  child(budget: ExecutionBudgetOptions, scope: string): LedgerUnderTest {
    const Kind = this.constructor as typeof Broken;
    return new Kind(this.inner.child(budget, scope), this);
  }
  consume(spend: Partial<Spend>): void {
    this.inner.consume(spend);
  }
  get used(): Spend {
    return this.inner.used;
  }
  get open(): number {
    return this.inner.open;
  }
}

/** From the third level on, the ledger above is passed over. */
class SkipsAnAncestor extends Broken {
  override child(budget: ExecutionBudgetOptions, scope: string): LedgerUnderTest {
    return new SkipsAnAncestor((this.above ?? this).inner.child(budget, scope), this);
  }
}

class SettlesTwice extends Broken {
  override reserve(estimate: Partial<Spend>, options: { wrapUp: boolean }): ReservationUnderTest {
    const held = this.inner.reserve(estimate, options);
    return {
      id: held.id,
      cancel: () => held.cancel(),
      settle: (actual) => {
        if (held.isOpen) return held.settle(actual);
        this.inner.charge(actual);
        throw new InvalidValueError({ field: "reservation", value: "settled", expected: "an open one" });
      },
    };
  }
}

/** Looks whether the limit is passed already, as everybody else does, and sets nothing aside. */
class ChecksInsteadOfReserving extends Broken {
  override reserve(estimate: Partial<Spend>): ReservationUnderTest {
    this.inner.consume({});
    return {
      id: 0,
      cancel: () => {},
      settle: (actual: Actual) => this.inner.charge({ ...estimate, ...actual }),
    };
  }
}

class KeepsTheRest extends Broken {
  override reserve(estimate: Partial<Spend>, options: { wrapUp: boolean }): ReservationUnderTest {
    const held = this.inner.reserve(estimate, options);
    return { id: held.id, cancel: () => held.cancel(), settle: () => held.settle({}) };
  }
}

class ForgetsToGiveBack extends Broken {
  override reserve(estimate: Partial<Spend>, options: { wrapUp: boolean }): ReservationUnderTest {
    const held = this.inner.reserve(estimate, options);
    return { id: held.id, cancel: () => {}, settle: (actual) => held.settle(actual) };
  }
}

describe("T2: the oracle bites", () => {
  const planted = [
    ["a reservation skips an ancestor", SkipsAnAncestor],
    ["settling twice charges twice", SettlesTwice],
    ["a limit is checked with `>` instead of reserved", ChecksInsteadOfReserving],
    ["the rest is not given back", KeepsTheRest],
    ["a cancelled reservation stays taken", ForgetsToGiveBack],
  ] as const;

  test.each(planted)("T2: it is noticed when %s", (_, Kind) => {
    const broken: System = {
      root: (budget, holdsBack) =>
        new Kind(new ExecutionTracker(budget, holdsBack ? {} : { reserve: false })),
      restart: () => {
        throw new Error("not part of this script");
      },
    };
    const outcome = fc.check(
      fc.property(scripts(HONEST), (script) => play(broken, script)),
      {
        numRuns: 1_000,
        endOnFailure: true,
      },
    );
    expect(outcome.failed).toBe(true);
    expect(String(outcome.errorInstance)).toMatch(/reserve on|says|passed its|open/);
  });
});

/** Many calls at once, each of which takes its time to answer. */
async function fiftyCalls(
  root: ExecutionTracker,
  answer: (reserved: number) => number,
): Promise<{ admitted: number; inFlight: number; admittedAfterBreach: number }> {
  const agents = Array.from({ length: 50 }, (_, index) =>
    root.child(index % 3 === 0 ? { maxCostUsd: 2 } : {}, `agent ${index}`),
  );
  let admitted = 0;
  let flying = 0;
  let inFlight = 0;
  let admittedAfterBreach = 0;
  await Promise.all(
    agents.map(async (agent, index) => {
      for (let attempt = 0; attempt < 10; attempt++) {
        const cost = 0.05 + ((index * 7 + attempt * 13) % 20) / 100;
        const breached = root.used.cost > 5;
        let reservation;
        try {
          reservation = agent.reserve({ tokens: 1000, cost, turns: 1 });
        } catch {
          await Promise.resolve();
          continue;
        }
        admitted++;
        if (breached) admittedAfterBreach++;
        inFlight = Math.max(inFlight, ++flying);
        for (let tick = 0; tick <= (index + attempt) % 5; tick++) await Promise.resolve();
        reservation.settle({ tokens: 1000, cost: answer(cost) });
        flying--;
      }
    }),
  );
  return { admitted, inFlight, admittedAfterBreach };
}

describe("T2: 50 parallel calls against a limit of $5", () => {
  test("T2: never pass it when the provider keeps its maximum", async () => {
    const root = new ExecutionTracker({ maxCostUsd: 5 }, { reserve: false });
    const { admitted, inFlight } = await fiftyCalls(root, (reserved) => reserved);
    expect(inFlight).toBeGreaterThan(10);
    expect(admitted).toBeGreaterThan(20);
    expect(root.used.cost).toBeLessThanOrEqual(5);
    expect(root.used.cost).toBeGreaterThan(4.9);
    expect(root.open).toBe(0);
  });

  test("T2: give back what they do not use, so that more of them can be made", async () => {
    const root = new ExecutionTracker({ maxCostUsd: 5 }, { reserve: false });
    const { admitted } = await fiftyCalls(root, (reserved) => reserved / 10);
    expect(admitted).toBeGreaterThan(200);
    expect(root.used.cost).toBeLessThanOrEqual(5);
  });

  test("T2: pass it by no more than was in flight when the provider lies, and then no call is admitted", async () => {
    const root = new ExecutionTracker({ maxCostUsd: 5 }, { reserve: false });
    const { inFlight, admittedAfterBreach } = await fiftyCalls(root, (reserved) => reserved * 2);
    expect(root.used.cost).toBeGreaterThan(5);
    expect(root.used.cost - 5).toBeLessThanOrEqual(inFlight * 0.24);
    expect(admittedAfterBreach).toBe(0);
  });
});
