import {
  type Clock,
  type Journal,
  type JournalEntry,
  isPromiseLike,
  JournalFailedError,
  JournalLockedError,
  type MaybePromise,
  type RunId,
  type TimerHandle,
} from "@ravi/kernel";

const CLAIM_TTL_MS = 30_000;
const HEARTBEAT_MS = 15_000;

/** One run's journal while this process holds the claim on it. */
export class RunJournal {
  readonly runId: RunId;
  private readonly journal: Journal;
  private readonly owner: string;
  private readonly clock: Clock;
  private readonly epoch: number;
  private timer: TimerHandle | undefined;
  private lost: Error | undefined;
  private released = false;
  private renewing: Promise<void> | undefined;

  /** Called with every heartbeat: the moment to look what others have left for the run. */
  onBeat: (() => void) | undefined;

  private constructor(journal: Journal, runId: RunId, owner: string, clock: Clock, epoch: number) {
    this.journal = journal;
    this.runId = runId;
    this.owner = owner;
    this.clock = clock;
    this.epoch = epoch;
    this.beat();
  }

  /** Throws a `JournalLockedError` when another owner has it. */
  static async claim(journal: Journal, runId: RunId, owner: string, clock: Clock): Promise<RunJournal> {
    const claim = await journal.claim(runId, owner, CLAIM_TTL_MS);
    if (claim === null) throw new JournalLockedError({ runId });
    return new RunJournal(journal, runId, owner, clock, claim.epoch);
  }

  /** A journal that could not be written to, or was taken over, takes nothing more: the run stops before it pays again. */
  append(entries: readonly JournalEntry[]): MaybePromise<void> {
    if (this.lost !== undefined) throw this.lost;
    try {
      const written = this.journal.append(this.runId, this.epoch, entries);
      return isPromiseLike(written) ? written.then(undefined, (error: unknown) => this.fail(error)) : written;
    } catch (error) {
      return this.fail(error);
    }
  }

  private fail(error: unknown): never {
    this.lost =
      error instanceof Error ? error : new JournalFailedError({ what: "append", final: true, cause: error });
    throw this.lost;
  }

  /** Again, it does nothing. */
  async release(): Promise<void> {
    if (this.released) return;
    this.released = true;
    this.timer?.cancel();
    this.timer = undefined;
    // A heartbeat that is under way would take the claim again right after it was given back.
    await this.renewing;
    await this.journal.release(this.runId, this.epoch);
  }

  private beat(): void {
    this.timer = this.clock.setTimer?.(() => {
      this.renewing = this.renew();
    }, HEARTBEAT_MS);
    // A heart that beats is no reason to live.
    this.timer?.unref?.();
  }

  private async renew(): Promise<void> {
    try {
      const claim = await this.journal.claim(this.runId, this.owner, CLAIM_TTL_MS);
      if (claim?.epoch !== this.epoch) this.lost = new JournalLockedError({ runId: this.runId });
    } catch (error) {
      this.lost = error instanceof Error ? error : new JournalLockedError({ runId: this.runId });
    }
    if (this.timer === undefined || this.lost !== undefined) return;
    this.onBeat?.();
    this.beat();
  }
}
