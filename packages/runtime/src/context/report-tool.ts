import {
  errorToJSON,
  HookEvent,
  type SerializedError,
  type Span,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import { tellOwn } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import { audit, endSpan, isAudited } from "./observe.ts";

// What hooks, telemetry and the audit log are told of a tool call. Payloads are written out, because a spread takes longer than everything
// else here.

/** The call that is reported. */
export interface ReportedTool {
  readonly exec: Execution;
  readonly key: string;
  readonly tool: Tool;
  readonly call: ToolCall;
  readonly startedAt: number;
  readonly span: Span | undefined;
}

/** Reports the start of a call to hooks, if any of them listens. */
export function reportToolStart({ exec, key, tool, call, startedAt }: ReportedTool): void {
  if (!exec.hooks.has(HookEvent.TOOL_START)) return;
  const { runId, sessionId } = exec.supervision;
  tellOwn(exec.hooks, HookEvent.TOOL_START, {
    agentName: exec.name,
    agentId: exec.agentId,
    runId,
    execId: exec.execId,
    sessionId,
    at: startedAt,
    key,
    toolName: tool.name,
    callId: call.id,
  });
}

/** Reports the end of a call. Returns the time that hooks were told; undefined if none of them listens. */
export function reportToolEnd(
  reported: ReportedTool,
  status: "ok" | "error",
  error?: unknown,
): number | undefined {
  const { exec, key, tool, call, startedAt } = reported;
  endSpan(exec, reported.span, error);
  if (isAudited(exec)) audit(exec, { action: "tool", target: tool.name, outcome: status, details: { key } });
  if (!exec.hooks.has(HookEvent.TOOL_END)) return undefined;
  const { runId, sessionId } = exec.supervision;
  const at = exec.ports.clock.now();
  const payload = {
    agentName: exec.name,
    agentId: exec.agentId,
    runId,
    execId: exec.execId,
    sessionId,
    at,
    key,
    toolName: tool.name,
    callId: call.id,
    status,
    durationMs: Math.max(0, at - startedAt),
  };
  const event = error === undefined ? payload : { ...payload, error: errorToJSON(error) };
  tellOwn(exec.hooks, HookEvent.TOOL_END, event);
  return at;
}

/** Reports a call that comes from the record, marked as `replayed`. */
export function reportReplayedTool({ exec, key, tool, call }: ReportedTool, error?: SerializedError): void {
  const base = { ...exec.hookBase(true), key, toolName: tool.name, callId: call.id };
  if (exec.hooks.has(HookEvent.TOOL_START)) void exec.hooks.dispatch(HookEvent.TOOL_START, base);
  if (exec.hooks.has(HookEvent.TOOL_END))
    void exec.hooks.dispatch(HookEvent.TOOL_END, {
      ...base,
      status: error === undefined ? "ok" : "error",
      durationMs: 0,
      ...(error !== undefined && { error }),
    });
}
