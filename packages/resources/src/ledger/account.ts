import type { ExecutionBudget } from "@ravi/kernel";
import { type Amounts, dollars, nanosDown, nothing } from "./units.ts";
import { type FixedReserve, heldBack } from "./wrap-up.ts";

/** The counters of one ledger. Whoever changes one changes the whole chain up to the root in the same tick. */
export interface Account {
  readonly scope: string;
  readonly parent: Account | undefined;
  /** A second limit on the parent's own agent: its wrap-up may take the parent's reserve too. */
  readonly sameAgent: boolean;
  readonly limited: { readonly [U in keyof Amounts]: boolean };
  /** The largest safe integer where there is no limit. */
  readonly caps: Amounts;
  /** What was added to the limits that it was opened with. */
  readonly raised: Amounts;
  readonly warnAt: number;
  readonly fixed: FixedReserve | false;
  readonly used: Amounts;
  /** Taken by open reservations, here and below. */
  readonly held: Amounts;
  /** How many reservations are open, here and below. */
  open: number;
  /** The largest call that was settled on this very ledger. */
  readonly largest: Amounts;
  back: Amounts;
  /** The next value of `used` that is worth a look: the warning threshold, then the first value past the cap. */
  readonly watch: Amounts;
}

export interface AccountOptions {
  readonly scope: string;
  readonly parent: Account | undefined;
  readonly sameAgent: boolean;
  readonly budget: ExecutionBudget;
  readonly warnAt: number;
  readonly fixed: FixedReserve | false;
}

export function warningAt(cap: number, warnAt: number): number {
  return Math.max(1, Math.ceil(cap * warnAt));
}

export function openAccount(options: AccountOptions): Account {
  const { budget, warnAt } = options;
  const limited = {
    tokens: budget.maxTokens !== null,
    nanos: budget.maxCostUsd !== null,
    turns: budget.maxTurns !== null,
    toolCalls: budget.maxToolCalls !== null,
  };
  const caps = {
    tokens: budget.maxTokens ?? Number.MAX_SAFE_INTEGER,
    nanos:
      budget.maxCostUsd === null
        ? Number.MAX_SAFE_INTEGER
        : nanosDown(dollars("executionBudget.maxCostUsd", budget.maxCostUsd)),
    turns: budget.maxTurns ?? Number.MAX_SAFE_INTEGER,
    toolCalls: budget.maxToolCalls ?? Number.MAX_SAFE_INTEGER,
  };
  const threshold = (unit: keyof Amounts): number =>
    limited[unit] ? warningAt(caps[unit], warnAt) : Infinity;
  const largest = nothing();
  return {
    scope: options.scope,
    parent: options.parent,
    sameAgent: options.sameAgent,
    limited,
    caps,
    raised: nothing(),
    warnAt,
    fixed: options.fixed,
    used: nothing(),
    held: nothing(),
    open: 0,
    largest,
    back: heldBack(caps, largest, options.fixed, limited),
    watch: {
      tokens: threshold("tokens"),
      nanos: threshold("nanos"),
      turns: threshold("turns"),
      toolCalls: threshold("toolCalls"),
    },
  };
}
