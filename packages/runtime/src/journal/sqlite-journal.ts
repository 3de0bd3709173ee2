import type { DatabaseSync } from "node:sqlite";
import {
  type BlobStore,
  checkFields,
  checkInteger,
  type Clock,
  InvalidValueError,
  isRaviError,
  type Journal,
  type JournalEntry,
  type JournalRecord,
  type JournalWatch,
  type PendingWait,
  type PostedItem,
  type PostedRecord,
  RunId,
  type RunSummary,
  systemClock,
} from "@ravi/kernel";
import { checkPorts, hasMethod } from "@ravi/kernel/loop";
import { pause } from "./parts/platform.ts";
import { checkClaim, granted, type Granted, heldBy, type Held } from "./claims.ts";
import { encodeEntries } from "./entries/entry-codec.ts";
import { bodyOf } from "./entries/large-body.ts";
import { NotedWaits } from "./facts/noted-waits.ts";
import { isOwnerGone } from "./parts/owner.ts";
import { stringify } from "./parts/plain-json.ts";
import { checkItem } from "./parts/posted.ts";
import { type PruneOptions, prunePlan } from "./retention.ts";
import { factsOf } from "./facts/run-facts.ts";
import { Appender } from "./sqlite/appender.ts";
import { PostPoller } from "./sqlite/post-poller.ts";
import { SqliteBlobs } from "./sqlite/blobs.ts";
import { damaged, readFailure } from "./sqlite/errors.ts";
import { GroupCommit } from "./sqlite/group-commit.ts";
import { groupStore } from "./sqlite/group-store.ts";
import { Items } from "./sqlite/items.ts";
import { Log } from "./sqlite/log.ts";
import { openDatabase, openReadOnly } from "./sqlite/open-database.ts";
import { prune } from "./sqlite/prune.ts";
import { Runs, type StoredRun } from "./sqlite/runs.ts";
import { sameFile } from "./sqlite/same-file.ts";
import { UnreleasedClaims } from "./sqlite/unreleased-claims.ts";
import type { AppendJob } from "./sqlite/write-state.ts";

/** Options of `SqliteJournal.open`. All are optional. */
export interface SqliteJournalOptions {
  /** The clock for claims that lapse. Processes that share a journal must agree on the time. Default: real time. */
  readonly clock?: Clock | undefined;
  /** Milliseconds that a write waits in total for other writing processes. Default: 10,000. */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * With true, a journal that is there is opened to be looked at, also where nothing can be written: a backup, a read-only disk. Every
   * write is refused, and what others write is seen only if they had it open before. With "ifNeeded" so if it cannot be opened
   * otherwise. Default: false.
   */
  readonly readOnly?: boolean | "ifNeeded" | undefined;
}

/**
 * A journal in one SQLite file, `ravi.db`. Several processes may have it open at the same time, each writing to its own runs.
 * Writes of one turn of the event loop share a commit, and resolve when it is on disk.
 */
export class SqliteJournal implements Journal {
  /** A blob store in the same file, for values that you want to store apart yourself. */
  readonly blobs: BlobStore;
  private readonly ownBlobs: SqliteBlobs;
  private readonly db: DatabaseSync;
  private readonly path: string;
  private readonly clock: Clock;
  private readonly commits: GroupCommit;
  private readonly runs: Runs;
  private readonly log: Log;
  private readonly posted: Items;
  private readonly appender: Appender;
  /** The `run` of every append job: one function for all of them. */
  private readonly stage: AppendJob["run"];
  /** Tells watchers of new posts. */
  private readonly posts: PostPoller;
  /** Claims of this process that could not be released. */
  private readonly unreleased: UnreleasedClaims;
  /** Throws if the file was removed or replaced. */
  private readonly checkFile: () => void;
  /** Set by `close`. */
  private closing: Promise<void> | undefined;

  private constructor(db: DatabaseSync, options: SqliteJournalOptions) {
    // The constructor is private for the compiler. Untyped callers are told what to do.
    if (!hasMethod(db, "prepare")) {
      const expected = "SqliteJournal.open(directory) instead of new";
      throw new InvalidValueError({ field: "what new SqliteJournal was given", value: db, expected });
    }
    this.db = db;
    this.path = db.location() ?? "";
    this.checkFile = sameFile(this.path);
    this.unreleased = new UnreleasedClaims(this.path);
    this.clock = options.clock ?? systemClock;
    this.runs = new Runs(db);
    this.log = new Log(db);
    this.posted = new Items(db);
    this.posts = new PostPoller({ items: this.posted, version: () => this.runs.version() });
    this.ownBlobs = new SqliteBlobs(db, {
      write: (act) => this.write(act),
      reading: (what, act) => this.reading(what, act),
    });
    this.blobs = this.ownBlobs;
    this.appender = new Appender({
      runs: this.runs,
      log: this.log,
      blobs: this.ownBlobs,
      read: (runId, run) => this.read(runId, run),
    });
    this.stage = (job) => this.appender.stage(job);
    const busyTimeoutMs = checkInteger("busyTimeoutMs", options.busyTimeoutMs ?? 10_000, 0);
    // `pause` is in real time, whatever the clock of the claims is: other processes hold their locks in real time.
    this.commits = new GroupCommit({ store: groupStore(db, this.appender), busyTimeoutMs, wait: pause });
  }

