import { executionBudget, type ExecutionBudget } from "@ravi/kernel";
import { type Account, warningAt } from "./account.ts";
import { type Amounts, DIMENSIONS, shown } from "./units.ts";
import { heldBack } from "./wrap-up.ts";

/** Adds to the limits of a ledger and of all above it. Where there is no limit there is nothing to add to. */
export function raiseAll(account: Account, more: Amounts): void {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent) raise(at, more);
}

function raise(account: Account, more: Amounts): void {
  const { caps, raised, used, watch, limited, warnAt } = account;
  for (const { unit } of DIMENSIONS) {
    if (!limited[unit] || more[unit] === 0) continue;
    const room = Number.MAX_SAFE_INTEGER - caps[unit];
    caps[unit] += Math.min(more[unit], room);
    raised[unit] += Math.min(more[unit], room);
    const threshold = warningAt(caps[unit], warnAt);
    // Past the new threshold already: who asked for more has been warned.
    watch[unit] = used[unit] < threshold ? threshold : caps[unit] + 1;
  }
  account.back = heldBack(caps, account.largest, account.fixed, limited);
}

/** The limits as they are now. What was never raised stays as it was written, to the last digit. */
export function raisedBudget(given: ExecutionBudget, { raised, caps }: Account): ExecutionBudget {
  if (DIMENSIONS.every(({ unit }) => raised[unit] === 0)) return given;
  const limit = (unit: keyof Amounts, before: number | null): number | null =>
    before === null || raised[unit] === 0 ? before : shown(unit, caps[unit]);
  return executionBudget({
    maxTokens: limit("tokens", given.maxTokens),
    maxCostUsd: limit("nanos", given.maxCostUsd),
    maxTurns: limit("turns", given.maxTurns),
    maxToolCalls: limit("toolCalls", given.maxToolCalls),
    deadlineS: given.deadlineS,
  });
}
