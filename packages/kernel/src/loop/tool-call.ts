import { isError } from "../core/is-error.ts";
import type { ToolResult } from "../agent/leaves.ts";
import { parseJson } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import { isToolContent } from "../model/tool-content.ts";
import type { ErrorCode } from "../errors/base.ts";
import { isCancellation, isRaviError } from "../errors/is.ts";
import { messageOf } from "../errors/message-of.ts";
import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall } from "../model/messages.ts";
import { type JsonSchemaValidator, isStandardSchema } from "../model/schema.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";
import { inputOf, unchecked } from "./check-schemas.ts";
import { lostPart, nameOf } from "./tool-loop/steps/lost-part.ts";
import { isParsed, type Parsed, readWith } from "./parse-with.ts";

/** Parses and checks the arguments that a model wrote, within limits. `problem` is an error message for the model. */
export function readArguments(
  call: ToolCall,
  tool: Tool | DelegateTool,
  validator?: JsonSchemaValidator | undefined,
): MaybePromise<Parsed<unknown>> {
  const text = argumentsText(call);
  let json: unknown;
  try {
    // Models leave the arguments of a tool without parameters empty.
    json = text === "" ? {} : parseJson(text, "arguments");
  } catch (error) {
    return { ok: false, problem: messageOf(error) };
  }
  if (validator === undefined && !isStandardSchema(tool.input))
    throw unchecked(inputOf(tool.name), tool.input);
  const parsed = readWith(tool.input, json, validator);
  return isParsed(parsed) ? explain(parsed, tool) : parsed.then((done) => explain(done, tool));
}

/**
 * The arguments as text, which is all that readers of a conversation expect. A client in untyped JavaScript may have parsed them, or left
 * them out, which is the same as empty ones. What cannot be written as JSON becomes a text that is none, and so is refused.
 */
export function argumentsText(call: ToolCall): string {
  const given: unknown = call.arguments;
  if (typeof given === "string") return given;
  if (given === undefined || given === null) return "";
  try {
    return JSON.stringify(given) ?? "";
  } catch (error) {
    return messageOf(error);
  }
}

/** A response in which the arguments of all calls are text: the same one if they are. */
export function withTextArguments(response: ModelResponse): ModelResponse {
  const { toolCalls } = response.message;
  return toolCalls === undefined || toolCalls.every(hasText) ? response : withText(response, toolCalls);
}

function withText(response: ModelResponse, toolCalls: readonly ToolCall[]): ModelResponse {
  const calls = toolCalls.map((call) => ({ ...call, arguments: argumentsText(call) }));
  return { ...response, message: { ...response.message, toolCalls: calls } };
}

function hasText(call: ToolCall): boolean {
  return typeof call.arguments === "string";
}

function explain(parsed: Parsed<unknown>, tool: Tool | DelegateTool): Parsed<unknown> {
  return parsed.ok ? parsed : { ok: false, problem: `invalid arguments for ${tool.name}: ${parsed.problem}` };
}

/** What a tool returned, in the form that the model gets. */
export function toToolResult<R>(value: R): ToolResult<R> {
  if (typeof value === "string") return { content: value, isError: false, value };
  if (value === undefined) return { content: "", isError: false };
  if (isError(value)) return toolFailure(messageOf(value));
  if (isToolContent(value)) return { content: value.parts.length === 0 ? "" : value.parts, isError: false };
  // JSON would turn it into null, which is another answer.
  if (typeof value === "number" && !Number.isFinite(value))
    return { content: String(value), isError: false, value };
  // A file that was read without an encoding: each byte as a number of its own would be paid for, and help no model.
  if (ArrayBuffer.isView(value)) return lossOf(nameOf(value));
  try {
    // Of a function and a symbol there is none. As a text, a function would be its source.
    const content: string | undefined = JSON.stringify(value);
    // Scanning the text is far cheaper than walking the value, which is needed only if a part of it may be lost.
    if (content === undefined || (typeof value === "object" && content.includes("{}")))
      return checkParts(value, content);
    return { content, isError: false, value };
  } catch (error) {
    return toolFailure(`the tool returned a value that cannot be converted to JSON: ${messageOf(error)}`);
  }
}

/** What was returned, if JSON loses no part of it. */
function checkParts<R>(value: R, content: string | undefined): ToolResult<R> {
  const lost = content === "{}" && !isPlain(value) ? nameOf(value) : lostPart(value);
  if (content !== undefined && lost === undefined) return { content, isError: false, value };
  return lossOf(lost ?? nameOf(value));
}

function lossOf(what: string): ToolResult<never> {
  const article = /^[AEIO]/.test(what) ? "an" : "a";
  return toolFailure(`the tool returned ${article} ${what}, which JSON cannot represent; return plain data`);
}

/** Whether JSON keeps the value's content. It does not for a Map, a Set or a generator. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "toJSON" in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.keys(value).length > 0;
}

/** A failure as a tool result for the model. */
export function toolFailure(problem: string): ToolResult<never> {
  return { content: `error: ${problem}`, isError: true };
}

/**
 * Turns a tool's failure into a result for the model. An error that stops the run (see `isStop`) is thrown on. `checkStopped` throws if the
 * run was cancelled or is out of time: otherwise a cancellation is one of the tool's own, such as of its wait for a limiter.
 */
export function toolFailureOf(error: unknown, checkStopped: () => void): ToolResult<never> {
  if (isCancellation(error)) checkStopped();
  else if (isStop(error)) throw error;
  return toolFailure(messageOf(error));
}

/** The codes of errors that are about the run and not about one call. They end the loop, and are never shown to a model. */
const STOPS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "PAUSED",
  "SUSPENDED",
  "BUDGET_EXHAUSTED",
  "MIDDLEWARE_TERMINATION",
  "NON_DETERMINISM",
  "LANE_VIOLATION",
  "NEEDS_DECISION",
  "JOURNAL_LOCKED",
  "JOURNAL_CORRUPT",
  "JOURNAL_FAILED",
]);

/** Whether an error is about the run and not about one call. Such an error must be thrown on, and never shown to a model. */
export function isStop(error: unknown): boolean {
  return isRaviError(error) && STOPS.has(error.code);
}
