import type { ExecutionBudget } from "@ravi/kernel";
import { limitsOf, type Limited } from "./limits.ts";
import type { Held } from "./reservation.ts";
import { type Amounts, NOTHING, Tally } from "./units.ts";
import { type FixedReserve, heldBack } from "./wrap-up.ts";

/**
 * The counters of one ledger. Whoever changes one changes the whole chain up to the root in the same tick. What is read-only
 * here may be shared with other ledgers, and is replaced where it changes.
 */
export interface Account {
  readonly scope: string;
  readonly parent: Account | undefined;
  /** A second limit on the parent's own agent: its wrap-up may take the parent's reserve too. */
  readonly sameAgent: boolean;
  /** The limits that it was opened with. */
  readonly budget: ExecutionBudget;
  readonly limited: Limited;
  /** The largest safe integer where there is no limit. */
  caps: Readonly<Amounts>;
  /** What was added to the limits that it was opened with. */
  raised: Readonly<Amounts>;
  readonly warnAt: number;
  readonly fixed: FixedReserve | false;
  readonly used: Amounts;
  /** Taken by open reservations, here and below. */
  readonly held: Amounts;
  /** How many reservations are open, here and below. */
  open: number;
  /** Those that were made on this very ledger, oldest first, each with a link to the next. */
  first: Held | undefined;
  last: Held | undefined;
  /** The largest call that was settled on this very ledger. */
  largest: Readonly<Amounts>;
  back: Readonly<Amounts>;
  /** The next value of `used` that is worth a look: the warning threshold, then the first value past the cap. */
  watch: Readonly<Amounts>;
}

export interface AccountOptions {
  readonly scope: string;
  readonly parent: Account | undefined;
  readonly sameAgent: boolean;
  readonly budget: ExecutionBudget;
  readonly warnAt: number;
  readonly fixed: FixedReserve | false;
}

export function openAccount(options: AccountOptions): Account {
  const { budget, warnAt, fixed } = options;
  const { limited, caps, watch } = limitsOf(budget, warnAt);
  return {
    scope: options.scope,
    parent: options.parent,
    sameAgent: options.sameAgent,
    budget,
    limited,
    caps,
    raised: NOTHING,
    warnAt,
    fixed,
    used: new Tally(),
    held: new Tally(),
    open: 0,
    first: undefined,
    last: undefined,
    largest: NOTHING,
    back: heldBack({ caps, largest: NOTHING, fixed, limited }),
    watch,
  };
}
