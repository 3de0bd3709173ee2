import { type FunctionContext, MiddlewareError, type Tool, type ToolResult } from "@ravi/kernel";
import type { Approvable } from "./approval.ts";
import type { Execution } from "./execution.ts";
import { LevelCall } from "./level-call.ts";

/** The context of layers around one tool call. */
export class FunctionCall extends LevelCall implements FunctionContext {
  readonly key: string;
  readonly tool: Tool;
  readonly callId: string;
  arguments: unknown;
  /** Whether the tool's own rule has said that nobody need approve a call with these arguments. */
  isUnasked = false;
  /** Whether the layers have returned synchronously and the result was taken. */
  isOver = false;
  private answer: ToolResult | undefined;

  constructor(exec: Execution, { key, tool, call }: Approvable, args: unknown) {
    super(exec);
    this.key = key;
    this.tool = tool;
    this.callId = call.id;
    this.arguments = args;
  }

  get result(): ToolResult | undefined {
    return this.answer;
  }

  /**
   * Throws if the result was taken: a layer that changes it later, because it has not awaited `next()`, must be told that this has no
   * effect.
   */
  set result(result: ToolResult | undefined) {
    if (this.isOver) {
      const problem = `a layer changed the result of ${this.functionName} after the call was over; await next() first`;
      throw new MiddlewareError({ layer: "function", problem });
    }
    this.answer = result;
  }

  get functionName(): string {
    return this.tool.name;
  }
}
