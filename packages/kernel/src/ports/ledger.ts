import type { JsonObject } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { BudgetDimension } from "../errors/errors.ts";
import type { ModelInfo, ModelRequest } from "../model/llm.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";

/** An amount in each dimension. `cost` is in dollars. */
export interface Spend {
  readonly tokens: number;
  readonly cost: number;
  readonly turns: number;
  readonly toolCalls: number;
}

/** What is left in each dimension; null if it has no limit. */
export type Remaining = { readonly [D in keyof Spend]: number | null };

/** What a call has used. */
export interface Actual extends Partial<Spend> {
  /** True if the provider did not report its usage, so that the reservation is charged. */
  readonly estimated?: boolean | undefined;
}

export interface BudgetWarning {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  readonly scope: string;
}

export interface Settlement {
  /** Limits whose warning threshold was crossed by this charge. Each is reported once. */
  readonly warnings: readonly BudgetWarning[];
  /** Limits that were exceeded because the call used more than was reserved. Its answer is delivered all the same. */
  readonly exceeded: readonly BudgetWarning[];
}

/**
 * Money set aside for one call. Call exactly one of its methods, once. A later call may throw, and must not change anything. If
 * `settle` throws because of a wrong value, nothing is charged and it can be called again.
 */
export interface Reservation {
  /**
   * Charges what the call has used and gives back the rest. A field that `actual` leaves out is not known, and is charged as it was
   * reserved: `{ estimated: true }` charges all of it.
   */
  settle(actual: Actual): MaybePromise<Settlement>;
  /** Gives back everything, because nothing was sent. */
  cancel(): MaybePromise<void>;
}

export interface ReserveOptions {
  /** Whether it may use what is held back for a last turn. Default: false. */
  readonly wrapUp?: boolean | undefined;
  /** What it is for, as it is named in the message of a refusal. */
  readonly what?: string | undefined;
  /**
   * What happens if it does not fit now, but would if open reservations gave back all their tokens and dollars. "deny" (default): it is
   * refused. "queue": it waits until it fits or can no longer fit; a ledger that has no line refuses it.
   */
  readonly onFull?: "deny" | "queue" | undefined;
  /** Ends the wait: the promise rejects with an error whose code is `CANCELLED`, and nothing is reserved. */
  readonly signal?: AbortSignalLike | undefined;
  /**
   * For a call that needs several ledgers at once. Called if it has waited, in the tick in which it fits and is set aside. If it throws, nothing
   * stays set aside, and the promise rejects with that error.
   */
  readonly onTurn?: (() => void) | undefined;
}

export interface ChargeOptions {
  /**
   * The size of the largest single call in the amount, in each dimension. A ledger that holds back money for a last turn estimates
   * from it what that turn will take. Undefined if the amount is one call; null if no call in it was made by the ledger's own
   * agent, but by one that it had hired.
   */
  readonly largest?: Pick<Spend, "tokens" | "cost"> | null | undefined;
}

/** The budget of an agent and everyone below it. A reservation is taken from this ledger and all above it, or from none. */
export interface Ledger {
  /**
   * Sets money aside before a call. Throws a `BudgetExhaustedError` if it does not fit. If the price of a model call is not known,
   * `cost` is absent; such a call is refused if there is a limit in dollars.
   */
  reserve(estimate: Partial<Spend>, options?: ReserveOptions): MaybePromise<Reservation>;
  /**
   * Counts what was spent already, as when a run is resumed. In what is left out nothing was spent. Never refuses, even if a limit is
   * exceeded.
   */
  charge(spent: Actual, options?: ChargeOptions): MaybePromise<Settlement>;
  /** Adds to the limits of this ledger and all above it. A dimension without a limit stays without one. */
  raise?(more: Partial<Spend>): MaybePromise<void>;
  /** Makes the ledger of a hired agent. `scope` names the agent in errors and warnings. */
  child(budget: ExecutionBudgetOptions, scope: string): Ledger;
  /**
   * Whether the other one is above this ledger, so that what is spent here is spent there as well. Without it, if two agents of a tree
   * are given such ledgers as their budgets, the lower one's calls are charged twice to the upper ledger.
   */
  isBelow?(other: Ledger): boolean;
  /** What may still be reserved, here and in every ledger above. */
  remaining(): Remaining;
  /**
   * By how much a limit is exceeded, here or in a ledger above: in each dimension the most of any, and 0 if none is. Without it, a
   * resumed agent that has exceeded a limit is told of more than was left before that.
   */
  overrun?(): Spend;
  readonly used: Spend;
  /**
   * How many seconds an agent that is given this ledger as its budget may take, from its start. The ledger itself counts no time.
   * Absent or null: no limit.
   */
  readonly deadlineS?: number | null | undefined;
  /** The whole state as plain JSON, for an engine that stores it. */
  snapshot(): JsonObject;
}

export type Price = KnownPrice | { readonly unpriced: true };

export interface KnownPrice {
  readonly usd: number;
  /** Where the price comes from, such as the name of a price list. */
  readonly source?: string | undefined;
  /** The price of each unit. */
  readonly rates?: JsonObject | undefined;
}

/** The most that a call can use and cost. */
export interface Estimate {
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly price: Price;
}

/** Estimates model calls before they are made, and prices them afterwards. */
export interface Meter {
  estimate(info: ModelInfo, request: ModelRequest): MaybePromise<Estimate>;
  /**
   * An estimate that is made sooner and is never lower, for calls that are far from every limit. Undefined if there is none. Default: there
   * never is.
   */
  quickEstimate?(info: ModelInfo, request: ModelRequest): MaybePromise<Estimate> | undefined;
  /** Prices what a call has used. `estimate` is the one made for this call, so that a meter can learn from the difference. */
  price(info: ModelInfo, usage: Usage, estimate?: Estimate): MaybePromise<Price>;
}
