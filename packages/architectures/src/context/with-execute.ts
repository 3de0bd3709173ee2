import type { Tool } from "@ravi/kernel";

/** The same tool with something around its work. Field by field too: what a class has on its prototype is not copied. */
export function withExecute(tool: Tool, execute: Tool["execute"]): Tool {
  const { name, description, input, idempotent, needsApproval, timeoutS } = tool;
  return { ...tool, name, description, input, idempotent, needsApproval, timeoutS, execute };
}
