import { InvalidValueError, type Spend } from "@ravi/kernel";
import { checkRecord } from "@ravi/kernel/loop";

/**
 * Spend in whole numbers: tokens, billionths of a dollar, turns, tool calls. Sums of whole numbers do not drift. The money
 * field has a name of its own, so that the compiler tells dollars from billionths.
 */
export interface Amounts {
  tokens: number;
  nanos: number;
  turns: number;
  toolCalls: number;
}

export type SpendDimension = keyof Spend;

/** In the order in which limits are checked and named. */
export const DIMENSIONS: readonly { readonly name: SpendDimension; readonly unit: keyof Amounts }[] = [
  { name: "tokens", unit: "tokens" },
  { name: "cost", unit: "nanos" },
  { name: "turns", unit: "turns" },
  { name: "toolCalls", unit: "toolCalls" },
];

const NANOS_PER_DOLLAR = 1_000_000_000;
/** The most that is counted, of anything: beyond it whole numbers are no longer exact in a double. */
export const MOST = Number.MAX_SAFE_INTEGER;
/** About nine million dollars. */
const MOST_DOLLARS = MOST / NANOS_PER_DOLLAR;

export const NOTHING: Readonly<Amounts> = Object.freeze({ tokens: 0, nanos: 0, turns: 0, toolCalls: 0 });

// Counters and limits are large numbers and one call's amounts are small ones. With a class for each the engine need not box
// the small ones as well: a reservation is a third smaller.

/** Amounts that are counted up and down. */
export class Tally implements Amounts {
  tokens = 0;
  nanos = 0;
  turns = 0;
  toolCalls = 0;
}

/** Amounts that others are compared with. */
export class Marks implements Readonly<Amounts> {
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

/** The same marks, one of them moved. */
export function moved(marks: Readonly<Amounts>, unit: keyof Amounts, to: number): Marks {
  return new Marks(
    unit === "tokens" ? to : marks.tokens,
    unit === "nanos" ? to : marks.nanos,
    unit === "turns" ? to : marks.turns,
    unit === "toolCalls" ? to : marks.toolCalls,
  );
}

/** A number alone does not say of what it is, and would count as nothing; so would a misspelt name. */
export function checkAmounts(field: string, value: Partial<Spend>): Partial<Spend> {
  if (typeof value === "object" && value !== null) {
    let isSaid = false;
    for (const name in value) {
      if (!isAmount(name)) throw misspelt(field, value, name);
      isSaid = true;
    }
    // A promise that was not awaited, say, would count as nothing.
    if (!isSaid) checkRecord(field, value, "an object with tokens, cost, turns or toolCalls");
    return value;
  }
  const expected = "an object with tokens, cost, turns or toolCalls";
  throw new InvalidValueError({ field, value, expected });
}

/** Written out: it is asked several times for every call. */
function isAmount(name: string): boolean {
  return (
    name === "tokens" ||
    name === "cost" ||
    name === "turns" ||
    name === "toolCalls" ||
    // Of what was spent, and of what is in doubt.
    name === "estimated" ||
    name === "id"
  );
}

function misspelt(field: string, value: object, name: string): InvalidValueError {
  const expected = "no such field; known are tokens, cost, turns, toolCalls";
  return new InvalidValueError({ field: `${field}.${name}`, value: Reflect.get(value, name), expected });
}

/** A reservation rounds money up: it must cover what it stands for. */
export function reservedAmounts(estimate: Partial<Spend>): Amounts {
  return {
    tokens: whole("estimate.tokens", estimate.tokens, 0),
    nanos: nanosUp(dollars("estimate.cost", estimate.cost)),
    turns: whole("estimate.turns", estimate.turns, 0),
    toolCalls: whole("estimate.toolCalls", estimate.toolCalls, 0),
  };
}

/**
 * What was really spent, to the nearest billionth. What is not said counts as `unsaid`. It is gone, whatever a provider says
 * of it: what cannot be counted any more counts as the most that can.
 */
export function spentAmounts(spend: Partial<Spend>, unsaid: Readonly<Amounts>): Amounts {
  checkAmounts("spend", spend);
  return {
    tokens: whole("spend.tokens", atMost(spend.tokens, MOST), unsaid.tokens),
    nanos:
      spend.cost === undefined
        ? unsaid.nanos
        : Math.round(dollars("spend.cost", atMost(spend.cost, MOST_DOLLARS)) * NANOS_PER_DOLLAR),
    turns: whole("spend.turns", atMost(spend.turns, MOST), unsaid.turns),
    toolCalls: whole("spend.toolCalls", atMost(spend.toolCalls, MOST), unsaid.toolCalls),
  };
}

/** What is added to a limit, rounded like what is spent of it. A limit that cannot be counted is a mistake. */
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

/** An amount as the dimension's users know it: dollars for money. */
export function shown(unit: keyof Amounts, amount: number): number {
  return unit === "nanos" ? amount / NANOS_PER_DOLLAR : amount;
}

export function nanosUp(usd: number): number {
  return Math.ceil(snapped(usd * NANOS_PER_DOLLAR));
}

/** A limit rounds down: what it admits is never above what was written. */
export function nanosDown(usd: number): number {
  return Math.floor(snapped(usd * NANOS_PER_DOLLAR));
}

/** $0.07 is 70000000.00000001 billionths in a double: a few units in the last place are no reason to round a whole one away. */
function snapped(nanos: number): number {
  const nearest = Math.round(nanos);
  return Math.abs(nanos - nearest) <= nearest * 2e-15 ? nearest : nanos;
}

/** What is no amount at all is left as it is, for others to complain about. */
function atMost(value: number | undefined, most: number): number | undefined {
  return value !== undefined && Number.isFinite(value) && value > most ? most : value;
}

function whole(field: string, value: number | undefined, unsaid: number): number {
  if (value === undefined) return unsaid;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidValueError({ field, value, expected: "a whole number of at least 0" });
}

export function dollars(field: string, value: number | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && value >= 0 && value <= MOST_DOLLARS) return value;
  throw new InvalidValueError({
    field,
    value,
    expected: `dollars from 0 to ${Math.floor(MOST_DOLLARS)} (they are counted in billionths); leave a limit out, or set it to null, for none`,
  });
}
