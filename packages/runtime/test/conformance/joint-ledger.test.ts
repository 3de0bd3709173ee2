import { expect } from "vitest";
import type { Ledger } from "@ravi/kernel";
import { describeLedger, type LedgerSetup } from "@ravi/testing/suites";
import { withAgentLedger } from "../../src/tree/ledgers.ts";
import { agent, done } from "../support/helpers.ts";
import { PlainLedger } from "./plain-ledger.ts";

/** The ledger of a run together with the one that the user gave to the agent. */
function joint(run: Ledger, own: Ledger): Ledger {
  const payer = { ...agent("payer", async () => done("")), defaults: { executionBudget: own } };
  return withAgentLedger(payer, run) as Ledger;
}

/** Without `raise`: only the run's ledger is raised, so with limits in the other one the sums would not agree. */
function fixed(ledger: Ledger): Ledger {
  return {
    reserve: (estimate, options) => ledger.reserve(estimate, options),
    charge: (spent, options) => ledger.charge(spent, options),
    child: (budget, scope) => fixed(ledger.child(budget, scope)),
    remaining: () => ledger.remaining(),
    overrun: () => ledger.overrun?.() ?? expect.unreachable("a plain ledger has it"),
    get used() {
      return ledger.used;
    },
    snapshot: () => ledger.snapshot(),
  };
}

const open = ({ budget, scope }: LedgerSetup): Ledger => new PlainLedger(budget, scope);
const unlimited = (): Ledger => new PlainLedger({}, "unlimited");

describeLedger("of a run alone", open);
describeLedger("of a run, joined with an agent's own", (setup) => joint(open(setup), unlimited()));
describeLedger("that an agent has of its own, joined with the run's", (setup) =>
  joint(fixed(unlimited()), open(setup)),
);
describeLedger("of a run, joined with two agents' own", (setup) =>
  joint(joint(open(setup), unlimited()), unlimited()),
);
