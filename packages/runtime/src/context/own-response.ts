import type { ModelResponse, ToolCall } from "@ravi/kernel";

/**
 * A copy of an answer of which nobody else holds a part, so that a journal in memory may keep it as it is; undefined where there is
 * more in it than text and tool calls.
 */
export function ownResponse(response: ModelResponse): ModelResponse | undefined {
  const { message, usage } = response;
  if (typeof message.content !== "string" || !isFlat(response, 2) || !isFlat(message, 1)) return undefined;
  if (usage !== undefined && !isFlat(usage, 0)) return undefined;
  const said = message.toolCalls === undefined ? { ...message } : withOwnCalls(message, message.toolCalls);
  return said && { ...response, message: said, usage: usage && { ...usage } };
}

function withOwnCalls(
  message: ModelResponse["message"],
  calls: readonly ToolCall[],
): ModelResponse["message"] | undefined {
  const isList: boolean = Array.isArray(calls);
  if (!isList) return undefined;
  const toolCalls: ToolCall[] = [];
  for (const call of calls) {
    if (!isFlat(call, 0)) return undefined;
    toolCalls.push({ ...call });
  }
  return { ...message, toolCalls };
}

/** Whether it holds nothing but texts, numbers and truths, beside that many objects which are looked at by themselves. */
function isFlat(value: object, objects: number): boolean {
  if (value === null || "toJSON" in value) return false;
  let left = objects;
  for (const key in value) {
    const field: unknown = value[key as keyof typeof value];
    switch (typeof field) {
      case "string":
      case "number":
      case "boolean":
      case "undefined":
        break;
      case "object":
        if (field !== null && left-- === 0) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}
