import type { AgentId, ExecId, RunHandle, RunId, RunStatus } from "@ravi/kernel";
import type { Hiring } from "./hiring.ts";

/** The handle of a child, for its parent. A class, because a getter of an object literal is defined anew for each object. */
export class ChildHandle implements RunHandle {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly agentId: AgentId;
  readonly cancel: (reason: string) => void;
  private readonly hiring: Hiring;

  constructor(hiring: Hiring, runId: RunId) {
    this.hiring = hiring;
    this.runId = runId;
    this.execId = hiring.spec.execId;
    this.agentId = hiring.spec.agentId;
    // Assigned in two steps, because V8 would otherwise allocate the function in its old generation: see docs/decisions/0012.
    const cancel = (reason: string): void => hiring.cancel(reason);
    this.cancel = cancel;
  }

  get status(): RunStatus {
    return this.hiring.status;
  }
}
