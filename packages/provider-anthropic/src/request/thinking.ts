import type { ThinkingConfigParam } from "@anthropic-ai/sdk/resources/messages";
import type { ModelRequest } from "@ravi/kernel";
import type { Notice } from "@ravi/kernel/provider";
import type { KnownModel } from "../models.ts";
import type { AnthropicOptions } from "../options.ts";
import { isThinkingBlock, type Turn } from "./conversation.ts";

export interface ThinkingQuestion {
  readonly asked: ModelRequest["reasoning"];
  readonly option: AnthropicOptions["thinking"];
  readonly model: KnownModel;
  readonly maxTokens: number;
  /** Whether the model must call a tool. The API refuses that together with thinking. */
  readonly isForced: boolean;
  readonly turns: readonly Turn[];
  readonly notice: Notice;
}

const BUDGETS = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384 } as const;
const LEAST = 1_024;

/** The `thinking` setting to send; undefined leaves it to the model. */
export function thinkingFor(question: ThinkingQuestion): ThinkingConfigParam | undefined {
  const { asked, option, model, isForced, notice } = question;
  if (option === "off") return { type: "disabled" };
  const isAsked = option !== undefined || asked?.summary === true || isEffort(asked?.effort);
  if (!isAsked) return undefined;
  if (isForced) {
    notice("thinking is left out because a tool must be called");
    return undefined;
  }
  const display =
    asked?.summary === undefined ? {} : ({ display: asked.summary ? "summarized" : "omitted" } as const);
  const byBudget = typeof option === "object" || (option === undefined && model.thinking === "budget");
  if (!byBudget) return { type: "adaptive", ...display };
  const wanted = typeof option === "object" ? option.budgetTokens : BUDGETS[asked?.effort ?? "medium"];
  // Thinking counts as output, so some tokens must be left for the answer.
  const budget = Math.min(wanted, Math.floor(question.maxTokens * 0.8));
  if (budget < LEAST) {
    notice("thinking is left out because maxOutputTokens leaves no room for it");
    return undefined;
  }
  if (lacksThoughts(question.turns)) {
    notice("thinking is left out until the current tool turn, which began without it, is over");
    return undefined;
  }
  // An effort is only about so many tokens, but this number was given.
  if (typeof option === "object" && budget < wanted)
    notice(
      `thinking.budgetTokens is ${wanted}, and is lowered to 80 % of maxOutputTokens, so that there is room for an answer`,
    );
  return { type: "enabled", budget_tokens: budget, ...display };
}

/** The effort to send, for models that have one. For the others it was turned into a budget. */
export function effortFor({
  asked,
  model,
}: Pick<ThinkingQuestion, "asked" | "model">): "low" | "medium" | "high" | undefined {
  if (asked?.effort === undefined || model.thinking === "budget") return undefined;
  return asked.effort === "minimal" ? "low" : asked.effort;
}

function isEffort(effort: NonNullable<ModelRequest["reasoning"]>["effort"]): boolean {
  return effort !== undefined && effort !== "minimal";
}

/** With a thinking budget, a turn that called tools must begin with its thinking. A turn of another provider has none. */
function lacksThoughts(turns: readonly Turn[]): boolean {
  const answer = turns.findLast((turn) => turn.role === "assistant");
  const calls = answer?.content.some((block) => block.type === "tool_use") ?? false;
  return calls && !isThinkingBlock(answer?.content[0]);
}
