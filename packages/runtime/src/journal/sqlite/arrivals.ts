import type { RunId } from "@ravi/kernel";
import { Watchers } from "../watchers.ts";
import type { Items, Mark } from "./items.ts";

const LOOK_MS = 250;

export interface ArrivalsOptions {
  readonly items: Items;
  /** A number that changes whenever another connection has written to the file. */
  readonly version: () => number;
}

/**
 * Tells those who listen of what is posted, by other processes too. SQLite calls nobody, so the file's version is looked at
 * four times a second while anybody listens, by one timer for all of them, and the items only when it has changed.
 */
export class Arrivals {
  readonly watchers = new Watchers({
    coversAll: true,
    onAdd: (runId) => this.start(runId),
    onAwaited: () => this.keepAlive(),
    onEmpty: () => this.stop(),
  });
  private readonly options: ArrivalsOptions;
  private timer: NodeJS.Timeout | undefined;
  private version: number | undefined;
  private mark: Mark | undefined;
  /** They are told once in any case: something may have come just before they began to listen. */
  private fresh = new Set<RunId>();

  constructor(options: ArrivalsOptions) {
    this.options = options;
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.version = undefined;
    this.fresh.clear();
  }

  /** Nothing comes any more. Whoever waits all the same is told so by its heart, and the process lives until then. */
  close(): void {
    if (!this.watchers.isAwaited) this.stop();
  }

  private start(runId: RunId): void {
    this.fresh.add(runId);
    // Locks and files live in real time, whatever the clock of the claims says.
    if (this.timer !== undefined) return;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.keepAlive();
  }

  /** Somebody who only listens is no reason to live; somebody who waits is. */
  private keepAlive(): void {
    if (this.watchers.isAwaited) this.timer?.ref();
    else this.timer?.unref();
  }

  private look(): void {
    try {
      const arrived = this.arrived();
      const { fresh } = this;
      this.fresh = new Set();
      if (arrived === undefined) return this.watchers.tellAll();
      for (const runId of fresh.union(arrived)) this.watchers.tell(runId);
    } catch {
      // A file that cannot be read now is looked at again. If it stays so, it is the matter of whoever reads from it next, at the
      // latest of the heartbeat.
    }
  }

  /** The runs for which something came since the last look; undefined when it may be any. */
  private arrived(): ReadonlySet<RunId> | undefined {
    const { items, version } = this.options;
    const { version: before, mark } = this;
    const now = version();
    if (before === now) return new Set();
    const newest = items.mark();
    const runs = before === undefined ? new Set<RunId>() : items.runsSince(mark);
    // Only now, when all of it was read.
    this.version = now;
    this.mark = newest;
    return runs;
  }
}
