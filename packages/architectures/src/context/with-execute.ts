import type { Tool } from "@ravi/kernel";

/**
 * The same tool with a wrapped `execute`. The fields are also copied by name, because a spread does not copy getters and methods
 * of a class.
 */
export function withExecute(tool: Tool, execute: Tool["execute"]): Tool {
  const { name, description, input, idempotent, needsApproval, timeoutS } = tool;
  return { ...tool, name, description, input, idempotent, needsApproval, timeoutS, execute };
}
