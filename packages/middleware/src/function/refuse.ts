import type { FunctionContext, MaybePromise, ToolResult } from "@ravi/kernel";
import { checkOnError, type OnGuardError, runCheck, trip } from "../guard.ts";
import { reportTrip } from "../common/report.ts";
import { checkWord } from "../common/options.ts";
import type { FunctionMiddleware } from "../types.ts";

/**
 * What happens to a violation: the model gets an error as the tool's result, or the run ends. The tool is not run in either case.
 */
export type OnViolation = "result" | "terminate";

export function checkOnViolation(field: string, value: unknown): OnViolation {
  return checkWord(field, value ?? "result", ["result", "terminate"]);
}

export function toolError(content: string): ToolResult {
  return { content, isError: true };
}

/** A layer that checks each call before it is made. `check` returns the reason to refuse it, or undefined. */
export function callGuard(
  layer: string,
  options: { readonly onViolation?: OnViolation | undefined; readonly onError?: OnGuardError | undefined },
  check: (context: FunctionContext) => MaybePromise<string | undefined>,
): FunctionMiddleware {
  const onViolation = checkOnViolation(`${layer}.onViolation`, options.onViolation);
  const onError = checkOnError(`${layer}.onError`, options.onError);
  return {
    level: "function",
    name: layer,
    async process(context, next) {
      const reason = await runCheck({ layer, context, onError }, () => check(context));
      if (reason !== undefined) return refuseCall(context, layer, reason, onViolation);
      return next();
    },
  };
}

/** Refuses a call: ends the run, or sets an error result for the model. */
export function refuseCall(
  context: FunctionContext,
  layer: string,
  reason: string,
  onViolation: OnViolation,
): void {
  if (onViolation === "terminate") trip(context, layer, reason);
  reportTrip(context, layer, reason);
  context.result = toolError(`${context.functionName} was refused: ${reason}`);
}
