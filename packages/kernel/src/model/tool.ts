import { checkFields } from "../core/check.ts";
import { isPlain, plainCopy } from "../core/plain-copy.ts";
import { quietly } from "../core/quietly.ts";
import type { JsonValue } from "../core/json.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { HireLeaf } from "../agent/leaves.ts";
import type { RunScope } from "../agent/scope.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "./llm.ts";
import { A_SCHEMA, type InferArgs, type InferSchema, isSchema, type SchemaLike } from "./schema.ts";

/** What a running tool may use. It has no `RunContext`, because a tool call cannot start another recorded operation. */
export interface ToolContext {
  readonly signal: AbortSignalLike;
  readonly scope: RunScope;
  /** The same for every attempt at this call, so that the service behind the tool can recognise a repeat. */
  readonly idempotencyKey: string;
  /** Calls a model from inside the tool, paid from the agent's budget. */
  llm(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
  /**
   * Tells whoever observes the run how far the tool is: a `progress` event of the agent, with the `callId` of this call. The data is
   * copied as `JSON.stringify` writes it; if it cannot be written, throws an `InvalidValueError`. It has no effect on the run, is not
   * recorded, and is dropped if the call has timed out or, on a runtime, its agent has ended.
   *
   * Every context that Ravi makes has it. It is optional for contexts that are made by hand, such as in a tool's own tests.
   */
  readonly progress?: ((name: string, data?: JsonValue) => void) | undefined;
}

/**
 * Whether a call with these arguments, of which it gets a copy, needs approval. Only `false` means that it does not: if it throws, approval is
 * needed.
 */
export type ApprovalRule<A> = {
  // As of a method, so that a Tool<{ n: number }> is assignable to Tool.
  decide(args: A): boolean;
}["decide"];

/** A tool that the model may call. Make one with `defineTool`, which checks it and infers the arguments' type. */
export interface Tool<A = unknown, R = unknown> {
  /** The name that the model calls it by: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string;
  /** Tells the model what the tool does, and when to use it. */
  readonly description: string;
  /** The schema of the arguments, such as `z.object({ … })`. The model is shown it, and arguments are checked against it before `execute`. */
  readonly input: SchemaLike;
  /**
   * Set it to true if running the tool twice does no harm. Otherwise a call that was in flight at a crash is not repeated without
   * a decision. Default: false.
   */
  readonly idempotent?: boolean | undefined;
  /**
   * If true, the tool is called only after somebody has approved the call. The run waits for that, also across a restart. A function decides
   * by the arguments of each call, and by nothing else, since a resumed run asks it again. Default: false.
   */
  readonly needsApproval?: boolean | ApprovalRule<A> | undefined;
  /**
   * Seconds. A call that takes longer is aborted and reported to the model as an error. The time in which models that it calls wait for money
   * does not count. Default: no limit.
   */
  readonly timeoutS?: number | undefined;
  // A method, so that a Tool<{ n: number }> is assignable to Tool: its arguments are checked against `input` before the call.
  execute(args: A, context: ToolContext): MaybePromise<R>;
}

/**
 * A tool that hires another agent. It is not a `Tool`, because hiring is an operation of its own and cannot happen inside of a
 * tool call.
 */
export interface DelegateTool<T = unknown> {
  readonly kind: "delegate";
  readonly name: string;
  readonly description: string;
  readonly input: SchemaLike;
  /** `inherit`: the hired agent gets the pictures and files of its parent's input. Default: only those that `hire` gives. */
  readonly attachments?: "inherit" | undefined;
  /** The hire that a call with these arguments stands for. */
  hire(args: unknown): HireLeaf<T>;
}

/** What `defineTool` takes. */
export interface ToolDefinition<S extends SchemaLike, R, A = InferArgs<S>> {
  /** The name that the model calls it by: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string;
  /** Tells the model what the tool does, and when to use it. */
  readonly description: string;
  /** The schema of the arguments, such as `z.object({ … })`. The model is shown it, and arguments are checked against it before `execute`. */
  readonly input: S;
  /**
   * Set it to true if running the tool twice does no harm. Otherwise a call that was in flight at a crash is not repeated without
   * a decision. Default: false.
   */
  readonly idempotent?: boolean | undefined;
  /**
   * If true, the tool is called only after somebody has approved the call. The run waits for that, also across a restart. A function decides
   * by the arguments of each call, and by nothing else, since a resumed run asks it again. Default: false.
   */
  readonly needsApproval?: boolean | ApprovalRule<A> | undefined;
  /**
   * Seconds. A call that takes longer is aborted and reported to the model as an error. The time in which models that it calls wait for money
   * does not count. Default: no limit.
   */
  readonly timeoutS?: number | undefined;
  /**
   * Returns what the model is told: a text, data that is told as JSON, or pictures and files (`toolContent`). If it is bytes, or JSON would lose an
   * object in it (a Map, a stream, an error), the model is told that as an error.
   *
   * A plain JSON Schema has no type to infer: its arguments are a record of `unknown` values, or what you say that they are,
   * `execute: (args: { city: string }) => …`.
   */
  execute(args: A, context: ToolContext): MaybePromise<R>;
}

/** The names that every provider accepts for a tool. */
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

const RETURNS =
  "one that returns the result, not a generator function (context.progress tells how far it is)";

/**
 * Makes a tool whose `execute` gets arguments of the type of its schema. Throws an `InvalidValueError` if a field is wrong or
 * unknown.
 */
export function defineTool<S extends SchemaLike, R, A extends InferSchema<S> = InferArgs<S>>(
  definition: ToolDefinition<S, R, A>,
): Tool<InferSchema<S>, R> {
  if (typeof definition !== "object" || definition === null) {
    const expected = `an object with the fields ${FIELDS.join(", ")}`;
    throw new InvalidValueError({ field: "tool", value: definition, expected });
  }
  const isOfClass = !isPlain(definition);
  // A misspelt `needsApproval` would never take effect. An instance of a class may have other fields as well.
  if (!isOfClass) checkFields(ownerOf(definition), definition, FIELDS);
  checkToolName(definition.name);
  const { name, description, input, needsApproval, idempotent, timeoutS } = definition;
  const execute: unknown = Reflect.get(definition, "execute");
  if (typeof execute !== "function")
    throw new InvalidValueError({ field: `tool ${name}: execute`, value: execute, expected: "a function" });
  if (Object.prototype.toString.call(execute).endsWith("GeneratorFunction]"))
    throw new InvalidValueError({ field: `tool ${name}: execute`, value: execute, expected: RETURNS });
  checkToolFields(`tool ${name}: `, definition);
  if (!isOfClass) return Object.freeze({ ...definition });
  // A spread would lose what the instance inherits from its class.
  return Object.freeze({
    name,
    description,
    input,
    needsApproval:
      typeof needsApproval === "function"
        ? (args: InferSchema<S>) => callWantsApproval(definition, args)
        : needsApproval,
    idempotent,
    timeoutS,
    // `A` is how the definition reads the arguments that `input` has checked.
    execute: (args: InferSchema<S>, context: ToolContext) => definition.execute(args as A, context),
  });
}

/** How an error names the tool, whose `name` may be misspelt. */
function ownerOf({ name }: { readonly name: unknown }): string {
  return typeof name === "string" ? `tool ${name}` : "tool";
}

/** Checks every field of a tool except `name` and `execute`. `owner` is put before the field's name in the error. */
export function checkToolFields(
  owner: string,
  tool: Omit<ToolDefinition<SchemaLike, unknown>, "execute">,
): void {
  const refuse = (field: string, value: unknown, expected: string): never => {
    throw new InvalidValueError({ field: `${owner}${field}`, value, expected });
  };
  const { description, needsApproval, idempotent, timeoutS } = tool;
  const input: unknown = tool.input;
  if (typeof description !== "string") refuse("description", description, "a string");
  if (!isSchema(input)) refuse("input", input, A_SCHEMA);
  // Anything else would be taken for false.
  if (!isFlag(needsApproval) && typeof needsApproval !== "function")
    refuse("needsApproval", needsApproval, "true, false or a function of the arguments");
  if (!isFlag(idempotent)) refuse("idempotent", idempotent, "true or false");
  if (timeoutS !== undefined && !(Number.isFinite(timeoutS) && timeoutS > 0))
    refuse("timeoutS", timeoutS, "a number of seconds greater than 0");
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

/** Whether calls of the tool may need approval. Any value but undefined and false counts as yes: untyped JavaScript may pass anything. */
export function wantsApproval({ needsApproval }: { readonly needsApproval?: unknown }): boolean {
  return needsApproval !== undefined && needsApproval !== false;
}

/** Whether a call of the tool with these arguments, which its schema has checked, needs approval. */
export function callWantsApproval(tool: { readonly needsApproval?: unknown }, args: unknown): boolean {
  const { needsApproval } = tool;
  if (typeof needsApproval !== "function") return wantsApproval(tool);
  // A copy: a rule which sorts a list, for instance, changes nothing for the tool.
  const decide = (): unknown => Reflect.apply(needsApproval, tool, [plainCopy(args)]);
  return quietly(decide) !== false;
}

/** Throws an `InvalidValueError` if some provider would not accept the name. */
export function checkToolName(name: unknown): asserts name is string {
  if (typeof name !== "string" || !TOOL_NAME.test(name)) {
    throw new InvalidValueError({
      field: "tool name",
      value: name,
      expected: "1 to 64 letters, digits, '_' or '-'",
    });
  }
}

/** Whether the tool hires another agent. */
export function isDelegate(tool: Tool | DelegateTool): tool is DelegateTool {
  return "kind" in tool && tool.kind === "delegate";
}
