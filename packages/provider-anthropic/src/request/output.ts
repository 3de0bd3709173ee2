import type { Tool } from "@anthropic-ai/sdk/resources/messages";
import type { ModelRequest } from "@ravi/kernel";
import { type Fields, inputSchema, type Notice, plainName, uniqueIds } from "@ravi/kernel/provider";
import { outputSchema } from "./schema.ts";

/** How an answer of a given shape is asked for. */
export type OutputPlan =
  | { readonly by: "format"; readonly schema: Fields }
  /** The model calls this tool to give its answer; the arguments become the text of the answer. */
  | { readonly by: "tool"; readonly tool: Tool };

export interface OutputQuestion {
  readonly output: ModelRequest["output"];
  readonly toolNames: readonly string[];
  /** Whether the server has refused structured output before. */
  readonly isRefused: boolean;
  readonly notice: Notice;
}

/** The longest name that the API accepts. */
const MAX_NAME = 64;
const MARK = "_output";

/** Uses the server's structured output if the schema fits it, else a tool. */
export function planOutput(question: OutputQuestion): OutputPlan | undefined {
  const { output, toolNames, isRefused, notice } = question;
  if (output === undefined) return undefined;
  const schema = isRefused ? undefined : outputSchema(output.schema);
  if (schema !== undefined) return { by: "format", schema };
  if (output.schema["type"] !== "object") {
    notice("the schema of the answer is left out: it fits neither structured output nor a tool");
    return undefined;
  }
  const name = nameBeside(toolNames, plainName(output.name));
  const description = "Returns the final answer in the requested format.";
  return { by: "tool", tool: { name, description, input_schema: inputSchema(output.schema) } };
}

/** The wanted name, or a similar one that no tool has. */
function nameBeside(toolNames: readonly string[], wanted: string): string {
  const names = uniqueIds(MAX_NAME);
  for (const name of toolNames) names.give(name);
  return names.give(toolNames.includes(wanted) ? wanted.slice(0, MAX_NAME - MARK.length) + MARK : wanted);
}
