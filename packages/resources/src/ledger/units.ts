import { InvalidValueError, type Spend } from "@ravi/kernel";
import { checkRecord } from "@ravi/kernel/loop";

/**
 * Spend in whole numbers: tokens, billionths of a dollar (nanos), turns, tool calls. Sums of whole numbers do not drift. The money field is
 * called `nanos`, not `cost`, so that the compiler tells billionths from dollars.
 */
export interface Amounts {
  tokens: number;
  nanos: number;
  turns: number;
  toolCalls: number;
}

export type SpendDimension = keyof Spend;

/** In the order in which limits are checked and reported. */
export const DIMENSIONS: readonly { readonly name: SpendDimension; readonly unit: keyof Amounts }[] = [
  { name: "tokens", unit: "tokens" },
  { name: "cost", unit: "nanos" },
  { name: "turns", unit: "turns" },
  { name: "toolCalls", unit: "toolCalls" },
];

const NANOS_PER_DOLLAR = 1_000_000_000;
/** The highest amount that is counted: above it, integers are no longer exact in a double. */
export const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;
/** About nine million dollars. */
const MAX_DOLLARS = MAX_AMOUNT / NANOS_PER_DOLLAR;

export const NOTHING: Readonly<Amounts> = Object.freeze({ tokens: 0, nanos: 0, turns: 0, toolCalls: 0 });

// `Counters` and `FixedAmounts` are separate classes because counters and limits are large numbers and the amounts of one call are small ones. With
// one class for each, the engine need not box the small ones as well: a reservation is a third smaller.

/** Counters that go up and down. */
export class Counters implements Amounts {
  tokens = 0;
  nanos = 0;
  turns = 0;
  toolCalls = 0;
}

/** Fixed amounts that others are compared with, such as limits. */
export class FixedAmounts implements Readonly<Amounts> {
  readonly tokens: number;
  readonly nanos: number;
  readonly turns: number;
  readonly toolCalls: number;

  constructor(tokens: number, nanos: number, turns: number, toolCalls: number) {
    this.tokens = tokens;
    this.nanos = nanos;
    this.turns = turns;
    this.toolCalls = toolCalls;
  }
}

/** A copy of the amounts with one of them changed. */
export function withAmount(amounts: Readonly<Amounts>, unit: keyof Amounts, to: number): FixedAmounts {
  return new FixedAmounts(
    unit === "tokens" ? to : amounts.tokens,
    unit === "nanos" ? to : amounts.nanos,
    unit === "turns" ? to : amounts.turns,
    unit === "toolCalls" ? to : amounts.toolCalls,
  );
}

const EXPECTED_AMOUNTS = "an object with tokens, cost, turns or toolCalls";

/** Rejects anything but an object with known fields: a plain number or a misspelt field would count as nothing. */
export function checkAmounts(field: string, value: Partial<Spend>): Partial<Spend> {
  if (typeof value === "object" && value !== null) {
    let hasFields = false;
    for (const name in value) {
      if (!isAmount(name)) throw unknownField(field, value, name);
      hasFields = true;
    }
    // An empty object may be something else, such as a promise that was not awaited; it would count as nothing.
    if (!hasFields) checkRecord(field, value, EXPECTED_AMOUNTS);
    return value;
  }
  throw new InvalidValueError({ field, value, expected: EXPECTED_AMOUNTS });
}

/** Written out for speed: it is called several times per model call. */
function isAmount(name: string): boolean {
  return (
    name === "tokens" ||
    name === "cost" ||
    name === "turns" ||
    name === "toolCalls" ||
    // `estimated` comes with what was spent, `id` with what is in doubt.
    name === "estimated" ||
    name === "id"
  );
}

function unknownField(field: string, value: object, name: string): InvalidValueError {
  const expected = "no field of that name; known fields: tokens, cost, turns, toolCalls";
  return new InvalidValueError({ field: `${field}.${name}`, value: Reflect.get(value, name), expected });
}

/** Amounts to reserve. Money is rounded up: a reservation must cover what it stands for. */
export function reservedAmounts(estimate: Partial<Spend>): Amounts {
  return {
    tokens: whole("estimate.tokens", estimate.tokens, 0),
    nanos: nanosUp(dollars("estimate.cost", estimate.cost)),
    turns: whole("estimate.turns", estimate.turns, 0),
    toolCalls: whole("estimate.toolCalls", estimate.toolCalls, 0),
  };
}

/**
 * Amounts that were spent; money is rounded to the nearest billionth. A missing field counts as in `fallback`. The money is gone,
 * whatever figure the provider reports, so an amount that is too large to count becomes the highest one that can be counted.
 */
export function spentAmounts(spend: Partial<Spend>, fallback: Readonly<Amounts>): Amounts {
  checkAmounts("spend", spend);
  return {
    tokens: whole("spend.tokens", atMost(spend.tokens, MAX_AMOUNT), fallback.tokens),
    nanos:
      spend.cost === undefined
        ? fallback.nanos
        : Math.round(dollars("spend.cost", atMost(spend.cost, MAX_DOLLARS)) * NANOS_PER_DOLLAR),
    turns: whole("spend.turns", atMost(spend.turns, MAX_AMOUNT), fallback.turns),
    toolCalls: whole("spend.toolCalls", atMost(spend.toolCalls, MAX_AMOUNT), fallback.toolCalls),
  };
}

/** Amounts to add to a limit, rounded like spending. An amount that is too large to count is an error here. */
export function addedAmounts(more: Partial<Spend>): Amounts {
  checkAmounts("more", more);
  return {
    tokens: whole("more.tokens", more.tokens, 0),
    nanos: Math.round(dollars("more.cost", more.cost) * NANOS_PER_DOLLAR),
    turns: whole("more.turns", more.turns, 0),
    toolCalls: whole("more.toolCalls", more.toolCalls, 0),
  };
}

export function toSpend(amounts: Readonly<Amounts>): Spend {
  return {
    tokens: amounts.tokens,
    cost: amounts.nanos / NANOS_PER_DOLLAR,
    turns: amounts.turns,
    toolCalls: amounts.toolCalls,
  };
}

/** The amount in the unit that users see: dollars for money. */
export function inUserUnit(unit: keyof Amounts, amount: number): number {
  return unit === "nanos" ? amount / NANOS_PER_DOLLAR : amount;
}

/** Dollars to billionths, rounded up. */
export function nanosUp(usd: number): number {
  return Math.ceil(snapped(usd * NANOS_PER_DOLLAR));
}

/** Dollars to billionths, rounded down: a limit must not admit more than was written. */
export function nanosDown(usd: number): number {
  return Math.floor(snapped(usd * NANOS_PER_DOLLAR));
}

/** $0.07 is 70000000.00000001 billionths in a double: an error in the last digits must not round by a whole billionth. */
function snapped(nanos: number): number {
  const nearest = Math.round(nanos);
  return Math.abs(nanos - nearest) <= nearest * 2e-15 ? nearest : nanos;
}

/** Caps a finite number at `most`; anything else is passed on to the check that rejects it. */
function atMost(value: number | undefined, most: number): number | undefined {
  return value !== undefined && Number.isFinite(value) && value > most ? most : value;
}

function whole(field: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidValueError({ field, value, expected: "a whole number of at least 0" });
}

/** Checks an amount in dollars; a missing one is 0. */
export function dollars(field: string, value: number | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && value >= 0 && value <= MAX_DOLLARS) return value;
  throw new InvalidValueError({
    field,
    value,
    expected: `an amount in dollars from 0 to ${Math.floor(MAX_DOLLARS)}; for no limit, leave it out or pass null`,
  });
}
