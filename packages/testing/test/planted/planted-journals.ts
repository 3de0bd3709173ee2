import type {
  Journal,
  JournalEntry,
  JournalRecord,
  JournalWatch,
  JsonObject,
  PostedRecord,
  RunId,
  RunSummary,
} from "@ravi/kernel";
import type { JournalSetup } from "../../src/suites/index.ts";
import { HonestJournal, type HonestStore } from "./honest-journal.ts";

export interface PlantedJournal {
  readonly says: string;
  /** Part of what the case says that must fail. */
  readonly caughtBy: string;
  readonly Broken: new (setup: JournalSetup, store?: HonestStore) => HonestJournal;
}

const TELLS = "a watch tells of each post";
const STOPS = "a watch that was stopped";
const COVERS = "a watch that covers all";
const ENTRIES = "of many entries all come back";
const ITEMS = "of many items all come back";
const STATUSES = "list says each status";

export const PLANTED_JOURNALS: readonly PlantedJournal[] = [
  {
    says: "has a watch that never tells, though it says that it covers all",
    caughtBy: TELLS,
    Broken: class extends HonestJournal {
      override watch(): JournalWatch {
        return { coversAll: true, stop: () => {} };
      }
    },
  },
  {
    says: "has a watch that listens to another run",
    caughtBy: TELLS,
    Broken: class extends HonestJournal {
      override watch(run: RunId, listener: () => void) {
        return super.watch(`${run}!` as RunId, listener);
      }
    },
  },
  {
    says: "has a watch that throws",
    caughtBy: TELLS,
    Broken: class extends HonestJournal {
      override watch(): JournalWatch {
        throw new Error("nobody may listen");
      }
    },
  },
  {
    says: "has a watch that tells once and no more",
    caughtBy: TELLS,
    Broken: class extends HonestJournal {
      override watch(run: RunId, listener: () => void) {
        const watch = super.watch(run, () => {
          watch.stop();
          listener();
        });
        return watch;
      }
    },
  },
  {
    says: "has a watch that goes on after it was stopped",
    caughtBy: STOPS,
    Broken: class extends HonestJournal {
      override watch(run: RunId, listener: () => void) {
        return { ...super.watch(run, listener), stop: () => {} };
      }
    },
  },
  {
    says: "stops all watches of a run with one of them",
    caughtBy: STOPS,
    Broken: class extends HonestJournal {
      override watch(run: RunId, listener: () => void) {
        return { ...super.watch(run, listener), stop: () => this.store.listeners.get(run)?.clear() };
      }
    },
  },
  {
    says: "covers its own posts alone, though it says that it covers all",
    caughtBy: COVERS,
    Broken: class extends HonestJournal {
      private isPosting = false;
      override post(...args: Parameters<Journal["post"]>) {
        this.isPosting = true;
        super.post(...args);
        this.isPosting = false;
      }
      override watch(run: RunId, listener: () => void) {
        return super.watch(run, () => (this.isPosting ? listener() : undefined));
      }
    },
  },
  {
    says: "loads 1,000 entries at the most",
    caughtBy: ENTRIES,
    Broken: class extends HonestJournal {
      override load(run: RunId) {
        return super.load(run).slice(0, 1_000);
      }
    },
  },
  {
    says: "keeps the first 50 entries of a batch",
    caughtBy: ENTRIES,
    Broken: class extends HonestJournal {
      override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
        super.append(run, epoch, entries.slice(0, 50));
      }
    },
  },
  {
    says: "gives 100 items at the most",
    caughtBy: ITEMS,
    Broken: class extends HonestJournal {
      override items(run: RunId, after: number) {
        return super.items(run, after).slice(0, 100);
      }
    },
  },
  {
    says: "passes over an item for whoever has read more than two",
    caughtBy: ITEMS,
    Broken: class extends HonestJournal {
      override items(run: RunId, after: number) {
        return super.items(run, after > 2 ? after + 1 : after);
      }
    },
  },
  {
    says: "lists 100 runs at the most",
    caughtBy: "of many runs all are listed",
    Broken: class extends HonestJournal {
      override list() {
        return super.list().slice(0, 100);
      }
    },
  },
  listing("suspended", "running"),
  listing("cancelled", "failed"),
  listing("partial", "completed"),
  {
    says: "loses bodies of more than 1.1 MB",
    caughtBy: "bodies of any size come back whole",
    Broken: class extends HonestJournal {
      override load(run: RunId): JournalRecord[] {
        const isLarge = (body: JsonObject): boolean => JSON.stringify(body).length > 1_100_000;
        return super.load(run).map((record) => (isLarge(record.body) ? { ...record, body: {} } : record));
      }
    },
  },
  {
    says: "hands out the same living item twice",
    caughtBy: "a body that is changed after it was handed over",
    Broken: class extends HonestJournal {
      private readonly living = new Map<string, PostedRecord>();
      override items(run: RunId, after: number) {
        return super.items(run, after).map((item) => {
          const name = `${run} ${item.seq}`;
          const kept = this.living.get(name) ?? item;
          this.living.set(name, kept);
          return kept;
        });
      }
    },
  },
];

function listing(status: RunSummary["status"], instead: RunSummary["status"]): PlantedJournal {
  return {
    says: `lists a run as ${instead} that is ${status}`,
    caughtBy: STATUSES,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super.list().map((run) => (run.status === status ? { ...run, status: instead } : run));
      }
    },
  };
}
