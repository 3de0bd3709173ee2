import type { ExecutionBudgetOptions, Ledger, MaybePromise, Spend } from "@ravi/kernel";
import { expect } from "vitest";
import type { SuiteCase } from "../case.ts";

/** What `open` of `describeLedger` gets: the limits of a root, and its name in errors and warnings. */
export interface LedgerSetup {
  readonly budget: ExecutionBudgetOptions;
  readonly scope: string;
}

/** What a case works with. */
export interface LedgerStage {
  /** A new ledger without a parent, in which nothing was spent. */
  readonly open: (budget: ExecutionBudgetOptions) => Promise<Ledger>;
  /** The same, but it holds a part of its limits back for a last turn. */
  readonly openHoldingBack: (budget: ExecutionBudgetOptions) => Promise<Ledger>;
  readonly second: (of: Ledger) => Promise<Ledger>;
  readonly restore: (from: Ledger) => Promise<Ledger>;
  /** Closes a ledger before the end of the case, where many are opened. */
  readonly close: (ledger: Ledger) => Promise<void>;
}

/** One test case. */
export type LedgerCase = SuiteCase<LedgerStage, "second" | "restore" | "holdingBack">;

/** The name of every root. */
export const ROOT = "lead";

export const EXHAUSTED = { code: "BUDGET_EXHAUSTED" };

/** Each dimension with its limit's name and an amount that is easy to divide. */
export const DIMENSIONS = [
  { dimension: "tokens", field: "maxTokens", limit: 1_000 },
  { dimension: "cost", field: "maxCostUsd", limit: 2 },
  { dimension: "turns", field: "maxTurns", limit: 10 },
  { dimension: "toolCalls", field: "maxToolCalls", limit: 10 },
] as const satisfies readonly {
  readonly dimension: keyof Spend;
  readonly field: keyof ExecutionBudgetOptions;
  readonly limit: number;
}[];

const NOTHING: Spend = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };

/** Whether the attempt succeeds. Only a refusal may make it fail. */
export async function admits(act: () => MaybePromise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    expect(error).toMatchObject(EXHAUSTED);
    return false;
  }
}

/** Compares what was spent. Dollars may differ by less than a millionth, because they are converted from other units. */
export function expectUsed(ledger: Ledger, spent: Partial<Spend>, which = ""): void {
  expectSpend(ledger.used, spent, which);
}

/** Compares by how much its limits are exceeded. */
export function expectOverrun(ledger: Ledger, by: Partial<Spend>): void {
  expectSpend(ledger.overrun?.(), by);
}

function expectSpend(found: Spend | undefined, spend: Partial<Spend>, which = ""): void {
  const { tokens, cost, turns, toolCalls } = found ?? expect.unreachable(`no amounts ${which}`);
  const expected = { ...NOTHING, ...spend };
  expect({ which, tokens, cost: rounded(cost), turns, toolCalls }).toEqual({
    which,
    ...expected,
    cost: rounded(expected.cost),
  });
}

/** Compares what is left in one dimension. */
export function expectLeft(ledger: Ledger, dimension: keyof Spend, left: number | null, which = ""): void {
  const found = ledger.remaining()[dimension];
  expect({ which, [dimension]: rounded(found) }).toEqual({ which, [dimension]: rounded(left) });
}

/** To a millionth, below which dollars may differ. */
export function rounded<A extends number | null>(amount: A): A | number {
  return amount === null ? amount : Math.round(amount * 1e6) / 1e6;
}
