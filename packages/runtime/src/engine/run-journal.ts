import {
  type Clock,
  type Journal,
  type JournalEntry,
  isPromiseLike,
  isRaviError,
  JournalFailedError,
  JournalLockedError,
  type MaybePromise,
  type RunId,
} from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import type { Granted } from "../journal/claims.ts";
import { isName } from "../journal/entries/entry-check.ts";
import { lockedBy } from "../journal/parts/owner.ts";
import { isWritable } from "../journal/parts/plain-json.ts";
import { type Heartbeat, Heartbeats } from "./heartbeats.ts";

/** Two heartbeats, so that one may be late. */
const CLAIM_TTL_MS = 30_000;

/** How long to wait for a journal after its run was told to stop. A disk that is busy, or far away, needs more time than an agent. */
export const JOURNAL_TIMEOUT_MS = 1_000;

/** The run that uses a journal while this process holds the claim on it. */
export interface Holder {
  /** Called at every heartbeat, to read what other processes have posted to the run. */
  readPosts(): void;
  /** Called when nothing more can be recorded: the run has to stop. */
  journalLost(why: Error): void;
}

/** One run's journal while this process holds the claim on it. */
export class RunJournal implements Heartbeat {
  readonly runId: RunId;
  due = 0;
  before: Heartbeat | undefined;
  after: Heartbeat | undefined;
  private readonly journal: Journal;
  private readonly owner: string;
  private readonly heartbeats: Heartbeats;
  private readonly epoch: number;
  /** The last sign of life of the process that had the run before, if it did not give it back. Epoch milliseconds. */
  readonly aliveUntil: number | undefined;
  private lost: Error | undefined;
  private released = false;
  /** Whether the end of the run is on its way to the store. */
  private isClosed = false;
  private renewing: Promise<void> | undefined;
  private holder: Holder | undefined;
  /** How many appends the store has not answered yet, and how many it has answered. */
  private open = 0;
  private answers = 0;
  private idle: PromiseWithResolvers<void> | undefined;

  private constructor(journal: Journal, runId: RunId, owner: string, clock: Clock, claim: Granted) {
    this.journal = journal;
    this.runId = runId;
    this.owner = owner;
    this.epoch = claim.epoch;
    // A journal of somebody else may say anything here.
    const lapsedAt: unknown = claim.lapsedAt;
    this.aliveUntil = Number.isFinite(lapsedAt) ? Number(lapsedAt) - CLAIM_TTL_MS : undefined;
    this.heartbeats = Heartbeats.of(clock);
    this.heartbeats.add(this);
  }

  /** Claims the run for this process. Throws a `JournalLockedError` if another owner has it. */
  static claim(journal: Journal, runId: RunId, owner: string, clock: Clock): MaybePromise<RunJournal> {
    const claim = journal.claim(runId, owner, CLAIM_TTL_MS);
    const taken = (granted: Granted | null): MaybePromise<RunJournal> => {
      if (granted?.epoch !== undefined) return new RunJournal(journal, runId, owner, clock, granted);
      return lockedError(journal, runId).then((error) => {
        throw error;
      });
    };
    return andThen(claim, taken);
  }

  /**
   * Sets the run that uses the journal from now on. When a run is restarted after a crash, the journal may have been lost in between: then
   * the run is told at once.
   */
  attach(holder: Holder): void {
    this.holder = holder;
    if (this.lost !== undefined) holder.journalLost(this.lost);
  }

  /** Whether nothing more can be written, for good. */
  get isLost(): boolean {
    return this.lost !== undefined;
  }

  /** Throws if nothing more can be written, for good. */
  check(): void {
    if (this.lost !== undefined) throw this.lost;
  }

  /**
   * Writes entries. A journal that could not be written to, or was taken over, accepts nothing more, so that the run stops before it pays
   * again. Nor does a journal that was closed or released, though its store may not know of that yet. If the entries cannot be written as JSON,
   * or the name of a model or a tool cannot be part of a key, `append` throws, nothing is written, and the journal can still be used.
   */
  append(entries: readonly JournalEntry[]): MaybePromise<void> {
    this.check();
    if (this.released || this.isClosed) throw new JournalLockedError({ runId: this.runId });
    try {
      const written = this.journal.append(this.runId, this.epoch, entries);
      if (!isPromiseLike(written)) return written;
      this.open++;
      return Promise.resolve(written).then(
        () => this.countAnswer(),
        (error: unknown) => {
          this.countAnswer();
          this.fail(error, entries);
        },
      );
    } catch (error) {
      return this.fail(error, entries);
    }
  }

