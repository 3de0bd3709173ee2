import { executionBudget, type ExecutionBudget } from "@ravi/kernel";
import type { Account } from "../account.ts";
import { warningAt } from "../limits.ts";
import { type Amounts, DIMENSIONS, MAX_AMOUNT, withAmount, inUserUnit } from "../units.ts";
import { computeHeldBack } from "../wrap-up.ts";

/** Adds to the limits of a ledger and of all ledgers above it. A dimension without a limit is not changed. */
export function raiseAll(account: Account, more: Amounts): void {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) raise(at, more);
}

function raise(account: Account, more: Amounts): void {
  const { used, limited, warnAt } = account;
  for (const { unit } of DIMENSIONS) {
    if (!limited[unit] || more[unit] === 0) continue;
    const added = Math.min(more[unit], MAX_AMOUNT - account.caps[unit]);
    const cap = account.caps[unit] + added;
    account.caps = withAmount(account.caps, unit, cap);
    account.raised = withAmount(account.raised, unit, account.raised[unit] + added);
    const threshold = warningAt(cap, warnAt);
    // The new threshold has been passed too: no second warning, since the user who raised the limit knows.
    account.watch = withAmount(account.watch, unit, used[unit] < threshold ? threshold : cap + 1);
  }
  account.heldBack = computeHeldBack(account);
}

/** The limits as they are now. A limit that was never raised is returned exactly as it was given. */
export function raisedBudget({ budget: given, raised, caps }: Account): ExecutionBudget {
  if (DIMENSIONS.every(({ unit }) => raised[unit] === 0)) return given;
  const limit = (unit: keyof Amounts, before: number | null): number | null =>
    before === null || raised[unit] === 0 ? before : inUserUnit(unit, caps[unit]);
  return executionBudget({
    maxTokens: limit("tokens", given.maxTokens),
    maxCostUsd: limit("nanos", given.maxCostUsd),
    maxTurns: limit("turns", given.maxTurns),
    maxToolCalls: limit("toolCalls", given.maxToolCalls),
    deadlineS: given.deadlineS,
  });
}