  /**
   * Opens the journal in a directory; creates both if needed. Throws an `InvalidValueError` if the file is not a journal of Ravi,
   * is damaged, or has another format, and a `JournalFailedError`, which may be tried again, if the disk is full, or if it has to be
   * created and another process keeps the file locked for 10 s.
   */
  static open(directory: string, options: SqliteJournalOptions = {}): SqliteJournal {
    checkFields("options", options, ["clock", "busyTimeoutMs", "readOnly"]);
    checkPorts("options", { clock: options.clock });
    const { readOnly = false } = options;
    if (![true, false, "ifNeeded"].includes(readOnly)) {
      const expected = 'true, false or "ifNeeded"';
      throw new InvalidValueError({ field: "readOnly", value: readOnly, expected });
    }
    const db = opened(directory, readOnly);
    try {
      return new SqliteJournal(db, options);
    } catch (cause) {
      db.close();
      if (isRaviError(cause)) throw cause;
      const expected = `a journal with intact tables (${String(cause)})`;
      throw new InvalidValueError({ field: "journal", value: directory, expected, cause });
    }
  }

  /** Whether a write has failed for good. The directory must then be opened again. */
  get isFailed(): boolean {
    return this.commits.isFailed;
  }

  async claim(runId: RunId, owner: string, ttlMs: number): Promise<Granted | null> {
    const id = RunId(runId);
    checkClaim(owner, ttlMs);
    return this.write(() => {
      this.checkFile();
      let isGivenBack = false;
      const isGone = (other: string): boolean =>
        (isGivenBack = this.unreleased.has(id, other)) || isOwnerGone(other);
      const claim = this.runs.claim(id, { owner, ttlMs, now: this.clock.now(), isGone });
      if (claim === null) return null;
      this.unreleased.delete(id);
      this.appender.expect(id, claim.epoch);
      return isGivenBack ? { epoch: claim.epoch } : granted(claim);
    });
  }

  async holder(runId: RunId): Promise<Held | undefined> {
    this.checkOpen();
    return this.reading(runId, () => heldBy(this.runs.find(runId), this.clock.now()));
  }

  release(runId: RunId, epoch: number): Promise<void> {
    const released = this.write(() => {
      this.runs.release(runId, epoch);
      this.appender.forget(runId);
    });
    return released.catch((error: unknown) => {
      this.keepUnreleased(runId, epoch);
      throw error;
    });
  }

  abandon(runId: RunId, epoch: number): Promise<void> {
    return this.write(() => {
      this.runs.abandon(runId, epoch);
      this.appender.forget(runId);
    });
  }

