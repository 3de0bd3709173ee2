import type { ExecutionBudget } from "@ravi/kernel";
import { limitsOf, type Limited } from "./limits.ts";
import type { Line } from "./line.ts";
import type { HeldReservation } from "./reservation.ts";
import { type Amounts, NOTHING, Counters } from "./units.ts";
import { type FixedReserve, computeHeldBack } from "./wrap-up.ts";

/**
 * The counters of one ledger. A change is made to the whole chain up to the root in the same tick. `Readonly` values may be shared with
 * other ledgers, so they are replaced, never changed in place.
 */
export interface Account {
  readonly scope: string;
  readonly parent: Account | undefined;
  /** A second limit on the parent's own agent: its last turn may also use the parent's reserve. */
  readonly sameAgent: boolean;
  /** The limits that it was opened with. */
  readonly budget: ExecutionBudget;
  readonly limited: Limited;
  /** The limits. The largest safe integer stands for no limit. */
  caps: Readonly<Amounts>;
  /** What was added to the initial limits. */
  raised: Readonly<Amounts>;
  readonly warnAt: number;
  readonly fixed: FixedReserve | false;
  readonly used: Amounts;
  /** Taken by open reservations, here and below. */
  readonly held: Amounts;
  /** How many reservations are open, here and below. */
  open: number;
  /** The open reservations made on this ledger itself, oldest first, as a linked list. */
  first: HeldReservation | undefined;
  last: HeldReservation | undefined;
  /** The calls that wait because this ledger has no room for them; undefined as long as none ever did. */
  line: Line | undefined;
  /** The size of the largest call settled on this ledger itself. */
  largest: Readonly<Amounts>;
  /** What is held back for the last turn. */
  heldBack: Readonly<Amounts>;
  /** The next value of `used` that needs a report: the warning threshold first, then the first value above the limit. */
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
    used: new Counters(),
    held: new Counters(),
    open: 0,
    first: undefined,
    last: undefined,
    line: undefined,
    largest: NOTHING,
    heldBack: computeHeldBack({ caps, largest: NOTHING, fixed, limited }),
    watch,
  };
}
