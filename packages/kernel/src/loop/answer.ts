import { ProviderError } from "../errors/errors.ts";
import { show } from "../errors/show.ts";
import type { FinishReason, LLMClient } from "../model/llm.ts";

// A client that was not compiled may give anything. What is no answer is the provider's failure, and not a crash of the agent that reads
// it. The same client most likely gives the same again, and is paid for it: so it is of a kind that is not tried again by itself.

/** Why what a model gave is no answer; undefined where it is one. */
export function answerProblem({ id, info }: LLMClient, given: unknown): ProviderError | undefined {
  const problem = answerMisfit(given);
  if (problem === undefined) return undefined;
  const message = `${id} gave ${problem}`;
  return new ProviderError({ kind: "FORMAT_ERROR", message, ...info });
}

/** The same in words, whoever gave it. */
export function answerMisfit(given: unknown): string | undefined {
  if (!isObject(given)) return `${given === null ? "null" : typeof given} where an answer was expected`;
  const { message } = given;
  if (!isObject(message)) return misfit("message", message, "an object with a role and a content");
  const { role, content, toolCalls } = message;
  if (role !== "assistant") return misfit("message.role", role, '"assistant"');
  if (!isContent(content))
    return misfit("message.content", content, "a text, if only an empty one, or a list of parts");
  if (toolCalls !== undefined && !isListOf(toolCalls, isCall))
    return misfit(
      "message.toolCalls",
      toolCalls,
      "a list of calls, each with an id and a name, or undefined",
    );
  const { finishReason } = given;
  if (finishReason !== undefined && !FINISH_REASONS.includes(finishReason))
    return misfit("finishReason", finishReason, `one of ${FINISH_REASONS.join(", ")}`);
  return undefined;
}

// The usual ones first. A list, and not frozen: that is looked through in compiled code.
const FINISH_REASONS: readonly unknown[] = [
  "stop",
  "toolCalls",
  "length",
  "refused",
  "filtered",
  "other",
] satisfies FinishReason[];

/** Whether it can stand in a message. */
export function isContent(value: unknown): boolean {
  return typeof value === "string" || isListOf(value, isPart);
}

function misfit(field: string, value: unknown, expected: string): string {
  return `an answer of which ${field} is ${show(value)}; expected ${expected}`;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isListOf(value: unknown, isOne: (item: Fields) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  const items: readonly unknown[] = value;
  // Not `every`, which passes over what is missing.
  for (const item of items) if (!isObject(item) || !isOne(item)) return false;
  return true;
}

function isPart({ type, text }: Fields): boolean {
  return typeof type === "string" && (type !== "text" || typeof text === "string");
}

/** Its arguments may be anything: what is no JSON is told to the model. */
function isCall({ id, name }: Fields): boolean {
  return typeof id === "string" && typeof name === "string";
}
