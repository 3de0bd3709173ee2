import { isPromiseLike, type MaybePromise, type Tool, type ToolContext, type ToolResult } from "@ravi/kernel";
import { toolFailureOf, toToolResult } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";

/** Runs a tool. If it fails, that is a result for the model. Makes no promise if the tool makes none. */
export function executeTool(
  exec: Execution,
  tool: Tool,
  args: unknown,
  context: ToolContext,
): MaybePromise<ToolResult> {
  try {
    const value = tool.execute(args, context);
    return isPromiseLike(value) ? resultLater(exec, value) : toToolResult(value);
  } catch (error) {
    return failed(exec, error);
  }
}

function resultLater(exec: Execution, value: PromiseLike<unknown>): Promise<ToolResult> {
  return Promise.resolve(value).then(toToolResult, (error: unknown) => failed(exec, error));
}

/** If the run was stopped, the tool was cut off and has not failed: it is not known whether it did its work. */
function failed(exec: Execution, error: unknown): ToolResult {
  const { stopped } = exec;
  if (stopped !== undefined) throw stopped;
  return toolFailureOf(error, () => exec.checkStopped());
}
