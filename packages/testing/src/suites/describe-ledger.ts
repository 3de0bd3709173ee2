import type { JsonObject, Ledger, MaybePromise } from "@ravi/kernel";
import { declareCases, offered, throughJson } from "./case.ts";
import { chargeCases } from "./ledger/charges.ts";
import { gameCases } from "./ledger/games.ts";
import { handleCases } from "./ledger/handles.ts";
import { limitCases } from "./ledger/limits.ts";
import { lineCases } from "./ledger/lines.ts";
import { nestingCases } from "./ledger/nesting.ts";
import { settlementCases } from "./ledger/settlements.ts";
import { snapshotCases } from "./ledger/snapshots.ts";
import { type LedgerCase, type LedgerSetup, ROOT } from "./ledger/stage.ts";

export type { LedgerSetup } from "./ledger/stage.ts";

/** What an implementation offers beyond `open`. Cases that need something it lacks are left out. */
export interface LedgerSuite {
  /** Opens a second handle on the same root and its counters, as another process would. */
  readonly second?: ((ledger: Ledger, setup: LedgerSetup) => MaybePromise<Ledger>) | undefined;
  /** Makes the root from what its `snapshot()` returned. */
  readonly restore?: ((snapshot: JsonObject, setup: LedgerSetup) => MaybePromise<Ledger>) | undefined;
  /** Like `open`, but the ledger holds a part of its turns back for the last one. */
  readonly holdingBack?: ((setup: LedgerSetup) => MaybePromise<Ledger>) | undefined;
  /** Called at the end of a case for each ledger that the suite has opened. */
  readonly close?: ((ledger: Ledger) => MaybePromise<void>) | undefined;
}

/** All cases of `describeLedger`. */
export const ledgerCases: readonly LedgerCase[] = [
  ...limitCases,
  ...settlementCases,
  ...nestingCases,
  ...chargeCases,
  ...snapshotCases,
  ...handleCases,
  ...lineCases,
  ...gameCases,
];

/**
 * Declares vitest tests for what every ledger must do. `open` returns a new ledger without a parent that has the given limits and
 * name, in which nothing was spent, and which holds nothing back for a last turn. A case may open several.
 */
export function describeLedger(
  name: string,
  open: (setup: LedgerSetup) => MaybePromise<Ledger>,
  suite: LedgerSuite = {},
): void {
  declareCases(
    `ledger ${name}`,
    ledgerCases,
    (needs) => suite[needs] !== undefined,
    (each) => assertLedgerCase(each, open, suite),
  );
}

/** Runs one case. Rejects if the ledger does not do what the case says. */
export async function assertLedgerCase(
  each: LedgerCase,
  open: (setup: LedgerSetup) => MaybePromise<Ledger>,
  suite: LedgerSuite = {},
): Promise<void> {
  const setups = new Map<Ledger, LedgerSetup>();
  const keep = async (setup: LedgerSetup, made: MaybePromise<Ledger>): Promise<Ledger> => {
    const ledger = await made;
    setups.set(ledger, setup);
    return ledger;
  };
  const setupOf = (ledger: Ledger): LedgerSetup => setups.get(ledger) ?? { budget: {}, scope: ROOT };
  const close = async (ledger: Ledger): Promise<void> => {
    if (setups.delete(ledger)) await suite.close?.(ledger);
  };
  try {
    await each.run({
      close,
      open: async (budget) => {
        const setup = { budget, scope: ROOT };
        return keep(setup, open(setup));
      },
      openHoldingBack: async (budget) => {
        const setup = { budget, scope: ROOT };
        return keep(setup, offered(suite, "holdingBack", each)(setup));
      },
      second: async (of) => keep(setupOf(of), offered(suite, "second", each)(of, setupOf(of))),
      restore: async (from) =>
        keep(setupOf(from), offered(suite, "restore", each)(throughJson(from.snapshot()), setupOf(from))),
    });
  } finally {
    for (const ledger of setups.keys()) await close(ledger);
  }
}
