import type { Agent, Ledger } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";
import type { RunLog } from "../run/run-log.ts";
import { JointLedger } from "./joint-ledger.ts";

/**
 * The ledger of an execution, combined with the one that the user gave to the agent (`defaults.executionBudget`), if there is one: every
 * call then reserves from both.
 */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined, log?: RunLog): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  return ledger === undefined ? given : new JointLedger(ledger, given, log);
}

/** The restored ledger of a resumed execution, combined with the users' own ledgers of all agents above it. */
export function withExtraOf(
  parent: Ledger | undefined,
  restored: Ledger,
  scope: string,
  log?: RunLog,
): Ledger {
  let ledger = restored;
  for (let at = parent; at instanceof JointLedger; at = at.first) {
    ledger = new JointLedger(ledger, at.second.child({}, scope), log);
  }
  return ledger;
}
