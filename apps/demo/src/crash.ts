import { writeSync } from "node:fs";
import type { Journal } from "@ravi/kernel";

/**
 * Wraps a journal and kills this process (SIGKILL) when entry `at` of a run is on disk, before the runtime learns that it was
 * written. The last words are how to go on: `resumeLine`.
 */
export function crashingJournal(journal: Journal, at: number, resumeLine: string): Journal {
  let written = 0;
  return {
    claim: (...args) => journal.claim(...args),
    release: (...args) => journal.release(...args),
    async load(runId) {
      const records = await journal.load(runId);
      written = records.length;
      return records;
    },
    post: (...args) => journal.post(...args),
    items: (...args) => journal.items(...args),
    list: () => journal.list(),
    delete: (...args) => journal.delete(...args),
    close: () => journal.close(),
    async append(runId, epoch, entries) {
      const before = written;
      written += entries.length;
      await journal.append(runId, epoch, entries);
      if (before >= at || written < at) return;
      const last = `entry ${at} is written; killing this process (--crash-at). To continue the run: ${resumeLine}`;
      writeSync(process.stderr.fd, `demo: ${last}\n`);
      process.kill(process.pid, "SIGKILL");
    },
  };
}
