import type { RunId } from "@ravi/kernel";
import type { LiveHandle } from "./underway.ts";

/**
 * The runs that live here. Most are never asked for by their id, so the index of ids is made for the first that is: hashing an
 * id takes a tenth of the time of a run that makes one model call.
 */
export class LiveRuns {
  private readonly all = new Set<LiveHandle>();
  private index: Map<RunId, LiveHandle> | undefined;

  add(handle: LiveHandle): void {
    this.all.add(handle);
    this.index?.set(handle.runId, handle);
  }

  delete(handle: LiveHandle): void {
    this.all.delete(handle);
    this.index?.delete(handle.runId);
  }

  find(runId: RunId): LiveHandle | undefined {
    this.index ??= new Map(Array.from(this.all, (handle) => [handle.runId, handle]));
    return this.index.get(runId);
  }

  list(): readonly LiveHandle[] {
    return [...this.all];
  }
}
