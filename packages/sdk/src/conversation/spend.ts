import { BudgetExhaustedError, type BudgetDimension, InvalidValueError } from "@ravi/kernel";
import { addCost, least } from "@ravi/kernel/loop";
import { type Budget, limitsFor, type OwnLimits } from "../limits.ts";
import type { SdkResult } from "../run/result.ts";
import type { ConversationOptions, ConversationSpend } from "./options.ts";

/**
 * The budget of the next turn: its own, and of what `total` limits no more than is left. Throws a `BudgetExhaustedError` if nothing is left.
 */
export function turnBudget(
  options: ConversationOptions,
  own: OwnLimits,
  { id, spent }: { readonly id: string; readonly spent: ConversationSpend },
): Budget | null | undefined {
  const { usd = null, tokens = null, messages = null } = options.total ?? {};
  const left = (dimension: BudgetDimension, name: string, limit: number | null, used: number) => {
    if (limit === null || used < limit) return limit === null ? null : limit - used;
    const hint = `raise total.${name}, or begin another conversation`;
    throw new BudgetExhaustedError({ dimension, used, limit, scope: `conversation ${id}`, hint });
  };
  if (usd !== null && spent.usd === null) {
    const expected = "a known amount, because total.usd limits it; prices of earlier turns were not known";
    throw new InvalidValueError({ field: "used.usd", value: null, expected });
  }
  left("turns", "messages", messages, spent.messages);
  const [usdLeft, tokensLeft] = [
    left("cost", "usd", usd, spent.usd ?? 0),
    left("tokens", "tokens", tokens, spent.tokens),
  ];
  if (usdLeft === null && tokensLeft === null) return options.budget;
  const { budget } = limitsFor(options, own);
  return {
    ...(options.budget === null ? budget : options.budget),
    ...(usdLeft !== null && { usd: least(budget.usd, usdLeft) }),
    ...(tokensLeft !== null && { tokens: least(budget.tokens, tokensLeft) }),
  };
}

/** A suspended turn is counted when it has ended: its result then has all that it has used. */
export function withTurn(spent: ConversationSpend, { status, usage, cost }: SdkResult): ConversationSpend {
  if (status === "suspended") return spent;
  return {
    usd: addCost(spent.usd, cost),
    tokens: spent.tokens + usage.inputTokens + usage.outputTokens,
    messages: spent.messages + 1,
  };
}
