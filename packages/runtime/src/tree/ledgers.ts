import type { Agent, ExecutionBudgetOptions, Ledger } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";
import type { RunLog } from "../run/run-log.ts";
import { JointLedger } from "./joint-ledger.ts";

/** By ledger of an execution: the users' own ledgers that it spends from. */
const GIVEN = new WeakMap<Ledger, readonly Ledger[]>();
const NONE: readonly Ledger[] = [];

/**
 * The ledger of an execution, combined with the one that the user gave to the agent (`defaults.executionBudget`), if there is one: every
 * call then reserves from both. One that an agent above was given too is among them already, and so is one above such a ledger. One that
 * is below such a ledger takes its place, since otherwise that would be charged twice.
 */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined, log?: RunLog): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  const above = givenTo(ledger);
  if ([...partsOf(ledger), ...above].some((one) => one === given || isBelow(one, given))) return ledger;
  const replaced = above.filter((one) => isBelow(given, one));
  const rest = partsOf(ledger).filter((part) => !replaced.some((one) => part === one || isBelow(part, one)));
  const all = [...rest, given].reduce((one, two) => new JointLedger(one, two, log));
  GIVEN.set(all, [...above.filter((one) => !replaced.includes(one)), given]);
  return all;
}

/** The ledger of a hired agent, below that of the one that hires it. */
export function childLedger(
  parent: Ledger | undefined,
  budget: ExecutionBudgetOptions,
  scope: string,
): Ledger | undefined {
  return asGiven(parent, parent?.child(budget, scope));
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
  return asGiven(parent, ledger);
}

/** Those that it combines, in their order. */
function partsOf(ledger: Ledger | undefined): readonly Ledger[] {
  if (ledger instanceof JointLedger) return [...partsOf(ledger.first), ledger.second];
  return ledger === undefined ? NONE : [ledger];
}

function isBelow(ledger: Ledger, other: Ledger): boolean {
  return ledger.isBelow?.(other) === true;
}

function givenTo(ledger: Ledger | undefined): readonly Ledger[] {
  return (ledger && GIVEN.get(ledger)) ?? NONE;
}

function asGiven<L extends Ledger | undefined>(parent: Ledger | undefined, ledger: L): L {
  const given = givenTo(parent);
  if (ledger !== undefined && given.length > 0) GIVEN.set(ledger, given);
  return ledger;
}
