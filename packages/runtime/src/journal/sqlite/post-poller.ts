import type { RunId } from "@ravi/kernel";
import { Watchers } from "../parts/watchers.ts";
import type { Items, Mark } from "./items.ts";

const POLL_MS = 250;

export interface PostPollerOptions {
  readonly items: Items;
  /** A number that changes whenever another connection has written to the file. */
  readonly version: () => number;
}

/**
 * Calls listeners when something is posted, also by other processes. SQLite has no notification across processes, so one timer for
 * all listeners reads the file's version four times a second, and the items only if it has changed.
 */
export class PostPoller {
  readonly watchers = new Watchers({
    coversAll: true,
    onAdd: (runId) => this.start(runId),
    onAwaited: () => this.keepAlive(),
    onEmpty: () => this.stop(),
  });
  private readonly options: PostPollerOptions;
  private timer: NodeJS.Timeout | undefined;
  private version: number | undefined;
  private mark: Mark | undefined;
  /**
   * Runs that are watched since the last poll. Their listeners are called in any case: something may have come just before they
   * began to listen.
   */
  private fresh = new Set<RunId>();

  constructor(options: PostPollerOptions) {
    this.options = options;
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.version = undefined;
    this.fresh.clear();
  }

  /**
   * Nothing comes any more. If somebody still waits, the timer keeps the process alive until the run's heartbeat reports that the
   * journal is closed.
   */
  close(): void {
    if (!this.watchers.isAwaited) this.stop();
  }

  private start(runId: RunId): void {
    this.fresh.add(runId);
    // Real time, whatever the clock of the claims says.
    if (this.timer !== undefined) return;
    this.timer = setInterval(() => this.poll(), POLL_MS);
    this.keepAlive();
  }

  /** A listener does not keep the process alive; one that waits for a post does. */
  private keepAlive(): void {
    if (this.watchers.isAwaited) this.timer?.ref();
    else this.timer?.unref();
  }

  private poll(): void {
    try {
      const arrived = this.arrived();
      const { fresh } = this;
      this.fresh = new Set();
      if (arrived === undefined) return this.watchers.tellAll();
      for (const runId of fresh.union(arrived)) this.watchers.tell(runId);
    } catch {
      // If the file cannot be read now, the next poll tries again. If that goes on, the next reader gets the error, at the latest
      // the heartbeat.
    }
  }

  /** The runs for which something came since the last poll; undefined if it may be any run. */
  private arrived(): ReadonlySet<RunId> | undefined {
    const { items, version } = this.options;
    const { version: before, mark } = this;
    const now = version();
    if (before === now) return new Set();
    const newest = items.mark();
    const runs = before === undefined ? new Set<RunId>() : items.runsSince(mark);
    // Only now, after everything was read.
    this.version = now;
    this.mark = newest;
    return runs;
  }
}
