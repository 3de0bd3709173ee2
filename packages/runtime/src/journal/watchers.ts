import { type JournalWatch, RunId } from "@ravi/kernel";

/** Who listens for posts to which run, in one journal object. */
export class Watchers {
  private readonly byRun = new Map<RunId, Set<() => void>>();

  /** `coversAll` says whether nobody else can post than through this object. */
  add(runId: RunId, listener: () => void, coversAll: boolean): JournalWatch {
    const id = RunId(runId);
    const listeners = this.byRun.get(id) ?? new Set();
    this.byRun.set(id, listeners.add(listener));
    const stop = (): void => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.byRun.get(id) === listeners) this.byRun.delete(id);
    };
    return { coversAll, stop };
  }

  tell(runId: RunId): void {
    this.byRun.get(runId)?.forEach((listener) => listener());
  }
}
