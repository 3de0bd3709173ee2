import { type JournalRecord, JournalLockedError, type RunId } from "@ravi/kernel";
import { type EncodedEntries, joinTexts } from "../entry-codec.ts";
import { duplicateError, Identities } from "../identities.ts";
import type { LargeBody } from "../large-body.ts";
import type { SqliteBlobs } from "./blobs.ts";
import type { Job } from "./group-commit.ts";
import type { Log } from "./log.ts";
import type { NewTip, Runs, StoredRun } from "./runs.ts";

export interface Append {
  readonly runId: RunId;
  readonly epoch: number;
  readonly encoded: EncodedEntries;
  readonly large: readonly LargeBody[];
}

/** What we know of a run that we write to. It stays true while nobody else writes, and the fence tells when somebody did. */
interface Writing {
  readonly no: number;
  readonly epoch: number;
  entries: number;
  last: number;
  readonly identities: Identities;
  /** The `generation` in which this was last compared with the file. */
  checkedIn: number;
}

/** The appends of one run in one group: they become one row. */
interface Staged {
  readonly writing: Writing;
  readonly appends: Append[];
  readonly jobs: Job[];
}

export interface AppenderParts {
  readonly runs: Runs;
  readonly log: Log;
  readonly blobs: SqliteBlobs;
  readonly read: (runId: RunId, run: StoredRun) => readonly JournalRecord[];
}

/**
 * Turns appends into rows. That no two entries are alike is decided in memory, by the identities of the runs which are
 * being written: only the holder of a claim writes, and the fence, which also compares the number of entries, fails as
 * soon as that is no longer true. A unique index over them would cost more than all the rest.
 */
export class Appender {
  private readonly parts: AppenderParts;
  /** The runs that were claimed through this journal, by their epoch. */
  private readonly claimed = new Map<RunId, number>();
  private readonly writing = new Map<RunId, Writing>();
  private readonly staged = new Map<RunId, Staged>();
  /** The tips of runs that need no look at the fence, to be moved together. */
  private tips: NewTip[] = [];
  private version: number | undefined;
  /** Goes up when another connection wrote: then every fence is looked at again before it is trusted. */
  private generation = 0;

  constructor(parts: AppenderParts) {
    this.parts = parts;
  }

  /** At the start of each transaction, from which on nobody else can write. */
  begin(): void {
    const version = this.parts.runs.version();
    if (version === this.version) return;
    this.version = version;
    this.generation++;
  }

  /** Inside the transaction. Throws what refuses this append alone; the fence's word comes in `write`. */
  stage(append: Append, job: Job): void {
    const { runId, epoch, encoded } = append;
    if (encoded.rows.length === 0) return void this.checkFence(runId, epoch);
    const writing = this.writingOf(runId, epoch);
    const duplicate = writing.identities.addAll(encoded.rows);
    if (duplicate !== undefined) throw duplicateError(runId, duplicate);
    const staged = this.staged.get(runId);
    if (staged === undefined) {
      this.staged.set(runId, { writing, appends: [append], jobs: [job] });
    } else {
      staged.appends.push(append);
      staged.jobs.push(job);
    }
  }

  /** Writes all that is staged: the tip of each run is moved first, and only if its fence lets it pass the row follows. */
  write(): void {
    if (this.staged.size === 0) return;
    let id = this.parts.log.highestId();
    for (const [runId, staged] of this.staged) {
      if (this.writeRun(runId, staged, id + 1)) id++;
    }
    this.parts.runs.advanceAll(this.tips);
    this.tips = [];
    this.staged.clear();
  }

  expect(runId: RunId, epoch: number): void {
    if (this.writing.get(runId)?.epoch !== epoch) this.forget(runId);
    this.claimed.set(runId, epoch);
  }

  forget(runId: RunId): void {
    this.claimed.delete(runId);
    this.writing.delete(runId);
  }

  /** A run that was claimed here and then read need not be read again at its first append. */
  learn(runId: RunId, run: StoredRun, records: readonly JournalRecord[]): void {
    if (this.claimed.get(runId) !== run.fence || this.writing.get(runId)?.epoch === run.fence) return;
    // Read outside a transaction, so it is compared at the first append.
    this.writing.set(runId, startWriting(run, records, 0));
  }

  private writingOf(runId: RunId, epoch: number): Writing {
    const known = this.writing.get(runId);
    if (known !== undefined && known.epoch === epoch) return known;
    const run = this.checkFence(runId, epoch);
    const writing = startWriting(
      run,
      run.last === 0 && run.entries === 0 ? [] : this.parts.read(runId, run),
      this.generation,
    );
    this.writing.set(runId, writing);
    return writing;
  }

  private checkFence(runId: RunId, epoch: number): StoredRun {
    const run = this.parts.runs.find(runId);
    // A released run has fence 0, which is no epoch that anybody was given.
    if (epoch > 0 && run?.fence === epoch) return run;
    throw new JournalLockedError({ runId, owner: run?.owner ?? undefined });
  }

  private writeRun(runId: RunId, { writing, appends, jobs }: Staged, id: number): boolean {
    const { runs, log, blobs } = this.parts;
    const count = appends.reduce((sum, { encoded }) => sum + encoded.rows.length, 0);
    const { no: run, epoch, entries, last: prev } = writing;
    const at = appends.at(-1)?.encoded.at ?? 0;
    const to = { entries: entries + count, last: id, at };
    if (writing.checkedIn === this.generation) {
      this.tips.push({ run, epoch, from: entries, ...to });
    } else if (runs.advance(run, epoch, entries, to)) {
      writing.checkedIn = this.generation;
    } else {
      this.refuse(runId, jobs);
      return false;
    }
    const data = joinTexts(appends.map(({ encoded }) => encoded.text));
    log.write(id, { runId, run, first: entries + 1, count, prev, data });
    for (const { encoded, large } of appends) {
      if (encoded.facts !== undefined) runs.note(run, encoded.facts);
      for (const blob of large) blobs.keep(run, blob);
    }
    writing.entries += count;
    writing.last = id;
    return true;
  }

  private refuse(runId: RunId, jobs: readonly Job[]): void {
    this.forget(runId);
    const owner = this.parts.runs.find(runId)?.owner ?? undefined;
    for (const job of jobs) job.refused = new JournalLockedError({ runId, owner });
  }
}

function startWriting(run: StoredRun, records: readonly JournalRecord[], checkedIn: number): Writing {
  const { no, fence, entries, last } = run;
  return { no, epoch: fence, entries, last, identities: new Identities(records), checkedIn };
}
