import { callWantsApproval, type Tool } from "@ravi/kernel";

/**
 * The same tool with a wrapped `execute`. The fields are also copied by name, because a spread does not copy getters and methods
 * of a class.
 */
export function withExecute(tool: Tool, execute: Tool["execute"]): Tool {
  const { name, description, input, idempotent, timeoutS } = tool;
  const rule = tool.needsApproval;
  // As a method of the tool, whose own fields it may read.
  const needsApproval = typeof rule === "function" ? (args: unknown) => callWantsApproval(tool, args) : rule;
  return { ...tool, name, description, input, idempotent, needsApproval, timeoutS, execute };
}