  /** Reads a run, including everything that was appended through this object, even if nobody awaited it. */
  async load(runId: RunId): Promise<readonly JournalRecord[]> {
    this.checkOpen();
    await this.commits.settled();
    return this.reading(runId, () =>
      this.runs.find(runId) === undefined ? [] : this.atOneMoment(() => this.loadNow(runId)),
    );
  }

  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): Promise<void> {
    // Not async: that would be one more promise for each append, and there are tens of thousands a second.
    return new Promise((resolve, reject) => {
      this.checkOpen();
      const writing = this.appender.known(runId, epoch);
      const { text, rows, at, large, facts } = encodeEntries(runId, entries, writing);
      const job: AppendJob = {
        run: this.stage,
        refused: undefined,
        value: undefined,
        resolve,
        reject,
        runId,
        epoch,
        writing,
        text,
        rows,
        at,
        large,
        facts,
      };
      this.commits.enqueue(job);
    });
  }

  async post(runId: RunId, item: PostedItem): Promise<void> {
    const id = RunId(runId);
    checkItem(item);
    const posted = { ...item };
    const value = stringify(item.value);
    await this.write(() => {
      this.checkFile();
      this.posted.add(id, posted, value);
    });
    this.posts.watchers.tell(id);
  }

  /** Calls the listener at once for posts through this object, and within a quarter of a second for posts of other processes. */
  watch(runId: RunId, listener: () => void): JournalWatch {
    // The journal is closing: nothing will come any more.
    if (this.closing !== undefined) return { coversAll: false, stop() {} };
    return this.posts.watchers.add(runId, listener);
  }

  /** One index lookup, cheap enough for polling. */
  items(runId: RunId, after: number): readonly PostedRecord[] {
    checkInteger("after", after, 0);
    return this.reading(runId, () => this.posted.after(RunId(runId), after));
  }

  /**
   * A run that is damaged does not hide the others. If its waits cannot be read, it is listed without them: `load` says where it is
   * damaged.
   */
  list(): readonly RunSummary[] {
    return this.reading("all runs", () => this.runs.list((runId) => this.notedWaits(runId)));
  }

  /** One index lookup, however many entries the run has. */
  async summary(runId: RunId): Promise<RunSummary | undefined> {
    this.checkOpen();
    await this.commits.settled();
    return this.reading(runId, () => this.runs.summary(runId, (id) => this.notedWaits(id)));
  }

  /** Deletes a run, even if it is claimed: the next append of its holder is refused. */
  async delete(runId: RunId): Promise<void> {
    const id = RunId(runId);
    await this.write(() => this.remove(id));
  }

  /** Deletes runs that ended long ago, but none that somebody holds. Returns the ids of the deleted runs. */
  async prune(options: PruneOptions): Promise<readonly RunId[]> {
    const { runs, posted: items, clock } = this;
    const now = clock.now();
    const write = <T>(act: () => T): Promise<T> => this.write(act);
    const remove = (runId: RunId): number => this.remove(runId);
    return prune({ runs, items, clock, write, remove }, prunePlan(options, now), now);
  }

  /** Waits for the writes so far, then closes the file. Afterwards only `close` may be called. */
  close(): Promise<void> {
    this.posts.close();
    this.closing ??= this.commits.settled().then(() => this.db.close());
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs in the group's transaction, after the appends that came before. */
  private async write<T>(act: () => T): Promise<T> {
    this.checkOpen();
    return this.commits.add(() => {
      this.appender.write();
      return act();
    });
  }

  /** Turns errors of SQLite into errors of Ravi. */
  private reading<T>(what: string, act: () => T): T {
    this.checkOpen();
    try {
      return act();
    } catch (cause) {
      throw readFailure(this.path, what, cause);
    }
  }

  private loadNow(runId: RunId): readonly JournalRecord[] {
    const run = this.runs.find(runId);
    if (run === undefined) return [];
    const records = this.read(runId, run);
    this.appender.learn(runId, run, records);
    return records;
  }

  /** Reads within one transaction. Otherwise a delete between two reads would make the run look damaged. */
  private atOneMoment<T>(act: () => T): T {
    const { db } = this;
    db.exec("BEGIN");
    try {
      return act();
    } finally {
      // Some failures have ended the transaction already.
      if (db.isTransaction) db.exec("COMMIT");
    }
  }

  private read(runId: RunId, run: StoredRun): JournalRecord[] {
    return this.log.read(runId, run.no, run, (ref, seq) => {
      try {
        return bodyOf(this.ownBlobs.read(ref));
      } catch (cause) {
        throw damaged(runId, seq, `its blob ${ref} is missing or damaged`, cause);
      }
    });
  }

  /** What the entries of a run say that it waits for; undefined if they are damaged. */
  private notedWaits(runId: RunId): readonly PendingWait[] | undefined {
    try {
      const run = this.runs.find(runId);
      const records = run === undefined ? [] : this.read(runId, run);
      const noted = new NotedWaits();
      for (const { exec, key, attempt, phase, at, body } of records) {
        factsOf(runId, [[exec, key, attempt, phase, at, body]])?.waits?.forEach((each) => noted.apply(each));
      }
      return JSON.parse(noted.text) as readonly PendingWait[];
    } catch (error) {
      if (isRaviError(error, "JOURNAL_CORRUPT")) return undefined;
      throw error;
    }
  }

  /** Remembers a claim that could not be released. If that cannot be read either, the claim lapses. */
  private keepUnreleased(runId: RunId, epoch: number): void {
    try {
      const run = this.runs.find(runId);
      if (run?.fence === epoch && run.owner !== null) this.unreleased.add(runId, run.owner);
    } catch {
      // The original error says more.
    }
  }

  /** Returns the number of bytes that were deleted. */
  private remove(runId: RunId): number {
    const run = this.runs.findToDelete(runId);
    this.posted.delete(runId);
    if (run === undefined) return 0;
    this.appender.forget(runId);
    const weight = this.log.delete(run.no, run) + this.ownBlobs.deleteOf(run.no);
    this.runs.delete(run);
    return weight;
  }

  private checkOpen(): void {
    if (this.closing === undefined) return;
    const expected = "an open journal; open the directory again";
    throw new InvalidValueError({ field: "journal", value: "closed", expected });
  }
}

function opened(directory: string, readOnly: boolean | "ifNeeded"): DatabaseSync {
  if (readOnly === true) return openReadOnly(directory);
  try {
    return openDatabase(directory);
  } catch (error) {
    if (readOnly === false || !isRaviError(error, "INVALID_VALUE")) throw error;
    try {
      return openReadOnly(directory);
    } catch {
      // It is not because of the writing.
      throw error;
    }
  }
}
