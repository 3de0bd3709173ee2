import type { Clock, ExecId, TimerHandle } from "@ravi/kernel";
import { type Linked, LinkedList } from "@ravi/kernel/loop";
import type { Recording } from "../engine/recording.ts";
import { timer } from "../engine/waiting.ts";
import { addTo } from "./add-to.ts";
import { recordedLines } from "./recorded-lines.ts";
import { type Interval, lengthOf, recordedRests, recordedWaits, type Wait } from "./recorded-waits.ts";

/** Something for which an agent stands still: an answer from outside, or its seat. */
export interface Still {
  readonly execId: ExecId;
  readonly since: number;
  /** Whether only those who wait for this very agent are concerned, and not those who wait for one above it. */
  readonly isOwn?: boolean | undefined;
}

/** Who waits for a child, with a time limit. */
export interface AskClock extends Linked<AskClock> {
  readonly child: ExecId;
  /** When it has to be checked. Infinity while the child stands still. */
  readonly due: number;
  stand(since: number): void;
  /** Ends no wait: one whose time is up is due now. */
  go(): void;
  check(now: number): void;
}

/** What a clock has to know when it starts. */
export interface StillSoFar {
  /** How long the child has stood still in that time, or no process had the run, before it was resumed. */
  readonly ms: number;
  /** Whether it still did when the run broke off. */
  readonly isOpen: boolean;
}

const NOT_YET: StillSoFar = Object.freeze({ ms: 0, isOpen: false });

/**
 * Stops the clocks of those who wait for a child, while that child or anyone below it stands still. That is rare, and most hires have a
 * clock: so they are in a list, and not in a map by the id of the child, which made a team of eight take a sixth longer.
 */
export class AskClocks {
  private readonly clock: Clock;
  private readonly clocks = new LinkedList<AskClock>();
  private standing: Set<Still> | undefined;
  private recorded: Map<string, Wait[]> | undefined;
  private rests: readonly Interval[] | undefined;
  /** One for all: to set and cancel one for each child took 6 % of the time of a bare team of eight. */
  private timer: TimerHandle | undefined;
  private firesAt = Infinity;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  stand(still: Still): void {
    (this.standing ??= new Set()).add(still);
    for (const clock of this.clocks.toArray()) if (concerns(still, clock)) clock.stand(still.since);
  }

  go(still: Still): void {
    if (this.standing?.delete(still) !== true) return;
    for (const clock of this.clocks.toArray()) if (concerns(still, clock)) clock.go();
  }

  add(clock: AskClock): void {
    this.clocks.add(clock);
    if (this.standing === undefined) return;
    for (const still of this.standing) if (concerns(still, clock)) clock.stand(still.since);
  }

  delete(clock: AskClock): void {
    this.clocks.delete(clock);
    if (this.clocks.isEmpty) this.stopTimer();
  }

  /** Has the clock checked when it is due. Throws if there are no timers. */
  watch({ due }: AskClock): void {
    // A timer that fires earlier looks who is next.
    if (due >= this.firesAt) return;
    this.stopTimer();
    this.timer = timer(this.clock, () => this.fire(), Math.max(0, due - this.clock.now()));
    this.firesAt = due;
  }

  private stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.firesAt = Infinity;
  }

  private fire(): void {
    this.stopTimer();
    const now = this.clock.now();
    try {
      // One whose time is up may end the wait of another.
      for (const clock of this.clocks.toArray()) if (this.has(clock) && clock.due <= now) clock.check(now);
    } finally {
      // Also if a callback of a child that is cut off has thrown: the others are checked all the same.
      for (const clock of this.clocks.toArray()) this.watch(clock);
    }
  }

  private has(clock: AskClock): boolean {
    return clock.before !== undefined || this.clocks.first === clock;
  }

  /** What is on record of the time from `from` to `now`. */
  before(recording: Recording | undefined, child: ExecId, from: number, now: number): StillSoFar {
    if (recording === undefined || from >= now) return NOT_YET;
    const below =
      (this.recorded ??= byChild([...recordedWaits(recording), ...recordedLines(recording)])).get(child) ??
      [];
    const rests = (this.rests ??= recordedRests(recording));
    const ms = lengthOf([...below, ...rests], from, now);
    return { ms, isOpen: below.some(({ until }) => until === undefined) };
  }
}

function concerns({ execId, isOwn }: Still, { child }: AskClock): boolean {
  if (execId === child) return true;
  return isOwn !== true && execId.startsWith(child) && execId[child.length] === "/";
}

/** The waits of each execution and of all below it. */
function byChild(waits: readonly Wait[]): Map<string, Wait[]> {
  const found = new Map<string, Wait[]>();
  for (const wait of waits) for (const child of upwards(wait.execId)) addTo(found, child, wait);
  return found;
}

/** The id of an execution, and those of all above it. */
function upwards(execId: string): readonly string[] {
  const ids = [execId];
  for (let at = execId.lastIndexOf("/"); at > 0; at = execId.lastIndexOf("/", at - 1))
    ids.push(execId.slice(0, at));
  return ids;
}
