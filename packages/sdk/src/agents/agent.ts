import { checkFields, InvalidValueError, isDelegate, type Ledger, type LLMClient } from "@ravi/kernel";
import { answerShape, asOwn, hasMethod, SETTINGS } from "@ravi/kernel/loop";
import { ReActAgent, type ReActAgentOptions } from "@ravi/react-agent";
import { type Budget, checkBudget, toExecutionBudget } from "../limits.ts";
import { type Models, resolveModel } from "../models/model.ts";
import { type ClosedLoop, keepBlueprint } from "./blueprint.ts";
import { hasRetry, type Layers, pipelinesOf } from "./layers.ts";

/** `ReActAgentOptions` of `@ravi/react-agent`, with the words of this package where they differ. */
export interface AgentOptions<T = unknown> extends Omit<
  ReActAgentOptions<T>,
  "model" | "executionBudget" | "middleware"
> {
  /** `"openai:gpt-5-mini"`, or any `LLMClient`. */
  readonly model: string | LLMClient;
  /** Prefixes of one's own for `model`. */
  readonly models?: Models | undefined;
  /** What each run of it may spend, or a ledger of the user's own that is reserved from in addition. */
  readonly budget?: Budget | Ledger | undefined;
  readonly middleware?: Layers | undefined;
}

export const AGENT_OPTIONS = [
  "name",
  "model",
  "models",
  "instructions",
  "tools",
  "output",
  "budget",
  "hooks",
  "middleware",
  "context",
  "outputRetries",
  "onBudget",
  "maxSteps",
  "toolConcurrency",
  "maxToolResultChars",
  "loopDetection",
  "settings",
  "validator",
  "version",
  "description",
  "clock",
] as const satisfies readonly (keyof AgentOptions)[];

/** What `ReActAgent` takes unless it is told otherwise. */
const OUTPUT_RETRIES = 2;

/** An agent that asks its model, does what it asks for, and repeats until it answers. With `output`, its answer has that type. */
export function agent<T = unknown>(options: AgentOptions<T>): ReActAgent<T> {
  checkFields("agent", options, AGENT_OPTIONS);
  const { model, models, budget, middleware, ...rest } = asOwn<AgentOptions<T>>(options, AGENT_OPTIONS);
  checkList("agent.tools", rest.tools, "tools");
  const client = resolveModel("agent.model", model, models);
  const made = new ReActAgent<T>({
    ...rest,
    model: client,
    executionBudget: budgetOf("agent.budget", budget),
    middleware: pipelinesOf("agent.middleware", middleware),
  });
  const retries = hasRetry(middleware?.chat);
  const delegates = (rest.tools ?? []).some(isDelegate);
  keepBlueprint(made, { model: client, members: [], delegates, retries, closed: closedLoop(options) });
  return made;
}

export function checkList(field: string, value: unknown, what: string): void {
  if (value === undefined || Array.isArray(value)) return;
  throw new InvalidValueError({ field, value, expected: `a list of ${what}` });
}

export function budgetOf(
  field: string,
  budget: Budget | Ledger | undefined,
): ReActAgentOptions["executionBudget"] {
  if (budget === undefined || isLedger(budget)) return budget;
  return toExecutionBudget(checkBudget(field, budget));
}

/** Without tools it ends with its first answer, unless that is empty or of the wrong shape; one more call wraps up. */
function closedLoop(options: AgentOptions): ClosedLoop | undefined {
  const { instructions, tools = [], middleware, context, output, settings } = options;
  const isOpen = tools.length > 0 || middleware !== undefined || context !== undefined;
  if (isOpen || typeof instructions === "function") return undefined;
  const tries = 2 + (output === undefined ? 0 : (options.outputRetries ?? OUTPUT_RETRIES));
  return {
    request: {
      ...(settings && asOwn(settings, SETTINGS)),
      ...(output !== undefined && { output: answerShape(output, "output").output }),
    },
    system: instructions,
    calls: Math.min(options.maxSteps ?? Infinity, tries) + 1,
  };
}

/** `checkBudget` refuses what is neither. */
function isLedger(budget: Budget | Ledger | null): budget is Ledger {
  return hasMethod(budget, "reserve");
}
