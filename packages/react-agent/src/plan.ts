import {
  AgentId,
  checkFields,
  checkInteger,
  type Clock,
  executionBudget,
  type ExecutionBudgetOptions,
  InvalidValueError,
  isDelegate,
  isStandardSchema,
  type Ledger,
  type ModelRequest,
  systemClock,
  type Tool,
  type DelegateTool,
  type WindowOptions,
} from "@ravi/kernel";
import { jsonSchemaOf, loopDetector, toolSpec } from "@ravi/kernel/loop";
import type { ReActAgentOptions } from "./options.ts";

const DEFAULTS = Object.freeze({
  maxSteps: 50,
  outputRetries: 2,
  maxToolResultChars: 50_000,
});

/** A notice of what was cut, and some text around it, must fit. */
const LEAST_RESULT_CHARS = 200;

/** The options, checked, with all that can be made once for every run. */
export interface Plan<T> extends ReActAgentOptions<T> {
  readonly id: AgentId;
  readonly tools: readonly (Tool | DelegateTool)[];
  readonly hasDelegates: boolean;
  /** A request without its messages. The list of tools in it is one object, so that its digest is made once. */
  readonly request: Omit<ModelRequest, "messages">;
  readonly window: Omit<WindowOptions, "system">;
  readonly maxSteps: number;
  readonly outputRetries: number;
  readonly maxToolResultChars: number;
  readonly clock: Clock;
}

const KNOWN = [
  "name",
  "model",
  "instructions",
  "tools",
  "hooks",
  "middleware",
  "executionBudget",
  "context",
  "output",
  "outputRetries",
  "maxSteps",
  "toolConcurrency",
  "maxToolResultChars",
  "loopDetection",
  "settings",
  "validator",
  "version",
  "description",
  "clock",
] as const satisfies readonly (keyof ReActAgentOptions)[];

const SETTINGS = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "stop",
  "seed",
  "reasoning",
  "providerOptions",
] as const satisfies readonly (keyof NonNullable<ReActAgentOptions["settings"]>)[];

export function planFor<T>(options: ReActAgentOptions<T>): Plan<T> {
  checkFields("ReActAgent", options, KNOWN);
  const id = AgentId(options.name);
  checkParts(options);
  const tools = checkTools(options.tools ?? []);
  const specs = tools.length === 0 ? undefined : Object.freeze(tools.map(toolSpec));
  const output = options.output && {
    name: "answer",
    schema: jsonSchemaOf(options.output, "ReActAgent.output"),
  };
  return Object.freeze({
    ...options,
    id,
    tools,
    hasDelegates: tools.some(isDelegate),
    request: Object.freeze({
      ...options.settings,
      ...(specs !== undefined && { tools: specs }),
      ...(output !== undefined && { output }),
    }),
    window: specs === undefined ? {} : { tools: specs },
    maxSteps: checkInteger("ReActAgent.maxSteps", options.maxSteps ?? DEFAULTS.maxSteps, 1),
    outputRetries: checkInteger(
      "ReActAgent.outputRetries",
      options.outputRetries ?? DEFAULTS.outputRetries,
      0,
    ),
    maxToolResultChars: checkInteger(
      "ReActAgent.maxToolResultChars",
      options.maxToolResultChars ?? DEFAULTS.maxToolResultChars,
      LEAST_RESULT_CHARS,
    ),
    clock: options.clock ?? systemClock,
  });
}

/** What a compiler would have caught, for whoever has none: a mistake shows here and not in the middle of a paid run. */
function checkParts(options: ReActAgentOptions): void {
  const { model, instructions, hooks, context, output, validator, toolConcurrency, middleware } = options;
  if (!has(model, "generate")) wrong("model", model, "an LLMClient, with a generate method");
  if (!["undefined", "string", "function"].includes(typeof instructions))
    wrong("instructions", instructions, "a text, or a function of the run that gives one");
  if (hooks !== undefined && !has(hooks, "dispatch"))
    wrong("hooks", hooks, "Hooks, such as a HookManager of @ravi/hooks");
  if (context !== undefined && !has(context, "getPromptWindow"))
    wrong("context", context, "an AgentContext, with a getPromptWindow method");
  if (!["undefined", "object", "function"].includes(typeof output) || output === null)
    wrong("output", output, "a schema");
  if (output !== undefined && !isStandardSchema(output) && validator === undefined)
    wrong("output", output, "a Standard Schema (zod, for one), or a validator beside a raw JSON Schema");
  if (toolConcurrency !== undefined) checkInteger("ReActAgent.toolConcurrency", toolConcurrency, 1);
  if (options.loopDetection !== undefined && options.loopDetection !== false)
    loopDetector(options.loopDetection);
  if (options.settings !== undefined) checkFields("ReActAgent.settings", options.settings, SETTINGS);
  const budget = options.executionBudget;
  if (budget !== undefined && !isLedger(budget)) executionBudget(budget);
  if (middleware === undefined) return;
  checkFields("ReActAgent.middleware", middleware, ["agent", "chat", "function"]);
  for (const [level, pipeline] of Object.entries(middleware)) {
    if (pipeline !== undefined && !has(pipeline, "run"))
      wrong(`middleware.${level}`, pipeline, "a Pipeline, such as a MiddlewarePipeline of @ravi/middleware");
  }
}

function checkTools(tools: readonly (Tool | DelegateTool)[]): readonly (Tool | DelegateTool)[] {
  const list: unknown = tools;
  if (!Array.isArray(list)) wrong("tools", tools, "a list of tools");
  const names = new Set<string>();
  for (const [at, tool] of tools.entries()) {
    if (!has(tool, "execute") && !has(tool, "hire"))
      wrong(`tools[${at}]`, tool, "a tool (defineTool), or an agent's asDelegate()");
    if (names.has(tool.name))
      wrong(`tools[${at}].name`, tool.name, "a name of its own; another tool is called that already");
    names.add(tool.name);
  }
  return Object.freeze([...tools]);
}

function isLedger(budget: ExecutionBudgetOptions | Ledger): budget is Ledger {
  return has(budget, "reserve");
}

function has(value: unknown, method: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
}

function wrong(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `ReActAgent.${field}`, value, expected });
}
