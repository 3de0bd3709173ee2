import { isRaviError, type JournalRecord, type RaviError, type RunId, type RunSummary } from "@ravi/kernel";
import type { Row } from "../entries/entry-check.ts";
import { duplicateError } from "../entries/identities.ts";
import { errorIn } from "../facts/reasons.ts";
import { lockedBy } from "../parts/owner.ts";
import type { SqliteBlobs } from "./blobs.ts";
import type { Log } from "./log.ts";
import type { Runs, StoredRun } from "./runs.ts";
import { type AppendJob, newWriteState, textOf, type WriteState } from "./write-state.ts";

export interface AppenderParts {
  readonly runs: Runs;
  readonly log: Log;
  readonly blobs: SqliteBlobs;
  readonly read: (runId: RunId, run: StoredRun) => readonly JournalRecord[];
}

/**
 * Turns appends into rows. Duplicate entries are found in memory, by the identities of the runs that are being written. That is
 * safe because only the holder of a claim writes: the fence, which also compares the number of entries, fails as soon as somebody
 * else does. A unique index in SQLite would cost more than all the rest.
 */
export class Appender {
  private readonly parts: AppenderParts;
  /** The runs that were claimed through this journal, with their epochs. */
  private readonly claimed = new Map<RunId, number>();
  private readonly writing = new Map<RunId, WriteState>();
  /** The runs with appends in the current group. */
  private staged: WriteState[] = [];
  private version: number | undefined;
  /** Incremented when another connection has written. Then every fence is compared again before it is trusted. */
  private generation = 0;
  /** The highest row id, and the generation in which that is known to be true. */
  private highest = { id: 0, in: 0 };

  constructor(parts: AppenderParts) {
    this.parts = parts;
  }

  /** Called at the start of each transaction, from which on nobody else can write. */
  begin(): void {
    const version = this.parts.runs.version();
    if (version === this.version) return;
    this.version = version;
    this.generation++;
  }

  /** Called inside the transaction. Throws if this append alone is refused. The fence is compared in `write`. */
  stage(job: AppendJob): void {
    const { runId, epoch, rows } = job;
    const [first] = rows;
    if (first === undefined) return void this.checkFence(runId, epoch);
    const writing = job.writing?.isCurrent === true ? job.writing : this.writingOf(runId, epoch);
    const duplicate = writing.identities.addAll(rows);
    if (duplicate !== undefined) throw duplicateError(runId, duplicate);
    writing.exec = first[0];
    writing.key = first[1];
    if (writing.staged !== undefined) return void writing.staged.push(job);
    writing.staged = [job];
    this.staged.push(writing);
  }

  /** Writes everything that is staged. */
  write(): void {
    if (this.staged.length === 0) return;
    const { runs, log } = this.parts;
    const { highest, generation } = this;
    let id = highest.in === generation ? highest.id : log.highestId();
    for (const writing of this.staged) {
      const jobs = writing.staged ?? [];
      writing.staged = undefined;
      if (this.writeRun(writing, jobs, id + 1)) id++;
    }
    this.staged = [];
    this.highest = { id, in: generation };
    runs.flush();
    log.flush();
  }

  /** Notes a new claim. What is known of the run under another epoch is dropped. */
  expect(runId: RunId, epoch: number): void {
    if (this.writing.get(runId)?.epoch !== epoch) this.forget(runId);
    this.claimed.set(runId, epoch);
  }

  /** Drops everything that is known of a run. */
  forget(runId: RunId): void {
    this.claimed.delete(runId);
    this.drop(runId);
  }

  /** What is known of a run under this epoch. */
  known(runId: RunId, epoch: number): WriteState | undefined {
    const writing = this.writing.get(runId);
    return writing?.epoch === epoch ? writing : undefined;
  }

  /** Notes the records of a claimed run that were just read, so that its first append need not read them again. */
  learn(runId: RunId, run: StoredRun, records: readonly JournalRecord[]): void {
    if (this.claimed.get(runId) !== run.fence || this.writing.get(runId)?.epoch === run.fence) return;
    // They were read outside a transaction, so the fence is compared at the first append.
    this.start(runId, run, records, 0);
  }

  private writingOf(runId: RunId, epoch: number): WriteState {
    const known = this.known(runId, epoch);
    if (known !== undefined) return known;
    const run = this.checkFence(runId, epoch);
    const records = run.last === 0 && run.entries === 0 ? [] : this.parts.read(runId, run);
    return this.start(runId, run, records, this.generation);
  }

  private start(
    runId: RunId,
    run: StoredRun,
    records: readonly JournalRecord[],
    checkedIn: number,
  ): WriteState {
    this.drop(runId);
    const writing = newWriteState(runId, run, records, checkedIn);
    this.writing.set(runId, writing);
    return writing;
  }

  private drop(runId: RunId): void {
    const writing = this.writing.get(runId);
    if (writing === undefined) return;
    writing.isCurrent = false;
    this.writing.delete(runId);
  }

  private checkFence(runId: RunId, epoch: number): StoredRun {
    const run = this.parts.runs.find(runId);
    // The fence of a released run is 0, which is no valid epoch.
    if (epoch > 0 && run?.fence === epoch) return run;
    throw lockedBy(runId, run);
  }

  /** Moves the run's tip, and writes the row only if the fence allowed that. */
  private writeRun(writing: WriteState, jobs: readonly AppendJob[], id: number): boolean {
    const { runs, log, blobs } = this.parts;
    const { runId, no: run, epoch, seed, entries: from, last: prev } = writing;
    let entries = from;
    let at = 0;
    for (const job of jobs) {
      entries += job.rows.length;
      at = job.at;
    }
    const tip = { run, epoch, entries, last: id, at };
    if (writing.checkedIn === this.generation) {
      runs.advanceUnchecked(tip);
    } else if (runs.advance(tip, from)) {
      writing.checkedIn = this.generation;
    } else {
      this.refuse(runId, jobs);
      return false;
    }
    log.add({ id, run, seed, first: from + 1, count: entries - from, prev, data: textOf(jobs) });
    let seq = from;
    for (const { rows, facts, large } of jobs) {
      seq += rows.length;
      if (facts !== undefined) runs.note(run, seq, facts, errorInRow(runId, rows.at(-1)));
      for (const blob of large) blobs.keep(run, blob);
    }
    writing.entries = entries;
    writing.last = id;
    return true;
  }

  private refuse(runId: RunId, jobs: readonly AppendJob[]): void {
    this.forget(runId);
    let refused: RaviError;
    try {
      refused = lockedBy(runId, this.parts.runs.find(runId));
    } catch (error) {
      if (!isRaviError(error)) throw error;
      refused = error;
    }
    for (const job of jobs) job.refused = refused;
  }
}

function errorInRow(runId: RunId, row: Row | undefined): RunSummary["error"] {
  if (row === undefined) return undefined;
  const [exec, key, , , , body] = row;
  return errorIn(runId, { exec, key, body });
}
