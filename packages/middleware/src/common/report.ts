import { type HookBase, AgentId, errorToJSON, HookEvent, SessionId } from "@ravi/kernel";
import type { AnyContext } from "../types.ts";

// What layers tell the hooks.

/** The fields that every hook payload has: agent, run, session and time. */
export function hookBase(context: AnyContext): HookBase {
  const { meta } = context;
  return {
    agentName: context.agentName,
    agentId: meta.supervision?.agentId ?? AgentId(context.agentName),
    runId: meta.runId,
    execId: meta.execId,
    sessionId:
      "sessionId" in context
        ? // Unchecked: its guard has to report a malformed id.
          (context.sessionId as SessionId)
        : (meta.supervision?.sessionId ?? SessionId(meta.runId)),
    at: context.clock.now(),
  };
}

/** Reports to the hooks that a guard tripped without stopping the run. */
export function reportTrip(context: AnyContext, layer: string, reason: string): void {
  if (!context.hooks.has(HookEvent.GUARDRAIL_TRIP)) return;
  // `dispatch` never throws, and listeners are not awaited here.
  void context.hooks.dispatch(HookEvent.GUARDRAIL_TRIP, { ...hookBase(context), layer, reason });
}

/** Reports to the hooks that a model call is tried again. */
export function reportRetry(context: AnyContext, attempt: number, delayMs: number, error: unknown): void {
  if (!context.hooks.has(HookEvent.RETRY)) return;
  const about = { attempt, delayMs, error: errorToJSON(error) };
  void context.hooks.dispatch(HookEvent.RETRY, { ...hookBase(context), ...about });
}
