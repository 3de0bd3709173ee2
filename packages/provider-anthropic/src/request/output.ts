import type { Tool } from "@anthropic-ai/sdk/resources/messages";
import type { ModelRequest } from "@ravi/kernel";
import { type Fields, inputSchema, type Notice, plainName } from "@ravi/kernel/provider";
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
  let name = plainName(output.name);
  while (toolNames.includes(name)) name = `${name.slice(0, 57)}_output`;
  const description = "Returns the final answer in the requested format.";
  return { by: "tool", tool: { name, description, input_schema: inputSchema(output.schema) } };
}
