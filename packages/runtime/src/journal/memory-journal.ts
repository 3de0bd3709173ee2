import {
  checkInteger,
  type Clock,
  type Journal,
  type JournalEntry,
  JournalLockedError,
  type JournalRecord,
  type JournalWatch,
  type JsonValue,
  type PostedItem,
  type PostedRecord,
  RunId,
  type RunSummary,
  systemClock,
} from "@ravi/kernel";
import { Watchers } from "./watchers.ts";
import { checkClaim, decideClaim, isHeld } from "./claims.ts";
import { checkList } from "./entry-check.ts";
import { MemoryRun } from "./memory-run.ts";
import { stringify } from "./plain-json.ts";
import { checkItem } from "./posted.ts";
import { isPrunable, type PruneOptions, prunePlan } from "./retention.ts";

interface Posted {
  readonly ids: Set<string>;
  readonly items: Omit<PostedRecord, "value">[];
  readonly values: string[];
}

export interface MemoryJournalOptions {
  /** For claims that lapse. */
  readonly clock?: Clock | undefined;
}

/** A journal for the life of the process. It answers at once, with the same rules and the same errors as one on disk. */
export class MemoryJournal implements Journal {
  private readonly clock: Clock;
  private readonly runs = new Map<RunId, MemoryRun>();
  private readonly watchers = new Watchers({ coversAll: true });
  private readonly posted = new Map<RunId, Posted>();
  private epochFloor = 0;
  /** The one that was asked for last: to find it by its id takes 0.14 µs, four times a turn. */
  private latest: MemoryRun | undefined;

  constructor(options: MemoryJournalOptions = {}) {
    this.clock = options.clock ?? systemClock;
  }

  claim(runId: RunId, owner: string, ttlMs: number): { readonly epoch: number } | null {
    checkClaim(owner, ttlMs);
    const now = this.clock.now();
    const run = this.find(runId);
    const claim = decideClaim(run?.claim, { owner, ttlMs, now }, this.epochFloor);
    if (claim === null) return null;
    if (run === undefined) this.add(new MemoryRun(RunId(runId), claim, now));
    else run.claim = claim;
    return { epoch: claim.epoch };
  }

  release(runId: RunId, epoch: number): void {
    const run = this.find(runId);
    if (run !== undefined && run.claim.epoch === epoch) run.claim = { owner: null, epoch, expires: 0 };
  }

  load(runId: RunId): readonly JournalRecord[] {
    return this.find(runId)?.records() ?? [];
  }

  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): void {
    const run = this.find(runId);
    if (run === undefined || run.claim.epoch !== epoch || run.claim.owner === null) {
      throw new JournalLockedError({ runId, owner: run?.claim.owner ?? undefined });
    }
    checkList(entries);
    run.append(entries);
  }

  post(runId: RunId, item: PostedItem): void {
    checkItem(item);
    let posted = this.posted.get(runId);
    if (posted === undefined) {
      posted = { ids: new Set(), items: [], values: [] };
      this.posted.set(RunId(runId), posted);
    }
    const { id, kind, name, value, at } = item;
    if (posted.ids.has(id)) return;
    const text = stringify(value);
    posted.ids.add(id);
    posted.values.push(text);
    posted.items.push({ seq: posted.items.length + 1, id, kind, name, at });
    this.watchers.tell(runId);
  }

  watch(runId: RunId, listener: () => void): JournalWatch {
    return this.watchers.add(runId, listener);
  }

  items(runId: RunId, after: number): readonly PostedRecord[] {
    checkInteger("after", after, 0);
    const posted = this.posted.get(runId);
    if (posted === undefined) return [];
    return posted.items.slice(after).map((item) => {
      const value = JSON.parse(posted.values[item.seq - 1] ?? "null") as JsonValue;
      return { ...item, value };
    });
  }

  list(): readonly RunSummary[] {
    return [...this.runs.values()].map((run) => run.summary());
  }

  /** Also under a living claim: its holder's next append is refused. */
  delete(runId: RunId): void {
    const run = this.find(runId);
    this.latest = undefined;
    if (run !== undefined) this.epochFloor = Math.max(this.epochFloor, run.claim.epoch);
    this.runs.delete(runId);
    this.posted.delete(runId);
  }

  /** Deletes runs that ended long ago, but none that somebody holds. Gives the ids of those that are gone. */
  prune(options: PruneOptions): readonly RunId[] {
    const now = this.clock.now();
    const plan = prunePlan(options, now);
    const gone = [...this.runs.values()]
      .filter((run) => !isHeld(run.claim, now) && isPrunable(run.summary(), plan))
      .map((run) => run.runId);
    for (const runId of gone) this.delete(runId);
    for (const [runId, { items }] of this.posted) {
      if (!this.runs.has(runId) && (items.at(-1)?.at ?? 0) <= plan.before) this.posted.delete(runId);
    }
    return gone;
  }

  private find(runId: RunId): MemoryRun | undefined {
    if (this.latest?.runId === runId) return this.latest;
    const run = this.runs.get(runId);
    if (run !== undefined) this.latest = run;
    return run;
  }

  private add(run: MemoryRun): void {
    this.runs.set(run.runId, run);
    this.latest = run;
  }

  /** Nothing to let go of: what it holds can still be read, as a file can that is opened again. */
  close(): void {}
}
