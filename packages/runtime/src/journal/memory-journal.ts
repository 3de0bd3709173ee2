import {
  checkInteger,
  type Clock,
  InvalidValueError,
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
import { checkClaim, type Claim, decideClaim, isHeld } from "./claims.ts";
import { decodeEntries, encodeEntries } from "./entry-codec.ts";
import { duplicateError, Identities } from "./identities.ts";
import { stringify } from "./plain-json.ts";
import { checkItem } from "./posted.ts";
import { isPrunable, type PruneOptions, prunePlan } from "./retention.ts";

interface Run {
  readonly runId: RunId;
  claim: Claim;
  /** One text per append; see `EncodedEntries` for why they are kept as text. */
  readonly texts: string[];
  readonly identities: Identities;
  entries: number;
  agent: string;
  status: RunSummary["status"];
  startedAt: number;
  updatedAt: number;
}

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
  private readonly runs = new Map<RunId, Run>();
  private readonly watchers = new Watchers();
  private readonly posted = new Map<RunId, Posted>();
  private epochFloor = 0;

  constructor(options: MemoryJournalOptions = {}) {
    this.clock = options.clock ?? systemClock;
  }

  claim(runId: RunId, owner: string, ttlMs: number): { readonly epoch: number } | null {
    checkClaim(owner, ttlMs);
    const now = this.clock.now();
    const run = this.runs.get(runId);
    const claim = decideClaim(run?.claim, { owner, ttlMs, now }, this.epochFloor);
    if (claim === null) return null;
    if (run === undefined) this.runs.set(RunId(runId), newRun(runId, claim, now));
    else run.claim = claim;
    return { epoch: claim.epoch };
  }

  release(runId: RunId, epoch: number): void {
    const run = this.runs.get(runId);
    if (run !== undefined && run.claim.epoch === epoch) run.claim = { owner: null, epoch, expires: 0 };
  }

  load(runId: RunId): readonly JournalRecord[] {
    const records: JournalRecord[] = [];
    for (const text of this.runs.get(runId)?.texts ?? []) {
      decodeEntries(text, records.length + 1, records, nothingApart);
    }
    return records;
  }

  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): void {
    const run = this.runs.get(runId);
    if (run === undefined || run.claim.epoch !== epoch || run.claim.owner === null) {
      throw new JournalLockedError({ runId, owner: run?.claim.owner ?? undefined });
    }
    if (entries.length === 0) return;
    const { text, rows, at, facts } = encodeEntries(runId, entries);
    const duplicate = run.identities.addAll(rows);
    if (duplicate !== undefined) throw duplicateError(runId, duplicate);
    run.texts.push(text);
    run.entries += rows.length;
    run.updatedAt = at;
    if (facts === undefined) return;
    run.agent = facts.agent ?? run.agent;
    run.status = facts.status ?? run.status;
    run.startedAt = facts.startedAt ?? run.startedAt;
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
    return this.watchers.add(runId, listener, true);
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
    return [...this.runs.values()].map(summaryOf);
  }

  /** Also under a living claim: its holder's next append is refused. */
  delete(runId: RunId): void {
    const run = this.runs.get(runId);
    if (run !== undefined) this.epochFloor = Math.max(this.epochFloor, run.claim.epoch);
    this.runs.delete(runId);
    this.posted.delete(runId);
  }

  /** Deletes runs that ended long ago, but none that somebody holds. Gives the ids of those that are gone. */
  prune(options: PruneOptions): readonly RunId[] {
    const now = this.clock.now();
    const plan = prunePlan(options, now);
    const gone = [...this.runs.values()]
      .filter((run) => !isHeld(run.claim, now) && isPrunable(summaryOf(run), plan))
      .map((run) => run.runId);
    for (const runId of gone) this.delete(runId);
    for (const [runId, { items }] of this.posted) {
      if (!this.runs.has(runId) && (items.at(-1)?.at ?? 0) <= plan.before) this.posted.delete(runId);
    }
    return gone;
  }

  /** Nothing to let go of: what it holds can still be read, as a file can that is opened again. */
  close(): void {}
}

/** Bodies of any size stay in the text here. */
function nothingApart(ref: string): never {
  throw new InvalidValueError({ field: "ref", value: ref, expected: "no body that is kept apart" });
}

function newRun(runId: RunId, claim: Claim, now: number): Run {
  return {
    runId,
    claim,
    texts: [],
    identities: new Identities(),
    entries: 0,
    agent: "",
    status: "pending",
    startedAt: now,
    updatedAt: now,
  };
}

function summaryOf(run: Run): RunSummary {
  const { runId, agent, status, startedAt, updatedAt, entries } = run;
  return { runId, agent, status, startedAt, updatedAt, entries };
}
