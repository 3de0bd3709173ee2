import type { Journal } from "@ravi/kernel";

export interface KillPoint {
  /** The number of the entry among those that this process writes, counted from 1. */
  readonly entry: number;
  /** Before it is written, or after it is on disk but before the runtime knows. */
  readonly when: "before" | "after";
}

/** Wraps a journal and kills this process (SIGKILL) at one entry. */
export function killingJournal(journal: Journal, point: KillPoint | undefined): Journal {
  if (point === undefined) return journal;
  let written = 0;
  const die = (): void => void process.kill(process.pid, "SIGKILL");
  return {
    claim: (...args) => journal.claim(...args),
    release: (...args) => journal.release(...args),
    load: (...args) => journal.load(...args),
    post: (...args) => journal.post(...args),
    items: (...args) => journal.items(...args),
    list: () => journal.list(),
    delete: (...args) => journal.delete(...args),
    close: () => journal.close(),
    async append(runId, epoch, entries) {
      const last = written + entries.length;
      const isHere = point.entry > written && point.entry <= last;
      written = last;
      if (isHere && point.when === "before") die();
      await journal.append(runId, epoch, entries);
      if (isHere) die();
    },
  };
}