  /** Accepts nothing more: what was appended last is the end of the run. */
  close(): void {
    this.isClosed = true;
  }

  private countAnswer(): void {
    this.open--;
    this.answers++;
    if (this.open > 0) return;
    this.idle?.resolve();
    this.idle = undefined;
  }

  /** Settles when the store has answered all appends; undefined if it has. Until then `load` may miss what they say. */
  settled(): Promise<void> | undefined {
    if (this.open === 0) return undefined;
    this.idle ??= Promise.withResolvers();
    return this.idle.promise;
  }

  /** Whether the store answers later. Then the entry that follows from an answer, such as that a call was withdrawn, comes later too. */
  get isLate(): boolean {
    return this.open + this.answers > 0;
  }

  /**
   * How many appends the store has answered, while it owes an answer; undefined if it owes none. If it stays the same, the store makes no
   * progress.
   */
  get progress(): number | undefined {
    return this.open > 0 ? this.answers : undefined;
  }

  private fail(error: unknown, entries: readonly JournalEntry[]): never {
    // The entries cannot be written, whatever error the store throws for that.
    if (!isJournalError(error) && !mayBeWritten(entries)) throw error;
    this.lost =
      error instanceof Error
        ? error
        : new JournalFailedError({ what: "the journal could not be written", final: true, cause: error });
    throw this.lost;
  }

  /** Gives up the claim. A second call does nothing. */
  release(): MaybePromise<void> {
    if (this.released) return;
    this.released = true;
    this.heartbeats.delete(this);
    const { journal, runId, epoch, renewing } = this;
    // A heartbeat that is running would take the claim again right after it was given up, so it is awaited first.
    return renewing === undefined
      ? journal.release(runId, epoch)
      : renewing.then(() => journal.release(runId, epoch));
  }

  /** Removes a run that was claimed and never started, so that it is not listed. What was posted to it early is kept. */
  async abandon(): Promise<void> {
    const { journal, runId, epoch } = this;
    // A heartbeat that is running would claim the run, and so create it, again.
    await this.renewing;
    this.heartbeats.delete(this);
    if (journal.abandon !== undefined) return journal.abandon(runId, epoch);
    // What is posted between the two calls is lost. A journal that can do better has `abandon`.
    if ((await journal.items(runId, 0)).length === 0) await journal.delete(runId);
  }

  /** For a run that waits for ever and whose journal nobody else can claim. */
  stopHeartbeat(): void {
    this.heartbeats.delete(this);
  }

  beat(): void {
    this.renewing = this.renew();
  }

  private async renew(): Promise<void> {
    try {
      const claim = await this.journal.claim(this.runId, this.owner, CLAIM_TTL_MS);
      if (claim?.epoch !== this.epoch) this.lost = lockedBy(this.runId);
      if (claim === null) this.lost = await lockedError(this.journal, this.runId);
      // A run that may not go on must not hold a claim: it lost its journal before, or its claim had lapsed and this call has claimed the
      // run anew after another owner gave it up.
      if (claim !== null && this.isLost) await this.journal.release(this.runId, claim.epoch);
    } catch (error) {
      // The next heartbeat may succeed. If another owner takes the claim before that, its epoch is another one, and appends are refused.
      if (isRaviError(error) && !error.retryable) this.lost = error;
    }
    if (this.released) return;
    if (this.lost !== undefined) return this.holder?.journalLost(this.lost);
    this.holder?.readPosts();
    this.heartbeats.addAgain(this);
  }
}

/** Whatever the journal says of who has the run, or fails with: it is locked. */
async function lockedError(journal: Journal, runId: RunId): Promise<JournalLockedError> {
  try {
    return lockedBy(runId, await journal.holder?.(runId));
  } catch {
    return lockedBy(runId);
  }
}

function mayBeWritten(entries: readonly JournalEntry[]): boolean {
  return entries.every(({ key }) => isName(key)) && isWritable(entries);
}

function isJournalError(error: unknown): boolean {
  return isRaviError(error, "JOURNAL_LOCKED") || isRaviError(error, "JOURNAL_FAILED");
}
