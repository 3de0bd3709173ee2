import type { SchemaResult, StandardSchema } from "@ravi/kernel";
import { ownSchema } from "@ravi/kernel/loop";

/** The arguments with which a model describes a helper. */
interface HelperArgs {
  readonly name: string;
  readonly instructions: string;
  readonly tools: readonly string[];
  readonly task: string;
}

type Read = { readonly helper: HelperArgs } | { readonly problem: string; readonly path: string };

/** Checks the arguments of a `hire_helper` call. `problem` is an error message for the model. */
export function readHelper(value: unknown, allowed: readonly string[]): Read {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "expected an object { name, instructions, tools, task }", path: "" };
  const { name, instructions, tools = [], task, ...rest } = value as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return { problem: "unknown field", path: unknown };
  if (!isText(name) || !/[a-zA-Z0-9]/.test(name))
    return { problem: "expected a short name with letters or digits", path: "name" };
  if (!isText(instructions))
    return { problem: "expected a non-empty string that says who the helper is", path: "instructions" };
  if (!isText(task)) return { problem: "expected a non-empty string that says what to do", path: "task" };
  if (!Array.isArray(tools)) return { problem: "expected an array of tool names", path: "tools" };
  const chosen: string[] = [];
  for (const tool of tools) {
    if (typeof tool !== "string" || !allowed.includes(tool)) {
      const allowedTools =
        allowed.length === 0 ? "helpers have no tools" : `allowed tools: ${allowed.join(", ")}`;
      return {
        problem: `a helper may not have the tool ${JSON.stringify(tool)}; ${allowedTools}`,
        path: "tools",
      };
    }
    chosen.push(tool);
  }
  return { helper: { name, instructions, tools: chosen, task } };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

export function helperSchema(allowed: readonly string[]): StandardSchema<HelperArgs> {
  const text = (description: string) => ({ type: "string", description });
  const items = allowed.length === 0 ? { type: "string" } : { type: "string", enum: allowed };
  const jsonSchema = () => ({
    type: "object",
    properties: {
      name: text("A short name for the helper."),
      instructions: text("Its system prompt: who it is and how it works."),
      tools: { type: "array", items, description: "The tools that the helper may use." },
      task: text(
        "The complete task, with everything that is needed to do it: the helper sees nothing else of this conversation.",
      ),
    },
    required: ["name", "instructions", "task"],
    additionalProperties: false,
  });
  return ownSchema(jsonSchema, (value): SchemaResult<HelperArgs> => {
    const read = readHelper(value, allowed);
    if ("helper" in read) return { value: read.helper };
    return { issues: [{ message: read.problem, path: read.path === "" ? [] : [read.path] }] };
  });
}
