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
import { andThen } from "../and-then.ts";
import { isWritable } from "../journal/plain-json.ts";
import { type Beating, Heartbeats } from "./heartbeats.ts";

/** Two heartbeats: one may be late. */
const CLAIM_TTL_MS = 30_000;

/** How long a journal is waited for once its run was told to stop. A disk that is busy, or far away, needs more than an agent does. */
export const JOURNAL_PATIENCE_MS = 1_000;

/** Who works on a run while its journal is held. */
export interface Holder {
  /** Every heartbeat is a moment to look what others have left for the run. */
  look(): void;
  /** Nothing more can be written down: nobody is to wait, or to do anything, any longer. */
  lost(why: Error): void;
}

/** One run's journal while this process holds the claim on it. */
export class RunJournal implements Beating {
  readonly runId: RunId;
  due = 0;
  before: Beating | undefined;
  after: Beating | undefined;
  private readonly journal: Journal;
  private readonly owner: string;
  private readonly hearts: Heartbeats;
  private readonly epoch: number;
  private lost: Error | undefined;
  private released = false;
  private renewing: Promise<void> | undefined;
  private holder: Holder | undefined;
  /** Entries that the store has not answered for, and how often it has answered. */
  private open = 0;
  private answers = 0;

  private constructor(journal: Journal, runId: RunId, owner: string, clock: Clock, epoch: number) {
    this.journal = journal;
    this.runId = runId;
    this.owner = owner;
    this.epoch = epoch;
    this.hearts = Heartbeats.of(clock);
    this.hearts.add(this);
  }

  /** Throws a `JournalLockedError` when another owner has it. */
  static claim(journal: Journal, runId: RunId, owner: string, clock: Clock): MaybePromise<RunJournal> {
    const claim = journal.claim(runId, owner, CLAIM_TTL_MS);
    const taken = (granted: { readonly epoch: number } | null): RunJournal => {
      const epoch = granted?.epoch;
      if (epoch === undefined)
        throw new JournalLockedError({ runId, owner: "another process, or by another call in this one" });
      return new RunJournal(journal, runId, owner, clock, epoch);
    };
    return andThen(claim, taken);
  }

  /** Who works on the run from now on. A go after a crash may come to a journal that was lost meanwhile. */
  heldBy(holder: Holder): void {
    this.holder = holder;
    if (this.lost !== undefined) holder.lost(this.lost);
  }

  /** It takes nothing more, for good. */
  get isLost(): boolean {
    return this.lost !== undefined;
  }

  /**
   * A journal that could not be written to, or was taken over, takes nothing more: the run stops before it pays again. Nor does one
   * whose run was given up, though its store may not have heard of that yet. One that was given what cannot be written down says
   * so, has written nothing, and goes on.
   */
  append(entries: readonly JournalEntry[]): MaybePromise<void> {
    if (this.lost !== undefined) throw this.lost;
    if (this.released) throw new JournalLockedError({ runId: this.runId });
    try {
      const written = this.journal.append(this.runId, this.epoch, entries);
      if (!isPromiseLike(written)) return written;
      this.open++;
      return Promise.resolve(written).then(
        () => this.hear(),
        (error: unknown) => {
          this.hear();
          this.fail(error, entries);
        },
      );
    } catch (error) {
      return this.fail(error, entries);
    }
  }

  private hear(): void {
    this.open--;
    this.answers++;
  }

  /** How often the store has answered, while it owes an answer; undefined where it owes none. */
  get owing(): number | undefined {
    return this.open > 0 ? this.answers : undefined;
  }

  private fail(error: unknown, entries: readonly JournalEntry[]): never {
    // Whatever words the journal has for it: nobody could have written that.
    if (!isJournalError(error) && !isWritable(entries)) throw error;
    this.lost =
      error instanceof Error ? error : new JournalFailedError({ what: "append", final: true, cause: error });
    throw this.lost;
  }

  /** Again, it does nothing. */
  release(): MaybePromise<void> {
    if (this.released) return;
    this.released = true;
    this.hearts.delete(this);
    const { journal, runId, epoch, renewing } = this;
    // A heartbeat that is under way would take the claim again right after it was given back.
    return renewing === undefined
      ? journal.release(runId, epoch)
      : renewing.then(() => journal.release(runId, epoch));
  }

  /** A run that nobody has started is not listed for having been asked for. What was posted to it early stays. */
  async abandon(): Promise<void> {
    const { journal, runId, epoch } = this;
    // A heartbeat would claim it again, and with that it would be there once more.
    await this.renewing;
    this.hearts.delete(this);
    if (journal.abandon !== undefined) return journal.abandon(runId, epoch);
    // What is posted at this very moment would go with it: whoever can do better has `abandon`.
    if ((await journal.items(runId, 0)).length === 0) await journal.delete(runId);
  }

  beat(): void {
    this.renewing = this.renew();
  }

  private async renew(): Promise<void> {
    try {
      const claim = await this.journal.claim(this.runId, this.owner, CLAIM_TTL_MS);
      if (claim?.epoch !== this.epoch) this.lost = new JournalLockedError({ runId: this.runId });
      // It had lapsed, and whoever took over is done: what was taken just now is nobody's.
      if (claim !== null && this.isLost) await this.journal.release(this.runId, claim.epoch);
    } catch (error) {
      // One that could not be renewed now may be the next time. If somebody has taken it by then, the fence says so.
      if (isRaviError(error) && !error.retryable) this.lost = error;
    }
    if (this.released) return;
    if (this.lost !== undefined) return this.holder?.lost(this.lost);
    this.holder?.look();
    this.hearts.addAgain(this);
  }
}

function isJournalError(error: unknown): boolean {
  return isRaviError(error, "JOURNAL_LOCKED") || isRaviError(error, "JOURNAL_FAILED");
}
