import { type ChatContext, type ChatMessage, checkFields, textOf } from "@ravi/kernel";
import { checkFunction } from "@ravi/kernel/loop";
import { checkOnError, enforce, type OnGuardError } from "../guard.ts";
import { reportTrip } from "../common/report.ts";
import { checkNumber, checkWord, checkWords } from "../common/options.ts";
import { injectionScore } from "../text/scan/injection-score.ts";
import type { ChatMiddleware } from "../types.ts";

export interface PromptInjectionOptions {
  /** A message with this score (0 to 1) or a higher one counts as an attack. Default: 0.6. */
  readonly threshold?: number | undefined;
  /** `flag` only reports it to the hooks. Default: "block". */
  readonly action?: "block" | "flag" | undefined;
  /** The roles whose messages are checked. Default: "user" and "tool". */
  readonly roles?: readonly ("user" | "tool")[] | undefined;
  /** Your own score of a text, 0 to 1. The higher of both counts. */
  readonly score?: ((text: string) => number) | undefined;
  /** What happens if `score` throws. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

const LAYER = "promptInjection";
const ROLES = ["user", "tool"] as const;

/**
 * Detects texts that try to give a model other instructions. It knows common wordings only: it lowers the risk, but does not
 * remove it. Limit what a model can do by other means as well (tools, approvals, budgets).
 */
export function promptInjection(options: PromptInjectionOptions = {}): ChatMiddleware {
  checkFields(LAYER, options, ["threshold", "action", "roles", "score", "onError"]);
  checkFunction(`${LAYER}.score`, options.score);
  const threshold = checkNumber(`${LAYER}.threshold`, options.threshold ?? 0.6, 0, 1);
  const action = checkWord(`${LAYER}.action`, options.action ?? "block", ["block", "flag"]);
  const roles = new Set<string>(checkWords(`${LAYER}.roles`, options.roles ?? ROLES, ROLES));
  const onError = checkOnError(`${LAYER}.onError`, options.onError);
  const scores = new WeakMap<ChatMessage, number>();

  const scoreOf = (message: ChatMessage): number => {
    const known = scores.get(message);
    if (known !== undefined) return known;
    const text = textOf(message);
    const own = options.score?.(text) ?? 0;
    const score = Math.max(injectionScore(text), checkNumber("the score", own, 0, 1));
    // A frozen message is scored once and not in every turn.
    if (Object.isFrozen(message) && typeof message.content === "string") scores.set(message, score);
    return score;
  };
  const violation = (context: ChatContext): string | undefined => {
    for (const message of context.request.messages) {
      if (!roles.has(message.role)) continue;
      const score = scoreOf(message);
      if (score >= threshold)
        return `a ${message.role} message looks like a prompt injection (score ${score.toFixed(2)})`;
    }
    return undefined;
  };
  return {
    level: "chat",
    name: LAYER,
    async process(context, next) {
      await enforce({ layer: LAYER, context, onError }, () => {
        const reason = violation(context);
        if (reason === undefined || action === "block") return reason;
        reportTrip(context, LAYER, reason);
        return undefined;
      });
      await next();
    },
  };
}
