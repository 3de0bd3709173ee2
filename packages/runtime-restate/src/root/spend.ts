import type { Spend } from "@ravi/kernel";

const DIMENSIONS = ["tokens", "cost", "turns", "toolCalls"] as const satisfies readonly (keyof Spend)[];

/** Adds in whole nano-dollars, so that many small sums have no rounding error. */
export function addSpend(a: Spend, b: Partial<Spend>): Spend {
  return combine(a, b, (x, y) => x + y);
}

/** Undoes `addSpend`. */
export function subtractSpend(a: Spend, b: Partial<Spend>): Spend {
  return combine(a, b, (x, y) => x - y);
}

/** The larger value of each dimension. */
export function mostSpend(a: Spend, b: Partial<Spend>): Spend {
  return combine(a, b, Math.max);
}

/** Whether a reservation is enough for what is wanted now. Either both have a cost or neither. */
export function covers(held: Partial<Spend>, wanted: Partial<Spend>): boolean {
  if ((held.cost === undefined) !== (wanted.cost === undefined)) return false;
  return DIMENSIONS.every((name) => (held[name] ?? 0) >= (wanted[name] ?? 0));
}

function nano(usd: number | undefined): number {
  return Math.round((usd ?? 0) * 1e9);
}

function combine(a: Spend, b: Partial<Spend>, with_: (x: number, y: number) => number): Spend {
  return {
    tokens: with_(a.tokens, b.tokens ?? 0),
    cost: with_(nano(a.cost), nano(b.cost)) / 1e9,
    turns: with_(a.turns, b.turns ?? 0),
    toolCalls: with_(a.toolCalls, b.toolCalls ?? 0),
  };
}
