import type { AssistantMessage, ModelResponse, ToolCall, Usage } from "@ravi/kernel";

/**
 * A copy of an answer that shares no object with it, so that a journal in memory can keep it as it is. Undefined if the answer contains
 * more than text and tool calls.
 */
export function copyResponse(response: ModelResponse): ModelResponse | undefined {
  try {
    const { usage, finishReason } = response;
    const message = copyMessage(response.message);
    const ownUsage = usage === undefined ? undefined : copyUsage(usage);
    if (message === undefined || (usage !== undefined && ownUsage === undefined)) return undefined;
    if (
      isText(finishReason) &&
      (response as Convertible).toJSON === undefined &&
      isUsual(response, "message", "finishReason", "usage")
    )
      return { message, finishReason, usage: ownUsage };
    return isFlat(response, "message", "usage") ? { ...response, message, usage: ownUsage } : undefined;
  } catch {
    // A getter threw, so it is no plain field.
    return undefined;
  }
}

// What nearly every answer is made of is read and copied by name: to look at all fields of any object, and to spread it, takes 2 % of a turn.

function copyMessage(message: AssistantMessage): AssistantMessage | undefined {
  const { role, content, toolCalls } = message;
  const calls = toolCalls === undefined ? undefined : copyCalls(toolCalls);
  if (toolCalls !== undefined && calls === undefined) return undefined;
  if (isText(role) && isText(content) && (message as Convertible).toJSON === undefined) {
    if (calls === undefined && isUsual(message, "role", "content")) return { role, content };
    if (calls !== undefined && isUsual(message, "role", "content", "toolCalls"))
      return { role, content, toolCalls: calls };
  }
  if (!isFlat(message, "toolCalls")) return undefined;
  return calls === undefined ? { ...message } : { ...message, toolCalls: calls };
}

function copyCalls(calls: readonly ToolCall[]): ToolCall[] | undefined {
  const isList: boolean = Array.isArray(calls);
  if (!isList) return undefined;
  // Not pushed one by one: the first push onto an empty array allocates room for 17 elements, and the journal would keep that.
  const copies = calls.map(copyCall);
  return copies.includes(undefined) ? undefined : (copies as ToolCall[]);
}

function copyCall(call: ToolCall): ToolCall | undefined {
  const { id, name, arguments: written } = call;
  const isPlain = isText(id) && isText(name) && isText(written) && (call as Convertible).toJSON === undefined;
  if (isPlain && isUsual(call, "id", "name", "arguments")) return { id, name, arguments: written };
  return isFlat(call) ? { ...call } : undefined;
}

function copyUsage(usage: Usage): Usage | undefined {
  const { inputTokens, outputTokens } = usage;
  const isPlain =
    typeof inputTokens === "number" &&
    typeof outputTokens === "number" &&
    (usage as Convertible).toJSON === undefined;
  if (isPlain && isUsual(usage, "inputTokens", "outputTokens")) return { inputTokens, outputTokens };
  return isFlat(usage) ? { ...usage } : undefined;
}

/** `JSON.stringify` does not write the fields of an object with such a method. */
type Convertible = { readonly toJSON?: unknown };

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Whether it has these fields and no others, in this order: the name of a later request depends on it. */
function isUsual(value: object, first: string, second: string, third?: string): boolean {
  let at = 0;
  for (const key in value) {
    if (key !== (at === 0 ? first : at === 1 ? second : at === 2 ? third : undefined)) return false;
    at++;
  }
  return at === (third === undefined ? 2 : 3);
}

/**
 * Whether it contains only strings, numbers, booleans, null and undefined, except in the fields `one` and `other`, which the caller checks.
 */
function isFlat(value: object | undefined, one?: string, other?: string): boolean {
  // A model in plain JavaScript may leave out anything.
  if (typeof value !== "object" || value === null) return false;
  if ((value as Convertible).toJSON !== undefined) return false;
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
