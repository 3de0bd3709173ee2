import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { type AbortSignalLike, isPromiseLike, type MaybePromise } from "../core/types.ts";
import type { HireLeaf } from "../agent/leaves.ts";
import type { RunScope } from "../agent/scope.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "./llm.ts";
import type { InferSchema, SchemaLike } from "./schema.ts";

/** What a tool may use while it runs. It has no `RunContext`: a tool cannot call tools or hire agents. */
export interface ToolContext {
  readonly signal: AbortSignalLike;
  readonly scope: RunScope;
  /** The same for every attempt at this call, so that the other side can recognise a repeat. */
  readonly idempotencyKey: string;
  /** Makes a model call that is paid from the agent's budget. */
  llm(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
}

export interface Tool<A = unknown, R = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: SchemaLike;
  /**
   * Whether it may be called twice. If not, a call that was in flight at a crash is repeated only if somebody decides so.
   * Default: false.
   */
  readonly idempotent?: boolean | undefined;
  /** Whether somebody has to approve each call. The run waits for that, also across restarts. Default: false. */
  readonly needsApproval?: boolean | undefined;
  /** A call that takes longer is aborted, and the model gets an error. Default: no limit. */
  readonly timeoutS?: number | undefined;
  // A method, so that a Tool<{ n: number }> is also a Tool: its arguments are checked against `input` before the call.
  execute(args: A, context: ToolContext): MaybePromise<R>;
}

/** A hand-off to another agent, which the model calls like a tool. The agent that runs hires it. */
export interface DelegateTool<T = unknown> {
  readonly kind: "delegate";
  readonly name: string;
  readonly description: string;
  readonly input: SchemaLike;
  hire(args: unknown): HireLeaf<T>;
}

export interface ToolDefinition<S extends SchemaLike, R> {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  /**
   * Whether it may be called twice. If not, a call that was in flight at a crash is repeated only if somebody decides so.
   * Default: false.
   */
  readonly idempotent?: boolean | undefined;
  /** Whether somebody has to approve each call. The run waits for that, also across restarts. Default: false. */
  readonly needsApproval?: boolean | undefined;
  /** A call that takes longer is aborted, and the model gets an error. Default: no limit. */
  readonly timeoutS?: number | undefined;
  execute(args: InferSchema<S>, context: ToolContext): MaybePromise<R>;
}

/** What every provider accepts as a tool's name. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const FIELDS: readonly (keyof ToolDefinition<SchemaLike, unknown>)[] = [
  "name",
  "description",
  "input",
  "idempotent",
  "needsApproval",
  "timeoutS",
  "execute",
];

/** Makes a tool whose arguments have the type of its schema. */
export function defineTool<S extends SchemaLike, R>(
  definition: ToolDefinition<S, R>,
): Tool<InferSchema<S>, R> {
  if (typeof definition !== "object" || definition === null) {
    const expected = `an object with the fields ${FIELDS.join(", ")}`;
    throw new InvalidValueError({ field: "tool", value: definition, expected });
  }
  checkToolName(definition.name);
  const isOfClass = !isPlain(definition);
  // An approval that is misspelt would never be asked for. What is of a class has fields of its own beside.
  if (!isOfClass) checkFields(`tool ${definition.name}`, definition, FIELDS);
  const { name, description, input, needsApproval, idempotent, timeoutS } = definition;
  const execute: unknown = Reflect.get(definition, "execute");
  if (typeof execute !== "function")
    throw new InvalidValueError({ field: `tool ${name}: execute`, value: execute, expected: "a function" });
  checkToolFields(`tool ${name}: `, definition);
  if (!isOfClass) return Object.freeze({ ...definition });
  // Of what its class gives it, a copy would have nothing.
  return Object.freeze({
    name,
    description,
    input,
    needsApproval,
    idempotent,
    timeoutS,
    execute: (args: InferSchema<S>, context: ToolContext) => definition.execute(args, context),
  });
}

/** What a tool says of itself beside what it does. `owner` goes before the name of a field. */
export function checkToolFields(
  owner: string,
  tool: Omit<ToolDefinition<SchemaLike, unknown>, "execute">,
): void {
  const refuse = (field: string, value: unknown, expected: string): never => {
    throw new InvalidValueError({ field: `${owner}${field}`, value, expected });
  };
  const { description, needsApproval, idempotent, timeoutS } = tool;
  const input: unknown = tool.input;
  if (typeof description !== "string") refuse("description", description, "a text");
  if ((typeof input !== "object" && typeof input !== "function") || input === null || isPromiseLike(input))
    refuse("input", input, "a schema: a Standard Schema such as zod's, or a JSON Schema");
  // What is neither would be taken for a no.
  if (!isFlag(needsApproval)) refuse("needsApproval", needsApproval, "true or false");
  if (!isFlag(idempotent)) refuse("idempotent", idempotent, "true or false");
  if (timeoutS !== undefined && !(Number.isFinite(timeoutS) && timeoutS > 0))
    refuse("timeoutS", timeoutS, "seconds above 0");
}

/** Of another realm an object has another prototype, which has none in turn. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

/** Also where it is something that a program which was not compiled takes for a yes. */
export function wantsApproval({ needsApproval }: { readonly needsApproval?: unknown }): boolean {
  return needsApproval !== undefined && needsApproval !== false;
}

/** Refuses a name that some provider would not take. */
export function checkToolName(name: unknown): asserts name is string {
  if (typeof name !== "string" || !TOOL_NAME.test(name)) {
    throw new InvalidValueError({
      field: "tool name",
      value: name,
      expected: "1 to 64 letters, digits, '_' or '-'",
    });
  }
}

/** Whether a tool is another agent, which is hired. */
export function isDelegate(tool: Tool | DelegateTool): tool is DelegateTool {
  return "kind" in tool && tool.kind === "delegate";
}
