import type { BudgetWarning, Settlement } from "@ravi/kernel";
import type { Account } from "../account.ts";
import { type Amounts, DIMENSIONS, MAX_AMOUNT, withAmount, NOTHING, inUserUnit } from "../units.ts";
import { computeHeldBack } from "../wrap-up.ts";

/**
 * Whether `wanted` fits. Checked for every dimension, also if nothing is wanted of it: a ledger that has exceeded any limit
 * admits nothing more.
 */
export function hasRoom(cap: number, taken: number, wanted: number, heldBack: number): boolean {
  const total = taken + wanted;
  return wanted === 0 ? total <= cap : total + heldBack <= cap;
}

/** A ledger that has no room, and what it holds back. */
export interface Refusal {
  readonly account: Account;
  readonly heldBack: Readonly<Amounts>;
}

/**
 * The first ledger, from `account` up to the root, that has no room or, with `isGivenBack`, would have none if open reservations gave back
 * all their tokens and dollars. Turns and tool calls are not given back, except by a call that was never sent.
 */
export function findRefusal(
  account: Account,
  wanted: Readonly<Amounts>,
  wrapUp: boolean,
  isGivenBack = false,
): Refusal | undefined {
  let mine = wrapUp;
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) {
    const { caps, used, held } = at;
    const { tokens, nanos } = isGivenBack ? NOTHING : held;
    // A reserve is only for the agent that owns the ledger: otherwise the first of many helpers to finish would use up the root's
    // reserve.
    const heldBack = mine ? NOTHING : at.heldBack;
    if (
      !hasRoom(caps.tokens, used.tokens + tokens, wanted.tokens, heldBack.tokens) ||
      !hasRoom(caps.nanos, used.nanos + nanos, wanted.nanos, heldBack.nanos) ||
      !hasRoom(caps.turns, used.turns + held.turns, wanted.turns, heldBack.turns) ||
      !hasRoom(caps.toolCalls, used.toolCalls + held.toolCalls, wanted.toolCalls, heldBack.toolCalls)
    ) {
      return { account: at, heldBack };
    }
    mine &&= at.sameAgent;
  }
  return undefined;
}

/** Whether it would fit if open reservations gave back all their tokens and dollars. */
export function mayFitLater(account: Account, wanted: Readonly<Amounts>, wrapUp: boolean): boolean {
  return findRefusal(account, wanted, wrapUp, true) === undefined;
}

/** The first ledger, from `account` up to the root, that has exceeded one of its limits. */
export function findOverrun(account: Account): Account | undefined {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) {
    const { caps, used } = at;
    if (
      used.tokens > caps.tokens ||
      used.nanos > caps.nanos ||
      used.turns > caps.turns ||
      used.toolCalls > caps.toolCalls
    ) {
      return at;
    }
  }
  return undefined;
}

/** Sets the amounts aside in the whole chain. */
export function hold(account: Account, wanted: Readonly<Amounts>): void {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) {
    add(at.held, wanted);
    at.open++;
  }
}

/** Gives amounts back that were set aside by `hold`. */
export function release(account: Account, held: Readonly<Amounts>): void {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) {
    subtract(at.held, held);
    at.open--;
  }
}

const NOTHING_TO_REPORT: Settlement = Object.freeze({
  warnings: Object.freeze([]),
  exceeded: Object.freeze([]),
});

/**
 * Adds what was spent to the whole chain. It never refuses: this money is gone. `size` is the size of the call, from which the
 * wrap-up reserve is computed (default: what was spent).
 */
export function spend(account: Account, spent: Amounts, size: Readonly<Amounts> = spent): Settlement {
  let warnings: BudgetWarning[] | undefined;
  let exceeded: BudgetWarning[] | undefined;
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) {
    const { used, watch } = at;
    addCapped(used, spent);
    if (
      used.tokens >= watch.tokens ||
      used.nanos >= watch.nanos ||
      used.turns >= watch.turns ||
      used.toolCalls >= watch.toolCalls
    ) {
      reportLimits(at, spent, (warnings ??= []), (exceeded ??= []));
    }
  }
  // Only a model call (not a tool's spending) tells how large a last turn may be.
  if (size.turns > 0) noteSize(account, size);
  return warnings === undefined || exceeded === undefined ? NOTHING_TO_REPORT : { warnings, exceeded };
}

function reportLimits(
  account: Account,
  spent: Amounts,
  warnings: BudgetWarning[],
  exceeded: BudgetWarning[],
): void {
  for (const { name, unit } of DIMENSIONS) {
    const used = account.used[unit];
    const cap = account.caps[unit];
    if (spent[unit] === 0 || used < account.watch[unit]) continue;
    const report = {
      dimension: name,
      used: inUserUnit(unit, used),
      limit: inUserUnit(unit, cap),
      scope: account.scope,
    };
    if (account.watch[unit] <= cap) warnings.push(report);
    if (used > cap) exceeded.push(report);
    account.watch = withAmount(account.watch, unit, cap + 1);
  }
}

function noteSize(account: Account, spent: Readonly<Amounts>): void {
  const { tokens, nanos } = account.largest;
  if (spent.tokens <= tokens && spent.nanos <= nanos) return;
  account.largest = {
    tokens: Math.max(tokens, spent.tokens),
    nanos: Math.max(nanos, spent.nanos),
    turns: 0,
    toolCalls: 0,
  };
  account.heldBack = computeHeldBack(account);
}

function add(to: Amounts, amounts: Readonly<Amounts>): void {
  to.tokens += amounts.tokens;
  to.nanos += amounts.nanos;
  to.turns += amounts.turns;
  to.toolCalls += amounts.toolCalls;
}

/** Stops at the highest amount that can be counted: a snapshot with more could not be read again. */
export function addCapped(used: Amounts, spent: Readonly<Amounts>): void {
  add(used, spent);
  if (
    used.tokens > MAX_AMOUNT ||
    used.nanos > MAX_AMOUNT ||
    used.turns > MAX_AMOUNT ||
    used.toolCalls > MAX_AMOUNT
  )
    for (const { unit } of DIMENSIONS) used[unit] = Math.min(used[unit], MAX_AMOUNT);
}

function subtract(from: Amounts, amounts: Readonly<Amounts>): void {
  from.tokens -= amounts.tokens;
  from.nanos -= amounts.nanos;
  from.turns -= amounts.turns;
  from.toolCalls -= amounts.toolCalls;
}
