import type { JsonObject, Ledger, Spend } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import {
  assertLedgerCase,
  describeLedger,
  type LedgerCase,
  ledgerCases,
  type LedgerSetup,
  type LedgerSuite,
} from "../src/suites/index.ts";
import { type Amounts, HonestLedger, NAMES } from "./planted/honest-ledger.ts";
import { PLANTED_LEDGERS, WaitingLedger } from "./planted/planted-ledgers.ts";

/** What a ledger of that kind offers beyond `open`. */
function suiteOf(Kind: typeof HonestLedger): LedgerSuite {
  return {
    second: (ledger, setup) => {
      if (!(ledger instanceof HonestLedger)) throw new TypeError("a ledger of these tests was expected");
      return new Kind(setup, ledger.account);
    },
    restore: (snapshot, setup) => {
      const restored = new Kind(setup);
      const { limits, used } = restored.account;
      const amount = (field: string, name: keyof Spend): number =>
        Number((snapshot[field] as JsonObject)[name]);
      for (const name of NAMES) {
        if (limits[name] !== null) limits[name] = amount("limits", name);
        used[name] = amount("used", name) + amount("held", name);
      }
      return restored;
    },
    holdingBack: (setup) => new HoldingLedger(setup),
  };
}

/** Holds one turn back. */
class HoldingLedger extends HonestLedger {
  override reserve(estimate: Partial<Spend>, options: { readonly wrapUp?: boolean | undefined } = {}) {
    if (options.wrapUp !== true) this.check({ ...estimate, turns: (estimate.turns ?? 0) + 1 });
    return super.reserve(estimate);
  }
}

/** Answers later, as one does that asks another process: what it says comes after the next turn of the event loop. */
class FarLedger extends HonestLedger {
  override async reserve(estimate: Partial<Spend>) {
    await later();
    return super.reserve(estimate);
  }
  override async charge(spent: Partial<Spend>) {
    await later();
    return super.charge(spent);
  }
  protected override reservation(reserved: Amounts) {
    const one = super.reservation(reserved);
    return {
      settle: async (actual: Partial<Spend>) => {
        await later();
        const settlement = await one.settle(actual);
        await later();
        return settlement;
      },
      cancel: async () => {
        await later();
        await one.cancel();
      },
    };
  }
}

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const open =
  (Kind: typeof HonestLedger) =>
  (setup: LedgerSetup): Ledger =>
    new Kind(setup);

describeLedger("that is honest", open(HonestLedger), suiteOf(HonestLedger));
describeLedger("in which calls wait", open(WaitingLedger), suiteOf(WaitingLedger));
describeLedger("that is far away", open(FarLedger), suiteOf(FarLedger));
describeLedger("without a raise", (setup) => Object.assign(new HonestLedger(setup), { raise: undefined }));

describe("the suite", () => {
  for (const { says, caughtBy, Broken } of PLANTED_LEDGERS) {
    test(`catches a ledger that ${says}`, { timeout: 60_000 }, async () => {
      const found = ledgerCases.filter((each) => each.says.includes(caughtBy));
      expect(found.map((each) => each.says)).not.toEqual([]);
      for (const each of found)
        await expect(assertLedgerCase(each, open(Broken), suiteOf(Broken))).rejects.toThrow(Error);
    });
  }

  test("closes what it has opened, also after a case that fails", async () => {
    const opened: Ledger[] = [];
    const closed: Ledger[] = [];
    const failing: LedgerCase = {
      rule: "R18",
      says: "fails",
      async run(stage) {
        await stage.open({});
        await stage.second(await stage.open({}));
      },
    };
    const openOne = (setup: LedgerSetup): Ledger => {
      opened.push(new HonestLedger(setup));
      return opened.at(-1) as Ledger;
    };
    const suite: LedgerSuite = { close: (ledger) => void closed.push(ledger) };
    await expect(assertLedgerCase(failing, openOne, suite)).rejects.toThrow("the suite has no second");
    expect(opened).toHaveLength(2);
    expect(closed).toEqual(opened);
  });
});

test("every case has a name of its own, and says which rule it belongs to", () => {
  const names = ledgerCases.map(({ rule, says }) => `${rule}: ${says}`);
  expect(new Set(names).size).toBe(names.length);
  expect(ledgerCases.filter(({ rule }) => !/^[A-Z]\d+$/.test(rule))).toEqual([]);
});
