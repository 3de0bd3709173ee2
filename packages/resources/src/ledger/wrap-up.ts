import { checkFields, type ExecutionBudget, InvalidValueError } from "@ravi/kernel";
import type { Account } from "./account.ts";
import { type Amounts, dollars, nanosUp, NOTHING } from "./units.ts";

/**
 * What is held back for the last turn. A size given here replaces the default rule for its dimension; `false` holds nothing back. By
 * default: one turn if the limit is two or more; of tokens and dollars, 1.25 times the agent's largest call so far, at most half of the
 * limit.
 */
export type WrapUpReserve =
  | false
  | {
      readonly tokens?: number | undefined;
      /** Dollars. */
      readonly cost?: number | undefined;
      readonly turns?: number | undefined;
    };

/** The given sizes in whole numbers; undefined if the default rule applies. */
export interface FixedReserve {
  readonly tokens: number | undefined;
  readonly nanos: number | undefined;
  readonly turns: number | undefined;
}

const DEFAULT_RULE: FixedReserve = Object.freeze({ tokens: undefined, nanos: undefined, turns: undefined });

/** How much larger the last turn may be than the largest call before it: the history has grown by then. */
const GROWTH = 1.25;

/**
 * The default rule. If the limit is two turns or more, one is held back. Of tokens and dollars, 1.25 times the largest call of this agent,
 * because the last turn reads the same history and is about as large; at most half of the limit. Before the first call nothing is known and
 * nothing is held back, so a limit with room for one call admits it.
 */
export function computeHeldBack(
  account: Pick<Account, "caps" | "largest" | "fixed" | "limited">,
): Readonly<Amounts> {
  const { caps, largest, fixed, limited } = account;
  if (fixed === false || !(limited.tokens || limited.nanos || limited.turns)) return NOTHING;
  return {
    tokens: limited.tokens ? (fixed.tokens ?? share(largest.tokens, caps.tokens)) : 0,
    nanos: limited.nanos ? (fixed.nanos ?? share(largest.nanos, caps.nanos)) : 0,
    turns: limited.turns ? (fixed.turns ?? (caps.turns >= 2 ? 1 : 0)) : 0,
    // The last turn calls no tools.
    toolCalls: 0,
  };
}

function share(largest: number, cap: number): number {
  return Math.min(Math.ceil(largest * GROWTH), Math.floor(cap / 2));
}

/** Checks the option `reserve`. A size must not exceed the limit that it is part of. */
export function readReserve(
  reserve: WrapUpReserve | undefined,
  budget: ExecutionBudget,
): FixedReserve | false {
  if (reserve === false) return false;
  if (reserve === undefined) return DEFAULT_RULE;
  checkFields("reserve", reserve, ["tokens", "cost", "turns"]);
  return {
    tokens: size("tokens", reserve.tokens, budget.maxTokens),
    nanos: reserve.cost === undefined ? undefined : nanosUp(cost(reserve.cost, budget.maxCostUsd)),
    turns: size("turns", reserve.turns, budget.maxTurns),
  };
}

function size(name: string, value: number | undefined, limit: number | null): number | undefined {
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && value >= 0 && (limit === null || value <= limit)) return value;
  throw invalidReserve(name, value, limit, "a whole number");
}

function cost(value: number, limit: number | null): number {
  dollars("reserve.cost", value);
  if (limit !== null && value > limit) throw invalidReserve("cost", value, limit, "a number");
  return value;
}

function invalidReserve(name: string, value: number, limit: number | null, kind: string): InvalidValueError {
  const most = limit === null ? "" : ` and at most ${limit}, the limit that it is part of`;
  return new InvalidValueError({
    field: `reserve.${name}`,
    value,
    expected: `${kind} of at least 0${most}`,
  });
}
