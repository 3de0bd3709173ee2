import type { Agent, ExecutionBudgetOptions, Ledger } from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";
import type { RunLog } from "../run/run-log.ts";
import { JointLedger } from "./joint-ledger.ts";

/** By ledger of an execution: the users' own ledgers that it spends from. */
const GIVEN = new WeakMap<Ledger, readonly Ledger[]>();
const NONE: readonly Ledger[] = [];

/** A ledger of a chain, and its place there. */
type Part = Pick<JointLedger, "second" | "place">;

/**
 * The ledger of an execution, combined with the one that the user gave to the agent (`defaults.executionBudget`), if there is one: every
 * call then reserves from both. One that an agent above was given too is among them already, and so is one above such a ledger. One that
 * is below such a ledger takes its place, since otherwise that would be charged twice.
 */
export function withAgentLedger(agent: Agent, ledger: Ledger | undefined, log?: RunLog): Ledger | undefined {
  const given = agent.defaults?.executionBudget;
  if (given === undefined || !isLedger(given)) return ledger;
  const above = givenTo(ledger);
  const parts = partsOf(ledger);
  if ([...parts.map(({ second }) => second), ...above].some((one) => one === given || isBelow(one, given)))
    return ledger;
  const replaced = above.filter((one) => isBelow(given, one));
  const [first, ...rest] = parts.filter(
    ({ second }) => !replaced.some((one) => second === one || isBelow(second, one)),
  );
  const added = { second: given, place: placeOf(given) };
  const all =
    first === undefined
      ? given
      : [...rest, added].reduce<Ledger>((chain, part) => inOrder(chain, part, log), first.second);
  GIVEN.set(all, [...above.filter((one) => !replaced.includes(one)), given]);
  return all;
}

/** Which of the users' own ledgers comes first, in every chain of this process: by when they were first given to an agent. */
const PLACES = new WeakMap<Ledger, number>();
let places = 0;

function placeOf(given: Ledger): number {
  let place = PLACES.get(given);
  if (place === undefined) PLACES.set(given, (place = ++places));
  return place;
}

/**
 * Adds a ledger to a chain, at its place. If some calls asked two ledgers in one order and others in the other, then each time that one of
 * them has room, all that wait for it would change to the line of the other.
 */
function inOrder(chain: Ledger, added: Part, log: RunLog | undefined): JointLedger {
  return chain instanceof JointLedger && chain.place > added.place
    ? new JointLedger(inOrder(chain.first, added, log), chain, log)
    : new JointLedger(chain, added, log);
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
    ledger = inOrder(ledger, { second: at.second.child({}, scope), place: at.place }, log);
  }
  return asGiven(parent, ledger);
}

/** Those that it combines, in their order. */
function partsOf(ledger: Ledger | undefined): readonly Part[] {
  if (ledger instanceof JointLedger) return [...partsOf(ledger.first), ledger];
  return ledger === undefined ? [] : [{ second: ledger, place: 0 }];
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
