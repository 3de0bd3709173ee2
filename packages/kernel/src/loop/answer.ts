import { ProviderError } from "../errors/errors.ts";
import { show } from "../errors/show.ts";
import type { FinishReason, LLMClient } from "../model/llm.ts";

// A client in untyped JavaScript may return anything. What is not a valid answer is reported as the provider's failure, and does
// not crash the agent that reads it. The same client would most likely return, and charge for, the same again: so it is a
// FORMAT_ERROR, which is not retried by default.

/** Why a model's answer is not valid, as an error; undefined if it is. */
export function answerProblem({ id, info }: LLMClient, given: unknown): ProviderError | undefined {
  const problem = answerMisfit(given);
  if (problem === undefined) return undefined;
  const message = `${id} returned ${problem}`;
  return new ProviderError({ kind: "FORMAT_ERROR", message, ...info });
}

/** The same as text, whatever the answer comes from. */
export function answerMisfit(given: unknown): string | undefined {
  if (!isObject(given)) return `${given === null ? "null" : typeof given} instead of a response`;
  const { message } = given;
  if (!isObject(message)) return describeMisfit("message", message, "an object with role and content");
  const { role, content, toolCalls } = message;
  if (role !== "assistant") return describeMisfit("message.role", role, '"assistant"');
  if (!isContent(content))
    return describeMisfit("message.content", content, "a string (which may be empty) or an array of parts");
  if (toolCalls !== undefined && !isListOf(toolCalls, isCall))
    return describeMisfit(
      "message.toolCalls",
      toolCalls,
      "an array of calls, each with an id and a name, or undefined",
    );
  const { finishReason } = given;
  // The two most common ones are not searched for.
  if (finishReason === "stop" || finishReason === "toolCalls" || finishReason === undefined) return undefined;
  if (!FINISH_REASONS.includes(finishReason))
    return describeMisfit("finishReason", finishReason, `one of ${FINISH_REASONS.join(", ")}`);
  return undefined;
}

// The most common first. Not frozen, because a frozen list is searched outside of compiled code.
const FINISH_REASONS: readonly unknown[] = [
  "stop",
  "toolCalls",
  "length",
  "refused",
  "filtered",
  "other",
] satisfies FinishReason[];

/** Whether the value can be the content of a message. */
export function isContent(value: unknown): boolean {
  return typeof value === "string" || isListOf(value, isPart);
}

function describeMisfit(field: string, value: unknown, expected: string): string {
  return `a response whose ${field} is ${show(value)}; expected ${expected}`;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isListOf(value: unknown, isOne: (item: Fields) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  const items: readonly unknown[] = value;
  // Not `every`, which skips holes. By index: `for of` allocates two objects for each item wherever V8 does not inline it.
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (!isObject(item) || !isOne(item)) return false;
  }
  return true;
}

function isPart({ type, text }: Fields): boolean {
  return typeof type === "string" && (type !== "text" || typeof text === "string");
}

/** The arguments may be anything: if they are not JSON, the model is told. */
function isCall({ id, name }: Fields): boolean {
  return typeof id === "string" && typeof name === "string";
}
