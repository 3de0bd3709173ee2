import type {
  Dependencies,
  JsonObject,
  JsonValue,
  Memory,
  SchemaResult,
  StandardSchema,
  Tool,
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
  const { content, isError } = await runtime.tool(call, recall);
  // A memory that fails is told as an event by whoever asked; the work goes on without it.
  if (isError || typeof content !== "string") return [];
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
  return !(await runtime.tool(call, keep)).isError;
}

async function keepOnce(
  memory: Memory,
  scope: Dependencies["scope"],
  lesson: string,
  key: string,
): Promise<string> {
  return (await memory.remember(scope, lesson, { kind: "lesson", key })).id;
}
