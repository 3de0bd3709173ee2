import type { FunctionContext, Tool, ToolResult } from "@ravi/kernel";
import type { Approvable } from "./approval.ts";
import type { Execution } from "./execution.ts";
import { LevelCall } from "./level-call.ts";

/** Around one tool call. */
export class FunctionCall extends LevelCall implements FunctionContext {
  readonly key: string;
  readonly tool: Tool;
  readonly callId: string;
  arguments: unknown;
  result: ToolResult | undefined;

  constructor(exec: Execution, { key, tool, call }: Approvable, args: unknown) {
    super(exec);
    this.key = key;
    this.tool = tool;
    this.callId = call.id;
    this.arguments = args;
  }

  get functionName(): string {
    return this.tool.name;
  }
}
