import type { ModelResponse, ToolCall } from "@ravi/kernel";

/**
 * A copy of an answer of which nobody else holds a part, so that a journal in memory may keep it as it is; undefined where there is
 * more in it than text and tool calls.
 */
export function ownResponse(response: ModelResponse): ModelResponse | undefined {
  if (!isPlain(response)) return undefined;
  const { message, usage } = response;
  const { toolCalls } = message;
  // Not pushed one by one: the first push onto an empty list makes room for seventeen, and the journal keeps it.
  const said =
    toolCalls === undefined
      ? { ...message }
      : { ...message, toolCalls: toolCalls.map((call) => ({ ...call })) };
  return { ...response, message: said, usage: usage && { ...usage } };
}

/** Whether there is nothing in it but text and tool calls. Then it can be written down, too. */
function isPlain(response: ModelResponse): boolean {
  try {
    const { message, usage } = response;
    if (!isFlat(response, "message", "usage") || !isFlat(message, "toolCalls")) return false;
    if (usage !== undefined && !isFlat(usage)) return false;
    return message.toolCalls === undefined || areFlat(message.toolCalls);
  } catch {
    // A getter of somebody's own threw: it is no plain field.
    return false;
  }
}

function areFlat(calls: readonly ToolCall[]): boolean {
  const isList: boolean = Array.isArray(calls);
  if (!isList) return false;
  for (const call of calls) if (!isFlat(call)) return false;
  return true;
}

/** Whether it holds nothing but texts, numbers and truths, beside what is looked at by itself under those names. */
function isFlat(value: object, one?: string, other?: string): boolean {
  // A model that was not compiled may leave out anything.
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
