import {
  type Dependencies,
  isRaviError,
  type JsonObject,
  type JsonValue,
  type Memory,
  type RunContext,
  type SchemaResult,
  type StandardSchema,
  type Tool,
  type ToolCall,
  type ToolResult,
} from "@ravi/kernel";
import { findJson } from "../parse/json.ts";

// Memory is the world outside: what it says today it may not say tomorrow. Read and written through the context, as tools are,
// it is recorded, and a resumed run learns from the same lessons.

type Arguments = JsonObject;

const ANY: StandardSchema<Arguments> = Object.freeze({
  "~standard": Object.freeze({
    version: 1,
    vendor: "ravi",
    validate: (value: unknown): SchemaResult<Arguments> => ({ value: value as Arguments }),
    jsonSchema: Object.freeze({ input: () => ({ type: "object" }), output: () => ({ type: "object" }) }),
  }),
});

/** What earlier runs for the same user have learnt, the most fitting first. None where there is no memory. */
export async function recallLessons(
  { memory, runtime, scope }: Dependencies,
  query: string,
  limit: number,
): Promise<readonly string[]> {
  if (memory.isNoop || limit === 0) return [];
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
  // A layer around tools may have shortened or changed it.
  const texts: unknown = findJson(content);
  return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
}

/** Keeps a lesson. After a crash it may be kept again, under the same key, by which a memory can tell. */
export async function keepLesson(deps: Dependencies, lesson: string): Promise<boolean> {
  const { memory, runtime, scope } = deps;
  if (memory.isNoop) return false;
  const keep: Tool<unknown, JsonValue> = {
    name: "memory_remember",
    description: "Keeps a lesson.",
    input: ANY,
    idempotent: true,
    execute: (_, { idempotencyKey }) => keepOnce(memory, scope, lesson, idempotencyKey),
  };
  const call = { id: "remember", name: keep.name, arguments: JSON.stringify({ lesson }) };
  return (await askMemory(runtime, call, keep)) !== undefined;
}

/**
 * Undefined where a memory fails, which whoever asked tells as an event, and where no more tools may be called: the work goes on
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

async function keepOnce(
  memory: Memory,
  scope: Dependencies["scope"],
  lesson: string,
  key: string,
): Promise<string> {
  return (await memory.remember(scope, lesson, { kind: "lesson", key })).id;
}
