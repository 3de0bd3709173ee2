import { HookEvent, type Tool, type ToolCall, type ToolResult, type Gate } from "@ravi/kernel";
import { argumentsText, readApproval, toolFailure } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import { audit } from "./observe.ts";

/** The call that needs approval. */
export interface Approvable {
  readonly key: string;
  readonly call: ToolCall;
  readonly tool: Tool;
}

/**
 * Waits, for days if necessary, until somebody decides on a call. Returns undefined if it may be made, otherwise the result that stands in
 * for it.
 */
export async function askApproval(
  exec: Execution,
  { key, call, tool }: Approvable,
  gate: Gate,
): Promise<ToolResult | undefined> {
  const name = `approval:${exec.execId}:${key}`;
  // If a layer has asked under the same name, its answer counts here too, and nobody is told twice.
  const onAsk = (): void => {
    if (!exec.hooks.has(HookEvent.APPROVAL_REQUESTED)) return;
    const question = `${exec.agentId} wants to call ${tool.name}. Allow it?`;
    void exec.hooks.dispatch(HookEvent.APPROVAL_REQUESTED, {
      ...exec.hookBase(false),
      name,
      question,
      callId: call.id,
    });
  };
  const asked = { tool: tool.name, callId: call.id, arguments: argumentsText(call) };
  const answer = await gate.require(name, asked, onAsk);
  const { approved, reason } = readApproval(answer);
  const outcome = approved ? "ok" : "denied";
  audit(exec, { action: "approval", target: tool.name, outcome, details: { key } });
  if (approved) return undefined;
  return toolFailure(`${tool.name} was not approved${reason === undefined ? "" : `: ${reason}`}`);
}
