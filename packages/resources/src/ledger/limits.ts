import type { ExecutionBudget } from "@ravi/kernel";
import { type Amounts, dollars, FixedAmounts, MAX_AMOUNT, nanosDown } from "./units.ts";

/** Which dimensions have a limit. */
export type Limited = { readonly [U in keyof Amounts]: boolean };

interface Limits {
  readonly limited: Limited;
  readonly caps: Readonly<Amounts>;
  readonly watch: Readonly<Amounts>;
}

/** Most child ledgers have no limit of their own; all of them share this object. */
const NO_LIMITS: Limits = Object.freeze({
  limited: Object.freeze({ tokens: false, nanos: false, turns: false, toolCalls: false }),
  caps: Object.freeze(new FixedAmounts(MAX_AMOUNT, MAX_AMOUNT, MAX_AMOUNT, MAX_AMOUNT)),
  watch: Object.freeze(new FixedAmounts(Infinity, Infinity, Infinity, Infinity)),
});

/** The limits of a budget in whole numbers, and the thresholds at which a warning is due. */
export function limitsOf(budget: ExecutionBudget, warnAt: number): Limits {
  const { maxTokens, maxCostUsd, maxTurns, maxToolCalls } = budget;
  if (maxTokens === null && maxCostUsd === null && maxTurns === null && maxToolCalls === null) {
    return NO_LIMITS;
  }
  const nanos = maxCostUsd === null ? null : nanosDown(dollars("executionBudget.maxCostUsd", maxCostUsd));
  return {
    limited: {
      tokens: maxTokens !== null,
      nanos: nanos !== null,
      turns: maxTurns !== null,
      toolCalls: maxToolCalls !== null,
    },
    caps: new FixedAmounts(
      maxTokens ?? MAX_AMOUNT,
      nanos ?? MAX_AMOUNT,
      maxTurns ?? MAX_AMOUNT,
      maxToolCalls ?? MAX_AMOUNT,
    ),
    watch: new FixedAmounts(
      threshold(maxTokens, warnAt),
      threshold(nanos, warnAt),
      threshold(maxTurns, warnAt),
      threshold(maxToolCalls, warnAt),
    ),
  };
}

/** The amount at which a warning is due, at least 1. */
export function warningAt(cap: number, warnAt: number): number {
  return Math.max(1, Math.ceil(cap * warnAt));
}

function threshold(cap: number | null, warnAt: number): number {
  return cap === null ? Infinity : warningAt(cap, warnAt);
}
