import type { JsonObject } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { BudgetDimension } from "../errors/errors.ts";
import type { ModelInfo, ModelRequest } from "../model/llm.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";

/** What is spent, in each dimension. `cost` is in dollars. */
export interface Spend {
  readonly tokens: number;
  readonly cost: number;
  readonly turns: number;
  readonly toolCalls: number;
}

/** What is left; null where there is no limit. */
export type Remaining = { readonly [D in keyof Spend]: number | null };

/** What a call really took. */
export interface Actual extends Partial<Spend> {
  /** The provider did not say what it used, so the reservation was charged. */
  readonly estimated?: boolean | undefined;
}

export interface BudgetWarning {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
  readonly scope: string;
}

export interface Settlement {
  /** Limits whose warning threshold this spend crossed, each reported once. */
  readonly warnings: readonly BudgetWarning[];
  /** Limits that a provider's excess has passed. What was paid for is still delivered. */
  readonly exceeded: readonly BudgetWarning[];
}

export interface Reservation {
  /** Charges what it took and gives the rest back. Once. */
  settle(actual: Actual): MaybePromise<Settlement>;
  /** Nothing was sent: gives all of it back. */
  cancel(): MaybePromise<void>;
}

export interface ReserveOptions {
  /** May take from the reserve for the last turn. */
  readonly wrapUp?: boolean | undefined;
  /** What it is for, in words for a refusal. */
  readonly what?: string | undefined;
}

export interface ChargeOptions {
  /**
   * The largest call in it, in each dimension, where it is the sum of several; null where no call in it is of the agent whose ledger
   * it is, as when it was spent by somebody whom that agent had hired. A ledger that holds money back for a last turn by the size of
   * the calls before it goes by this. Without it, what is charged is one call.
   */
  readonly largest?: Pick<Spend, "tokens" | "cost"> | null | undefined;
}

/** The money of an agent and of all whom it hires. A reservation takes from every ancestor, all or nothing. */
export interface Ledger {
  /**
   * Throws a `BudgetExhaustedError` when it does not fit. A model call without a `cost`, because its price is not known, is
   * refused wherever there is a limit in dollars.
   */
  reserve(estimate: Partial<Spend>, options?: ReserveOptions): MaybePromise<Reservation>;
  /** Counts what was spent already, as when a journal is read again. Never refuses. */
  charge(spent: Actual, options?: ChargeOptions): MaybePromise<Settlement>;
  /** More may be spent: adds to the limits of this ledger and of every one above it that has them. */
  raise?(more: Partial<Spend>): MaybePromise<void>;
  child(budget: ExecutionBudgetOptions, scope: string): Ledger;
  remaining(): Remaining;
  readonly used: Spend;
  snapshot(): JsonObject;
}

export type Price = KnownPrice | { readonly unpriced: true };

export interface KnownPrice {
  readonly usd: number;
  /** Where the price is from and what it is for each unit, to be kept with the spend. */
  readonly source?: string | undefined;
  readonly rates?: JsonObject | undefined;
}

/** What a call will cost at most. */
export interface Estimate {
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly price: Price;
}

/** Counts tokens before a call, and prices them after it. */
export interface Meter {
  estimate(info: ModelInfo, request: ModelRequest): MaybePromise<Estimate>;
  /** With the estimate that was made for the call, a meter can learn from the difference. */
  price(info: ModelInfo, usage: Usage, estimate?: Estimate): MaybePromise<Price>;
}
