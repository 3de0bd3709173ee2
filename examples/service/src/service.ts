import { type Agent, isRaviError, runs, type SdkHandle, start, startResume } from "@ravi/sdk";

/** The runs of one process of a server. Several processes, also with different versions of it, may share the journal. */
export class Service {
  private readonly agents: readonly Agent[];
  private readonly journal: string;
  private readonly handles = new Map<string, SdkHandle>();
  /** Runs that cannot continue in this process. Their results have said why. */
  private readonly stuck = new Set<string>();
  private isEnding = false;

  constructor(agents: readonly Agent[], journal: string) {
    this.agents = agents;
    this.journal = journal;
  }

  start(agent: Agent, input: string, runId: string): void {
    this.follow(start(agent, input, { journal: this.journal, runId }));
  }

  /**
   * Call it when the process starts, and then every 30 seconds: another process may have crashed or left. It rejects while the journal
   * cannot be opened, for example on a full disk.
   */
  async resumeAll(): Promise<void> {
    const { agents, journal } = this;
    for (const { runId, status, waitingFor = [], cancelReason } of await runs({ journal })) {
      // What `drain` suspends is for another process.
      if (this.isEnding) return;
      const isOpen = status === "running" || status === "suspended";
      const needsDecision = waitingFor.some(({ kind }) => kind === "decision");
      // One that was cancelled ends in any process.
      const isStuck = this.stuck.has(runId) && cancelReason === undefined;
      if (!isOpen || needsDecision || isStuck || this.handles.has(runId)) continue;
      this.follow(startResume(runId, { agents, journal }));
    }
  }

  /** Call it at SIGTERM. Calls under way get so many milliseconds to end, no other begins, and then all runs are suspended. */
  async drain(graceMs: number): Promise<void> {
    this.isEnding = true;
    await Promise.allSettled(Array.from(this.handles.values(), (handle) => handle.suspend({ graceMs })));
  }

  private follow(handle: SdkHandle): void {
    const { runId } = handle;
    this.handles.set(runId, handle);
    const ended = handle.result.then(({ status, error }) => {
      console.log(`${runId} is ${status}`);
      // It was not `drain` that suspended it: it needs a decision, or another version of its agent.
      if (status === "suspended" && error?.code !== "SUSPENDED") this.giveUp(runId, error);
    });
    // A rejection that nobody handles would end the process.
    const handled = ended.catch((error: unknown) => {
      // Another process has the run, as it should be.
      if (isRaviError(error, "JOURNAL_LOCKED")) return;
      // After a full disk, or a lock, it is resumed with the next `resumeAll`.
      if (isRaviError(error, "JOURNAL_FAILED")) console.error(`${runId}: ${error.message}`);
      else this.giveUp(runId, error);
    });
    void handled.finally(() => this.handles.delete(runId));
  }

  private giveUp(runId: string, error: unknown): void {
    this.stuck.add(runId);
    console.error(`${runId} cannot continue here: ${String(error)}`);
  }
}
