import type { AgentId, ExecId, RunId, SessionId } from "../core/ids.ts";
import type { MaybePromise } from "../core/types.ts";
import type { SerializedError } from "../errors/to-json.ts";
import type { FinishReason } from "../model/llm.ts";
import type { Usage } from "../model/usage.ts";
import type { RunStatus } from "../agent/handle.ts";
import type { BudgetWarning } from "./ledger.ts";

/** Every moment of a run that can be observed. */
export const HookEvent = Object.freeze({
  RUN_START: "run_start",
  RUN_END: "run_end",
  STEP_START: "step_start",
  STEP_END: "step_end",
  LLM_START: "llm_start",
  LLM_END: "llm_end",
  TOOL_START: "tool_start",
  TOOL_END: "tool_end",
  GUARDRAIL_TRIP: "guardrail_trip",
  HANDOFF: "handoff",
  FLOW_START: "flow_start",
  FLOW_END: "flow_end",
  BUDGET_WARNING: "budget_warning",
  PREEMPTED: "preempted",
  RESUMED: "resumed",
  RETRY: "retry",
  COMPACTION: "compaction",
  APPROVAL_REQUESTED: "approval_requested",
} as const);
export type HookEvent = (typeof HookEvent)[keyof typeof HookEvent];

/** What every payload says: who, where, when. */
export interface HookBase {
  readonly agentName: string;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly sessionId: SessionId;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The event is told again by a resumed run; nothing was called or paid. */
  readonly replayed?: boolean | undefined;
}

/** The payload of each event. */
export interface HookPayloads {
  run_start: HookBase & { readonly input: string };
  run_end: HookBase & {
    readonly status: RunStatus | "paused";
    readonly usage: Usage;
    /** Dollars; null when a call had no known price. */
    readonly costUsd: number | null;
    readonly durationMs: number;
    readonly error?: SerializedError | undefined;
  };
  step_start: HookBase & { readonly step: number };
  step_end: HookBase & { readonly step: number };
  llm_start: HookBase & {
    readonly key: string;
    readonly provider: string;
    readonly model: string;
    readonly messageCount: number;
  };
  /** `provider` and `model` are those that it was sent to last: after a fallback, others than at its start. */
  llm_end: HookBase & {
    readonly key: string;
    readonly provider: string;
    readonly model: string;
    readonly status: "ok" | "error";
    readonly usage: Usage;
    /** Dollars; null when the price is not known, 0 for a call that failed before anything was used. */
    readonly costUsd: number | null;
    /** The provider did not say what it used. */
    readonly estimated?: boolean | undefined;
    readonly finishReason?: FinishReason | undefined;
    readonly durationMs: number;
    readonly error?: SerializedError | undefined;
  };
  tool_start: HookBase & { readonly key: string; readonly toolName: string; readonly callId: string };
  tool_end: HookBase & {
    readonly key: string;
    readonly toolName: string;
    readonly callId: string;
    readonly status: "ok" | "error";
    readonly durationMs: number;
    readonly error?: SerializedError | undefined;
  };
  guardrail_trip: HookBase & { readonly layer: string; readonly reason: string };
  handoff: HookBase & { readonly to: string; readonly task: string };
  flow_start: HookBase & { readonly flow: string; readonly branches: number };
  flow_end: HookBase & {
    readonly flow: string;
    readonly status: "completed" | "partial" | "failed";
    readonly durationMs: number;
  };
  budget_warning: HookBase & BudgetWarning;
  /** `by` only where the headcount says who took the slot. */
  preempted: HookBase & { readonly by?: AgentId | undefined };
  resumed: HookBase & { readonly pausedMs: number };
  retry: HookBase & {
    readonly attempt: number;
    readonly delayMs: number;
    readonly error: SerializedError;
  };
  compaction: HookBase & { readonly strategy: string; readonly before: number; readonly after: number };
  approval_requested: HookBase & { readonly name: string; readonly question: string };
}

/** Observers of a run. They never change it, and nothing on the hot path waits for them. */
export interface Hooks {
  /** Whether anybody listens; ask before building a payload. */
  has(event: HookEvent): boolean;
  /** Never throws. The promise, if there is one, is for whoever wants to know that all listeners are done. */
  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void>;
  /**
   * `dispatch` of plain data that was made for it. Nobody else holds a part of it that they would change, so it is frozen and handed
   * out as it is, without a copy. `tellOwn` is for whoever tells: it goes by `dispatch` where there is none.
   */
  dispatchOwn?<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void>;
  /** Resolves when every dispatch so far is done or cut off. A run waits for it at its end, where there is one. */
  drain?(): MaybePromise<void>;
}

/** Hooks that nobody listens on. */
export const NO_HOOKS: Hooks = Object.freeze({ has: () => false, dispatch: () => {}, drain: () => {} });
