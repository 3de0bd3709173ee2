import {
  checkFields,
  InvalidValueError,
  isDelegate,
  type Ledger,
  type LLMClient,
  type SchemaLike,
} from "@ravi/kernel";
import { answerShape, asOwn, isLedger, SETTINGS } from "@ravi/kernel/loop";
import { ReActAgent, type ReActAgentOptions } from "@ravi/react-agent";
import type { Budget } from "../limits.ts";
import { checkBudget } from "../limits/check.ts";
import { toExecutionBudget } from "../limits/kernel-names.ts";
import { resolveModel } from "../models/model.ts";
import type { Models } from "../models/options.ts";
import { type ClosedLoop, rememberBlueprint } from "./made/blueprint.ts";
import { hasRetry, type Layers, pipelinesOf } from "./layers.ts";

/** The options of `ReActAgent` (`@ravi/react-agent`), except that `model`, `budget` and `middleware` take this package's forms. */
export interface AgentOptions<T = unknown> extends Omit<
  ReActAgentOptions<T>,
  "model" | "executionBudget" | "middleware"
> {
  /** A name such as `"openai:gpt-5-mini"`, or any `LLMClient`. */
  readonly model: string | LLMClient;
  /** Your own prefixes for `model`, such as `{ local: (name) => … }` for `"local:qwen3"`. */
  readonly models?: Models | undefined;
  /**
   * What each run of the agent may spend. Or a ledger of your own, which every call reserves from in addition to the run's
   * budget.
   */
  readonly budget?: Budget | Ledger | undefined;
  /** Layers around this agent's runs, model calls and tool calls. They are inside the layers that `run` is given. */
  readonly middleware?: Layers | undefined;
}

/**
 * An answer of a known type needs the schema that it is read with: without one, nothing would have checked it. A union, because what has
 * a schema is also accepted where `T` is not known yet, in a function for any schema.
 */
export type NeedsOutput<T> =
  | { readonly output: SchemaLike<T> | undefined }
  | (unknown extends T ? unknown : never);

/** Every known option; any other name is refused. */
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

/** Must be the default of `outputRetries` in `ReActAgent`, which a test checks. */
const OUTPUT_RETRIES = 2;

/**
 * Creates an agent that calls its model, runs the tools that the model asks for, and repeats until the model answers. With
 * `output`, the answer has the type of that schema. Throws an `InvalidValueError` if an option is wrong or unknown.
 */
export function agent<T = unknown>(options: AgentOptions<T> & NeedsOutput<NoInfer<T>>): ReActAgent<T> {
  refuseMembers(options);
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
  const { tools = [] } = rest;
  rememberBlueprint(made, {
    model: client,
    tools: tools.map(({ name }) => name),
    members: [],
    delegates: tools.some(isDelegate),
    retries,
    closed: closedLoop(options),
  });
  return made;
}

/** What a team here, and an agent elsewhere, calls those that it hands work to. */
const MEMBERS = ["members", "subAgents", "agents", "handoffs"] as const;

function refuseMembers(options: object): void {
  const given: Readonly<Record<string, unknown>> = { ...options };
  const name = MEMBERS.find((each) => given[each] !== undefined);
  if (name === undefined) return;
  const value = given[name];
  const expected = "no field of that name; a team hands work to others: team({ name, model, members })";
  throw new InvalidValueError({ field: `agent.${name}`, value, expected });
}

/** Throws unless `value` is an array or undefined. */
export function checkList(field: string, value: unknown, what: string): void {
  if (value === undefined || Array.isArray(value)) return;
  throw new InvalidValueError({ field, value, expected: `a list of ${what}` });
}

/** Checks a budget and converts it to the kernel's options. A ledger is returned as it is. */
export function budgetOf(
  field: string,
  budget: Budget | Ledger | undefined,
): ReActAgentOptions["executionBudget"] {
  if (budget === undefined || isLedger(budget)) return budget;
  return toExecutionBudget(checkBudget(field, budget));
}

/**
 * The most that an agent without tools, layers or context can ask of its model; undefined for any other agent. It ends with its
 * first answer, unless that is empty (one more try) or of the wrong shape (`outputRetries`); the last call is the one that
 * wraps up.
 */
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
