import { type LLMClient, type ModelResponse, ProviderError } from "@ravi/kernel";
import { isWritable } from "../journal/parts/plain-json.ts";

/**
 * The answer in a form that can be recorded. Additional fields of a client or a layer that are no JSON, such as an object of its library,
 * are left out, for the agent too: a resumed run must not see another answer. Throws a `ProviderError` if a part of the answer itself
 * cannot be recorded.
 */
export function writableResponse(model: LLMClient, response: ModelResponse): ModelResponse {
  if (isWritable(response)) return response;
  const message = writableFields(response.message);
  for (const field of ["content", "toolCalls"] as const) {
    if (response.message[field] !== undefined && message[field] === undefined)
      throw unwritable(model, `message.${field}`);
  }
  const { message: _, usage, ...rest } = writableFields(response, "message", "usage");
  if (rest.finishReason === undefined && response.finishReason !== undefined)
    throw unwritable(model, "finishReason");
  return { ...rest, message, ...(usage && { usage: writableFields(usage) }) } as ModelResponse;
}

/** A copy with the fields that can be recorded. Fields in `taken` are copied unchecked, because the caller checks them. */
function writableFields<T extends object>(value: T, ...taken: readonly string[]): Partial<T> {
  const kept: Partial<T> = {};
  for (const key in value) {
    if (key === "toJSON") continue;
    try {
      const field = value[key];
      if (!taken.includes(key)) JSON.stringify(field);
      kept[key] = field;
    } catch {
      // It is left out.
    }
  }
  return kept;
}

/**
 * The same kind as any other bad answer, which is not retried by default: the client would most likely give the same answer again, and be
 * paid for it.
 */
function unwritable({ id, info }: LLMClient, field: string): ProviderError {
  const message = `the response of ${id} cannot be recorded: ${field} is not plain JSON`;
  return new ProviderError({ kind: "FORMAT_ERROR", message, ...info });
}
