import type { AgentDefaults } from "../../agent/agent.ts";
import type { WindowOptions } from "../../agent/run-context.ts";
import { asOwn, checkFields, checkInteger, checkOneOf } from "../../core/check.ts";
import { A_SCHEMA, isSchema } from "../../model/schema.ts";
import { type AgentId, agentIdOf } from "../../core/ids.ts";
import type { ModelRequest } from "../../model/llm.ts";
import {
  checkToolFields,
  checkToolName,
  type DelegateTool,
  isDelegate,
  type Tool,
} from "../../model/tool.ts";
import { checkAgentParts, hasMethod, refusalFor, SETTINGS } from "../agent-parts.ts";
import { checkModel } from "../check-model.ts";
import { isRawSchema } from "../check-schemas.ts";
import { checkDelegateChoices } from "../hire-choices.ts";
import { LEAST_RESULT_CHARS } from "../tool-content.ts";
import { toolSpec } from "../tool-spec.ts";
import { answerShape } from "./answer-shape.ts";
import type { LoopOptions } from "./options.ts";

const DEFAULTS = Object.freeze({
  maxSteps: 50,
  outputRetries: 2,
  maxToolResultChars: 50_000,
});

const ON_BUDGET = Object.freeze({ LAND: "land", ASK: "ask" });

/** The checked options, and everything that can be prepared once for all runs. */
export interface LoopPlan<T = unknown> extends LoopOptions<T> {
  /** The name of the options' owner for error messages: `ReActAgent`. */
  readonly owner: string;
  readonly id: AgentId;
  readonly defaults: AgentDefaults | undefined;
  readonly tools: readonly (Tool | DelegateTool)[];
  /** The request without its messages. Its list of tools is always the same object, so that its digest is computed once. */
  readonly request: Omit<ModelRequest, "messages">;
  /** Whether the answer is requested inside of an object, because `output` is not an object's schema. */
  readonly isWrapped: boolean;
  readonly window: Omit<WindowOptions, "system">;
  /** Whether `output` or a tool has a raw JSON Schema, which needs a validator. */
  readonly hasRawSchemas: boolean;
  readonly maxSteps: number;
  readonly outputRetries: number;
  readonly maxToolResultChars: number;
}

const LOOP_FIELDS = [
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
] as const satisfies readonly (keyof LoopOptions)[];

/**
 * Checks the options of an agent that is built on `toolLoop`, and throws an `InvalidValueError` that names the owner. `ownFields`
 * are options beyond `LoopOptions`, which the owner checks itself.
 */
export function planLoop<T>(
  owner: string,
  options: LoopOptions<T>,
  ownFields: readonly string[] = [],
  allTools?: LoopOptions<T>["tools"],
): LoopPlan<T> {
  checkFields(owner, options, [...ownFields, ...LOOP_FIELDS]);
  const id = agentIdOf(`${owner}.name`, options.name);
  checkParts(owner, options);
  const tools = checkTools(owner, allTools ?? options.tools ?? []);
  const specs = tools.length === 0 ? undefined : Object.freeze(tools.map(toolSpec));
  const shape = options.output && answerShape(options.output, `${owner}.output`);
  const whole = (field: keyof typeof DEFAULTS, least: number): number =>
    checkInteger(`${owner}.${field}`, options[field] ?? DEFAULTS[field], least);
  const budget = options.executionBudget;
  const { contextWindow } = options.model.info;
  return Object.freeze({
    ...options,
    ...asOwn<LoopOptions<T>>(options, LOOP_FIELDS),
    owner,
    id,
    defaults: budget === undefined ? undefined : Object.freeze({ executionBudget: budget }),
    tools,
    request: Object.freeze({
      ...(options.settings !== undefined && asOwn(options.settings, SETTINGS)),
      ...(specs !== undefined && { tools: specs }),
      ...(shape !== undefined && { output: shape.output }),
    }),
    isWrapped: shape?.isWrapped === true,
    hasRawSchemas: [options.output, ...tools.map(({ input }) => input)].some(isRawSchema),
    window: {
      ...(contextWindow !== undefined && { contextWindow }),
      ...(specs !== undefined && { tools: specs }),
    },
    maxSteps: whole("maxSteps", 1),
    outputRetries: whole("outputRetries", 0),
    maxToolResultChars: whole("maxToolResultChars", LEAST_RESULT_CHARS),
  });
}

function checkParts(owner: string, options: LoopOptions): void {
  checkAgentParts(owner, options);
  const wrong = refusalFor(owner);
  const { model, instructions, context, output, toolConcurrency } = options;
  checkModel(`${owner}.model`, model);
  if (!["undefined", "string", "function"].includes(typeof instructions))
    wrong("instructions", instructions, "a string, or a function (ctx, input) that returns one");
  if (context !== undefined && !hasMethod(context, "getPromptWindow"))
    wrong("context", context, "an AgentContext with a getPromptWindow method");
  if (output !== undefined && !isSchema(output)) wrong("output", output, A_SCHEMA);
  if (options.onBudget !== undefined) checkOneOf(`${owner}.onBudget`, options.onBudget, ON_BUDGET);
  if (toolConcurrency !== undefined) checkInteger(`${owner}.toolConcurrency`, toolConcurrency, 1);
}

/** Checks a list of tools. Two tools with the same name are refused. */
export function checkTools(
  owner: string,
  tools: readonly (Tool | DelegateTool)[],
  field = "tools",
): readonly (Tool | DelegateTool)[] {
  const wrong = refusalFor(owner);
  const list: unknown = tools;
  if (!Array.isArray(list)) wrong(field, tools, "an array of tools");
  const names = new Set<string>();
  for (const [at, tool] of tools.entries()) {
    if (!hasMethod(tool, "execute") && !hasMethod(tool, "hire"))
      wrong(
        `${field}[${at}]`,
        tool,
        "a tool, made with tool() or defineTool(), or an agent as one: agent.asDelegate(), or delegateTo(agent) of @ravi/kernel/loop",
      );
    checkToolName(tool.name);
    checkToolFields(`${owner}.${field}[${at}].`, tool);
    if (isDelegate(tool)) checkDelegateChoices(`${owner}.${field}[${at}]`, { attachments: tool.attachments });
    if (names.has(tool.name))
      wrong(`${field}[${at}].name`, tool.name, "a unique name; another tool already has this one");
    names.add(tool.name);
  }
  // Nobody else has this list, so it need not be frozen: items of a frozen list are read outside of compiled code.
  return [...tools];
}
