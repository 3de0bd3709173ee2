import {
  type Dependencies,
  isRaviError,
  type JsonObject,
  type JsonValue,
  type RunContext,
  type Tool,
  type ToolCall,
  type ToolResult,
} from "@ravi/kernel";
import { ownSchema } from "@ravi/kernel/loop";
import { findJson } from "../parse/json.ts";

// What a memory returns may change from day to day. So it is read and written through the context like a tool: the result is recorded, and
// a resumed run gets the same lessons.

const ANY = ownSchema<JsonObject>(
  () => ({ type: "object" }),
  (value) => ({ value: value as JsonObject }),
);

/** Lessons of earlier runs for the same user, the most relevant first. Empty if there is no memory. */
export async function recallLessons(
  { memory, runtime, scope }: Dependencies,
  query: string,
  limit: number,
): Promise<readonly string[]> {
  if (memory.isNoop === true || limit === 0) return [];
  const recall: Tool<unknown, JsonValue> = {
    name: "memory_recall",
    description: "Recalls lessons.",
    input: ANY,
    idempotent: true,
    execute: async () => (await memory.recall(scope, query, limit)).map(({ text }) => text),
  };
  const call = { id: "recall", name: recall.name, arguments: JSON.stringify({ query, limit }) };
  const content = (await askMemory(runtime, call, recall))?.content;
  if (typeof content !== "string") return [];
  // Middleware around tools may have shortened or changed the text.
  const texts: unknown = findJson(content);
  return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
}

/**
 * Stores a lesson; returns whether that succeeded. After a crash it may be stored again with the same key, so that the memory can
 * detect it.
 */
export async function keepLesson({ memory, runtime, scope }: Dependencies, lesson: string): Promise<boolean> {
  if (memory.isNoop === true) return false;
  const keep: Tool<unknown, JsonValue> = {
    name: "memory_remember",
    description: "Keeps a lesson.",
    input: ANY,
    idempotent: true,
    execute: async (_, { idempotencyKey: key }) =>
      (await memory.remember(scope, lesson, { kind: "lesson", key })).id,
  };
  const call = { id: "remember", name: keep.name, arguments: JSON.stringify({ lesson }) };
  return (await askMemory(runtime, call, keep)) !== undefined;
}

/**
 * Undefined if the memory fails (the context emits that as an event) or if no more tool calls are allowed: the work continues
 * without it.
 */
async function askMemory(
  runtime: RunContext,
  call: ToolCall,
  tool: Tool<unknown, JsonValue>,
): Promise<ToolResult | undefined> {
  try {
    const result = await runtime.tool(call, tool);
    return result.isError ? undefined : result;
  } catch (error) {
    if (isRaviError(error, "BUDGET_EXHAUSTED") && error.dimension === "toolCalls") return undefined;
    throw error;
  }
}
