import type { ModelResponse, ToolCall } from "@ravi/kernel";

/**
 * A copy of an answer that shares no object with it, so that a journal in memory can keep it as it is. Undefined if the answer contains
 * more than text and tool calls.
 */
export function copyResponse(response: ModelResponse): ModelResponse | undefined {
  if (!isPlain(response)) return undefined;
  const { message, usage } = response;
  const { toolCalls } = message;
  // Not pushed one by one: the first push onto an empty array allocates room for 17 elements, and the journal would keep that.
  const said =
    toolCalls === undefined
      ? { ...message }
      : { ...message, toolCalls: toolCalls.map((call) => ({ ...call })) };
  return { ...response, message: said, usage: usage && { ...usage } };
}

/** Whether it contains only text and tool calls. Then it can also be written to a journal. */
function isPlain(response: ModelResponse): boolean {
  try {
    const { message, usage } = response;
    if (!isFlat(response, "message", "usage") || !isFlat(message, "toolCalls")) return false;
    if (usage !== undefined && !isFlat(usage)) return false;
    return message.toolCalls === undefined || areFlat(message.toolCalls);
  } catch {
    // A getter threw, so it is no plain field.
    return false;
  }
}

function areFlat(calls: readonly ToolCall[]): boolean {
  const isList: boolean = Array.isArray(calls);
  if (!isList) return false;
  // By index: see `isListOf` in the kernel.
  for (let at = 0; at < calls.length; at++) if (!isFlat(calls[at])) return false;
  return true;
}

/**
 * Whether it contains only strings, numbers, booleans, null and undefined, except in the fields `one` and `other`, which the caller checks.
 */
function isFlat(value: object | undefined, one?: string, other?: string): boolean {
  // A model in plain JavaScript may leave out anything.
  if (typeof value !== "object" || value === null) return false;
  if ((value as { readonly toJSON?: unknown }).toJSON !== undefined) return false;
  for (const key in value) {
    const field: unknown = value[key as keyof typeof value];
    switch (typeof field) {
      case "string":
      case "number":
      case "boolean":
      case "undefined":
        break;
      case "object":
        if (field !== null && key !== one && key !== other) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}
