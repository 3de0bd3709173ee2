import type {
  Journal,
  JournalEntry,
  JournalRecord,
  JournalWatch,
  JsonObject,
  PendingWait,
  PostedItem,
  PostedRecord,
  RunId,
  RunSummary,
  SerializedError,
} from "@ravi/kernel";
import type { JournalSetup } from "../../src/suites/index.ts";
import { HonestJournal, type HonestStore, type WaitsBody } from "./honest-journal.ts";

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
const ANSWERED = "a wait that somebody has answered";
const WHY = "list says which error";
const CANCELLED = "list says that a run was cancelled";
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
    says: "lets every claim last as long as it likes itself",
    caughtBy: "a claim lasts as long as was asked for",
    Broken: class extends HonestJournal {
      override claim(run: RunId, owner: string, ttlMs: number) {
        return super.claim(run, owner, Math.max(ttlMs, 30_000));
      }
    },
  },
  {
    says: "looks whether a run is free, and takes it a moment later",
    caughtBy: "of many who claim a run at one moment",
    Broken: class extends HonestJournal {
      private readonly seenFree = new Set<RunId>();
      override claim(run: RunId, owner: string, ttlMs: number) {
        const known = this.store.runs.get(run);
        if (known !== undefined && this.seenFree.has(run)) known.owner = null;
        const claim = super.claim(run, owner, ttlMs);
        if (claim !== null) this.seenFree.add(run);
        queueMicrotask(() => this.seenFree.delete(run));
        return claim;
      }
    },
  },
  {
    says: "loads a list that goes on growing",
    caughtBy: "what was loaded stays as it was",
    Broken: class extends HonestJournal {
      private readonly living: JournalRecord[] = [];
      override load(run: RunId) {
        this.living.splice(0, Infinity, ...super.load(run));
        return this.living;
      }
      override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
        super.append(run, epoch, entries);
        this.load(run);
      }
    },
  },
  {
    says: "numbers items by those that it posted itself",
    caughtBy: "items that several processes post at one moment",
    Broken: class extends HonestJournal {
      private posted = 0;
      override post(run: RunId, item: PostedItem) {
        if (this.store.items.get(run)?.has(item.id) === true) return;
        super.post(run, item);
        const items = this.store.items.get(run);
        const text = items?.get(item.id) ?? "";
        items?.set(item.id, text.replace(/"seq":\d+/, `"seq":${++this.posted}`));
      }
    },
  },
  {
    says: "lists its own runs alone",
    caughtBy: "a second handle lists what this one writes",
    Broken: class extends HonestJournal {
      private readonly own = new Set<RunId>();
      override claim(run: RunId, owner: string, ttlMs: number) {
        this.own.add(run);
        return super.claim(run, owner, ttlMs);
      }
      override list() {
        return super.list().filter(({ runId }) => this.own.has(runId));
      }
    },
  },
  {
    says: "forgets with its process which epochs were given out",
    caughtBy: "one made anew refuses the writer of a deleted one",
    Broken: class extends HonestJournal {
      constructor(setup: JournalSetup, store?: HonestStore) {
        super(setup, store);
        this.store.floor = 0;
      }
    },
  },
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
    says: "goes on listing a wait that is answered",
    caughtBy: ANSWERED,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super.list().map((run) => ({ ...run, waitingFor: this.noted(run.runId) }));
      }
      private noted(run: RunId): readonly PendingWait[] | undefined {
        const last = this.load(run).findLast(({ key }) => key.startsWith("run:waits"));
        return last?.body["waits"] as readonly (JsonObject & PendingWait)[] | undefined;
      }
    },
  },
  {
    says: "takes what has begun for all that a run waits for",
    caughtBy: "a note changes the list",
    Broken: class extends HonestJournal {
      protected override waits(run: RunId): readonly PendingWait[] {
        const last = this.load(run).findLast(({ key }) => key.startsWith("run:waits"));
        const begun = JSON.stringify(last?.body["waits"] ?? []);
        return super.waits(run).filter((wait) => begun.includes(JSON.stringify(wait)));
      }
    },
  },
  {
    says: "reads notes on waits that do not say what is over",
    caughtBy: "list says what a run waits for",
    Broken: class extends HonestJournal {
      protected override isWaits(body: JsonObject): body is JsonObject & WaitsBody {
        return super.isWaits(Object.assign(body, { over: body["over"] ?? [] }));
      }
    },
  },
  {
    says: "takes a signal for the answer to all waits of its name",
    caughtBy: ANSWERED,
    Broken: class extends HonestJournal {
      protected override waits(run: RunId): readonly PendingWait[] {
        const names = new Set(this.items(run, 2).map(({ name }) => name));
        return super.waits(run).filter(({ name }) => !names.has(name));
      }
    },
  },
  {
    says: "forgets what a suspended run waits for",
    caughtBy: "list says what a run waits for",
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super
          .list()
          .map((run) => (run.status === "suspended" ? { ...run, waitingFor: undefined } : run));
      }
    },
  },
  {
    says: "no longer tells whose a run is once it has ended",
    caughtBy: "list says whose a run is",
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super
          .list()
          .map((run) => (run.status === "completed" ? { ...run, tenantId: undefined } : run));
      }
    },
  },
  {
    says: "tells why a run is suspended also when it goes on",
    caughtBy: WHY,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super.list().map((run) => ({ ...run, ...this.suspension(run.runId) }));
      }
      private suspension(run: RunId): Pick<RunSummary, "error"> {
        const last = this.load(run).findLast(({ body }) => body["status"] === "suspended");
        const { code, message } = (last?.body["error"] ?? {}) as Partial<SerializedError>;
        return message === undefined || code === undefined ? {} : { error: { code, message } };
      }
    },
  },
  {
    says: "does not tell why a run has failed",
    caughtBy: WHY,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super.list().map((run) => (run.status === "failed" ? { ...run, error: undefined } : run));
      }
    },
  },
  {
    says: "does not tell that a suspended run was cancelled",
    caughtBy: CANCELLED,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super
          .list()
          .map((run) => (run.status === "suspended" ? { ...run, cancelReason: undefined } : run));
      }
    },
  },
  {
    says: "forgets that a run was cancelled once it has heard of it",
    caughtBy: CANCELLED,
    Broken: class extends HonestJournal {
      override list(): RunSummary[] {
        return super.list().map((run) => (run.entries > 1 ? { ...run, cancelReason: undefined } : run));
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
