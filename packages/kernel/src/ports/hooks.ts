import type { AgentId, ExecId, RunId, SessionId } from "../core/ids.ts";
import type { MaybePromise } from "../core/types.ts";
import type { SerializedError } from "../errors/to-json.ts";
import type { FinishReason } from "../model/llm.ts";
import type { Usage } from "../model/usage.ts";
import type { RunStatus } from "../agent/handle.ts";
import type { BudgetWarning } from "./ledger.ts";

/** The events of a run that hooks can observe. */
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

/** The fields that every payload has. */
export interface HookBase {
  readonly agentName: string;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly sessionId: SessionId;
  /** Epoch milliseconds. */
  readonly at: number;
  /** True if a resumed run repeats the event from its record: nothing was called or paid again. */
  readonly replayed?: boolean | undefined;
}

/** The payload of each event. */
export interface HookPayloads {
  run_start: HookBase & { readonly input: string };
  run_end: HookBase & {
    readonly status: RunStatus | "paused";
    readonly usage: Usage;
    /** Dollars; null if the price of a call is not known. */
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
  /** `provider` and `model` are the ones that the call was sent to last. After a fallback they differ from those of `llm_start`. */
  llm_end: HookBase & {
    readonly key: string;
    readonly provider: string;
    readonly model: string;
    readonly status: "ok" | "error";
    readonly usage: Usage;
    /** Dollars; null if the price is not known, 0 if the call failed before anything was used. */
    readonly costUsd: number | null;
    /** True if the provider did not report its usage, so that `usage` is an estimate. */
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
  /** `by` is the agent that took the slot, if the engine knows. Those of Ravi leave it out. */
  preempted: HookBase & { readonly by?: AgentId | undefined };
  resumed: HookBase & { readonly pausedMs: number };
  retry: HookBase & {
    readonly attempt: number;
    readonly delayMs: number;
    readonly error: SerializedError;
  };
  /** A prompt was shortened. `before` and `after` are numbers of messages; they are equal if messages only got shorter. */
  compaction: HookBase & { readonly strategy: string; readonly before: number; readonly after: number };
  approval_requested: HookBase & {
    readonly name: string;
    readonly question: string;
    /** The tool call that it is about; absent if somebody is asked for a larger budget. */
    readonly callId?: string | undefined;
  };
}

/** Observes a run. Hooks cannot change it, and a run waits for them only at its end. */
export interface Hooks {
  /** Whether anybody listens to the event. Ask before you build a payload. */
  has(event: HookEvent): boolean;
  /** Calls the listeners. Never throws. If it returns a promise, that resolves when all of them are done. */
  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void>;
  /**
   * Like `dispatch`, for a payload of plain data that nobody else will change: it is frozen and passed on without a copy. Optional;
   * `tellOwn` falls back to `dispatch`.
   */
  dispatchOwn?<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void>;
  /** Resolves when every dispatch so far is done or has timed out. A run waits for it at its end. */
  drain?(): MaybePromise<void>;
}

/** Hooks without listeners. */
export const NO_HOOKS: Hooks = Object.freeze({ has: () => false, dispatch: () => {}, drain: () => {} });
