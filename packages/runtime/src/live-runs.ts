import type { RunId } from "@ravi/kernel";
import { LinkedList } from "@ravi/kernel/loop";
import type { Underway } from "./underway.ts";

/**
 * The runs in this process. Most are never looked up by id, so the index is created at the first lookup: hashing an id takes a
 * tenth of the time of a run that makes one model call.
 */
export class LiveRuns {
  private readonly all = new LinkedList<Underway>();
  private index: Map<RunId, Underway> | undefined;

  add(run: Underway): void {
    this.all.add(run);
    this.index?.set(run.runId, run);
  }

  delete(run: Underway): void {
    this.all.delete(run);
    this.index?.delete(run.runId);
  }

  find(runId: RunId): Underway | undefined {
    this.index ??= new Map(this.list().map((run) => [run.runId, run]));
    return this.index.get(runId);
  }

  list(): readonly Underway[] {
    return this.all.toArray();
  }
}
