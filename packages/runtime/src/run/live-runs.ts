import type { RunId } from "@ravi/kernel";
import { LinkedList } from "@ravi/kernel/loop";
import type { LiveRun } from "./live-run.ts";

/**
 * The runs in this process. Most are never looked up by id, so the index is created at the first lookup: hashing an id takes a
 * tenth of the time of a run that makes one model call.
 */
export class LiveRuns {
  private readonly all = new LinkedList<LiveRun>();
  private index: Map<RunId, LiveRun> | undefined;

  add(run: LiveRun): void {
    this.all.add(run);
    this.index?.set(run.runId, run);
  }

  delete(run: LiveRun): void {
    this.all.delete(run);
    this.index?.delete(run.runId);
  }

  find(runId: RunId): LiveRun | undefined {
    this.index ??= new Map(this.list().map((run) => [run.runId, run]));
    return this.index.get(runId);
  }

  list(): readonly LiveRun[] {
    return this.all.toArray();
  }
}
