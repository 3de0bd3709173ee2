import type { AgentAccount, RunLimits, RunResult } from "../agent/handle.ts";
import type { ExecId } from "../core/ids.ts";
import type { Usage } from "../model/usage.ts";
import type { RunSummary } from "./journal.ts";

/** Everything that is on record of a run. Its agents are not needed to read it, and nothing is changed. */
export interface RunReport extends RunSummary {
  readonly input: string;
  /** The process that works on it; undefined if none does. A `running` run without one was killed, and needs `resume`. */
  readonly heldBy?: RunHolder | undefined;
  /** Of all agents together. A call without an end counts with what was reserved for it. */
  readonly usage: Usage;
  /** Dollars, of all agents together; null if the price of a call is not known. */
  readonly cost: number | null;
  /** The limits of the whole tree that something keeps, with what was granted beyond them. */
  readonly limits: RunLimits;
  /** What each agent has used: the root first, then in the order of hiring. One that has not ended has the status of the run. */
  readonly agents: readonly AgentAccount[];
  /** Its model and tool calls, in the order in which they began. */
  readonly calls: readonly RecordedCall[];
  /**
   * Keys of calls of which it is not known what came of them, because they were in flight at a crash, or nobody waited for their end. They
   * may have been made and paid for, and those that were made again, twice. A tool that nobody has decided on is among them when the run has ended.
   */
  readonly inDoubt: readonly string[];
  /** The result, if the run is over. Its `structured` is as recorded: without the agent there is no schema to read it with. */
  readonly result?: RunResult | undefined;
}

/** A process that has claimed a run. */
export interface RunHolder {
  /** In words. */
  readonly owner: string;
  readonly pid?: number | undefined;
  readonly host?: string | undefined;
  /** Until when it has the run, unless it renews its claim. Epoch milliseconds. */
  readonly expiresAt?: number | undefined;
}

/** A model or tool call on record. */
export interface RecordedCall {
  readonly execId: ExecId;
  /** Such as `llm:openai/gpt-5-mini#1` or `tool:1:0`. */
  readonly key: string;
  readonly kind: "llm" | "tool";
  /** `provider:model` (while the id of the model has that form, else its id), or the name of the tool. */
  readonly name: string;
  /**
   * `open`: it was begun, and no end is on record. It is under way, or was when the process died. `waiting`: it was not sent yet, because
   * nothing is left for it beside the calls under way, or a limiter holds it back.
   */
  readonly status: "waiting" | "open" | "ok" | "error";
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Undefined while it waits or is open. */
  readonly endedAt?: number | undefined;
  /** Only of a model call that has ended. */
  readonly usage?: Usage | undefined;
  /** Dollars, only of a model call that has ended; null if the price is not known. */
  readonly costUsd?: number | null | undefined;
}
