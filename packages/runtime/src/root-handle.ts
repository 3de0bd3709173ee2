import {
  type AgentId,
  ExecId,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunResult,
  type RunStatus,
} from "@ravi/kernel";
import type { Starting } from "./run-driver.ts";

/**
 * What `run` gives. A class, because getters of an object literal are defined anew for each object: a tenth of the time of a run
 * that makes one model call.
 */
export class LiveHandle implements RootHandle {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly result: Promise<RunResult>;
  /** Functions of their own, so that they may be taken from the handle. */
  readonly cancel: (reason: string) => void;
  readonly events: () => AsyncIterable<RunEvent>;
  private readonly starting: Starting;

  constructor(runId: RunId, starting: Starting, result: Promise<RunResult>) {
    const { token, events } = starting;
    this.runId = runId;
    this.execId = ExecId(runId);
    this.starting = starting;
    this.result = result;
    this.cancel = (reason) => token.cancel(reason);
    this.events = () => events.subscribe();
  }

  get agentId(): AgentId {
    return this.starting.agentId;
  }

  get status(): RunStatus {
    const { status, tree } = this.starting;
    return status === "running" && tree?.isWaiting === true ? "suspended" : status;
  }
}
