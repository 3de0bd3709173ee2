import type { ToolResult } from "../../agent/leaves.ts";
import type { Clock } from "../../core/clock.ts";
import type { AbortSignalLike } from "../../core/types.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "../../model/llm.ts";
import { callWantsApproval, type Tool, type ToolContext } from "../../model/tool.ts";
import { CancellationToken } from "../../run/cancellation.ts";
import { toolFailure, toToolResult } from "../tool-call.ts";

/** A signal of its own aborts a model call too. */
export interface BareToolContext extends ToolContext {
  llm(model: LLMClient, request: ModelRequest, signal?: AbortSignalLike): Promise<ModelResponse>;
}

/** Calls a tool within its `timeoutS`. A call that needs approval fails, because nobody can be asked here. */
export async function callBareTool<R>(
  tool: Tool<unknown, R>,
  args: unknown,
  context: BareToolContext,
  clock: Clock,
): Promise<ToolResult<R>> {
  if (callWantsApproval(tool, args))
    return toolFailure(
      `${tool.name} needs approval, and nobody can be asked for it in a bare context, which is a run without a Runtime`,
    );
  if (tool.timeoutS === undefined) return toToolResult(await tool.execute(args, context));
  return withinTime(tool, tool.timeoutS, args, context, clock);
}

/** If the clock has no timers, a timeout is reported only when the call ends. */
async function withinTime<R>(
  tool: Tool<unknown, R>,
  timeoutS: number,
  args: unknown,
  context: BareToolContext,
  clock: Clock,
): Promise<ToolResult<R>> {
  const problem = `${tool.name} took longer than ${timeoutS} s`;
  const late = toolFailure(problem);
  const until = clock.now() + timeoutS * 1_000;
  const token = new CancellationToken(context.signal);
  let isLate = false;
  const { promise, resolve } = Promise.withResolvers<ToolResult<R>>();
  const timer = clock.setTimer?.(() => {
    isLate = true;
    token.cancel(problem);
    resolve(late);
  }, timeoutS * 1_000);
  try {
    const progress: ToolContext["progress"] = (name, data) => {
      // If it took too long, its failure was reported.
      if (!isLate) context.progress?.(name, data);
    };
    const { signal } = token;
    // One that is abandoned must not go on paying.
    const llm: ToolContext["llm"] = (model, request) => context.llm(model, request, signal);
    const made = Promise.resolve(tool.execute(args, { ...context, signal, llm, progress }));
    const result = await Promise.race([made.then(toToolResult), promise]);
    return clock.now() > until ? late : result;
  } finally {
    timer?.cancel();
    token.dispose();
  }
}
