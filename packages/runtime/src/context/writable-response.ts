import { type LLMClient, type ModelResponse, ProviderError } from "@ravi/kernel";

/**
 * An answer as it can be written down. What a client, or a layer, has left in it beside what it says (an object of its library,
 * say) and what is no JSON is left out, for the agent too: a resumed run must not see another answer. Where that is a part of
 * what it says, there is no answer.
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

function isWritable(response: ModelResponse): boolean {
  try {
    return JSON.stringify(response) !== undefined;
  } catch {
    // A cycle, a bigint, a getter that throws, or nested so deeply that the stack overflows.
    return false;
  }
}

/** A copy with those fields that can be written down; and with those of the given names, which are looked at by themselves. */
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

/** Of the kind of any other bad answer: the same client most likely gives the same again, and is paid for it. */
function unwritable({ id, info }: LLMClient, field: string): ProviderError {
  const message = `${id} gave an answer of which ${field} cannot be written down; expected plain JSON`;
  return new ProviderError({ kind: "FORMAT_ERROR", message, ...info });
}
