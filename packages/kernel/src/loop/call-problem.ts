import { InvalidValueError } from "../errors/errors.ts";
import type { LLMClient, ModelRequest } from "../model/llm.ts";

/**
 * Why a model cannot be asked this; undefined if it can. For agents in plain JavaScript, where `ctx.llm(model, messages)` is easily
 * written. `prefix` stands before the names of the fields.
 */
export function callProblem(
  prefix: string,
  model: LLMClient | null | undefined,
  request: ModelRequest | null | undefined,
): InvalidValueError | undefined {
  if (typeof model?.generate !== "function")
    return wrong(`${prefix}model`, model, "a model: an object with an id and a generate method");
  const messages: unknown = request?.messages;
  if (Array.isArray(messages)) return undefined;
  return typeof request === "object" && request !== null && !Array.isArray(request)
    ? wrong(`${prefix}request.messages`, messages, "an array of messages")
    : wrong(`${prefix}request`, request, "an object with the messages, as in ctx.llm(model, { messages })");
}

function wrong(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
