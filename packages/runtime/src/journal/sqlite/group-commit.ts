import { isRaviError, type RaviError, JournalFailedError } from "@ravi/kernel";
import { nextTurn } from "../parts/platform.ts";

/** What a group of writes is executed on. Everything is synchronous, so no other statement comes in between. */
export interface GroupStore {
  /** For messages. */
  readonly path: string;
  begin(): void;
  /** Writes what the jobs have staged. */
  finish(): void;
  commit(): void;
  rollback(): void;
  isBusy(error: unknown): boolean;
}

/** A write that waits for its group. Its caller gets the returned value once the group is on disk. */
export interface Job {
  run(job: this): unknown;
  /** Set while the group runs if this job alone is refused; the others continue. */
  refused: RaviError | undefined;
  value: unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export interface GroupCommitOptions {
  readonly store: GroupStore;
  /** Milliseconds that a group waits in total for other writing processes. */
  readonly busyTimeoutMs: number;
  readonly wait: (ms: number) => Promise<void>;
}

const LONGEST_WAIT_MS = 50;

/**
 * Collects the writes of one turn of the event loop into one transaction, so that many runs share one sync of the disk. A write
 * resolves after its commit. If a commit fails, its whole group is refused, and so is everything after it: nobody may pay for a
 * call that could not be recorded. A lock of another process is no failure: the group waits and tries again.
 */
export class GroupCommit {
  private readonly options: GroupCommitOptions;
  private queue: Job[] = [];
  private scheduled = false;
  private failure: JournalFailedError | undefined;
  private waitedMs = 0;

  constructor(options: GroupCommitOptions) {
    this.options = options;
  }

  /** Whether a commit has failed. It accepts nothing more then. */
  get isFailed(): boolean {
    return this.failure !== undefined;
  }

  /** Adds a write. Resolves with its value after the commit. */
  add<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.enqueue({ run, refused: undefined, value: undefined, resolve, reject });
    });
  }

  /** The same for a job object, which saves a promise. */
  enqueue(job: Job): void {
    if (this.failure !== undefined) return job.reject(this.failure);
    this.queue.push(job);
    if (this.scheduled) return;
    this.scheduled = true;
    nextTurn(() => this.flush());
  }

  /** Resolves when everything that was added so far has been written or refused. */
  async settled(): Promise<void> {
    if (!this.scheduled) return;
    await this.add(() => undefined).catch(() => undefined);
  }

  private flush(): void {
    const jobs = this.queue;
    this.queue = [];
    const { store } = this.options;
    try {
      store.begin();
    } catch (error) {
      return store.isBusy(error) ? this.waitForOthers(jobs, error) : this.fail(jobs, error);
    }
    this.waitedMs = 0;
    try {
      for (const job of jobs) runJob(job);
      store.finish();
      store.commit();
    } catch (error) {
      try {
        store.rollback();
      } catch {
        // After some failures SQLite has rolled back already. Nothing more is written here, and the first error says why.
      }
      return this.fail(jobs, error);
    }
    this.scheduled = false;
    for (const job of jobs) {
      if (job.refused === undefined) job.resolve(job.value as never);
      else job.reject(job.refused);
    }
  }

  private waitForOthers(jobs: Job[], error: unknown): void {
    const { busyTimeoutMs, wait, store } = this.options;
    if (this.waitedMs >= busyTimeoutMs) {
      const what = `the journal ${store.path} was locked by another process for ${this.waitedMs} ms`;
      this.waitedMs = 0;
      this.scheduled = false;
      const refusal = new JournalFailedError({ what, final: false, cause: error });
      for (const job of jobs) job.reject(refusal);
      return;
    }
    const pause = Math.min(LONGEST_WAIT_MS, 5 + this.waitedMs);
    this.waitedMs += pause;
    this.queue = [...jobs, ...this.queue];
    void wait(pause).then(() => this.flush());
  }

  private fail(jobs: readonly Job[], cause: unknown): void {
    const what = `the journal ${this.options.store.path} could not be written`;
    const failure = new JournalFailedError({ what, final: true, cause });
    this.failure = failure;
    this.scheduled = false;
    for (const job of [...jobs, ...this.queue]) job.reject(failure);
    this.queue = [];
  }
}

/** An error of Ravi refuses this job alone; any other error fails the whole group. */
function runJob(job: Job): void {
  try {
    job.value = job.run(job);
  } catch (error) {
    if (!isRaviError(error)) throw error;
    job.refused = error;
  }
}
