import type { ExecId } from "@ravi/kernel";
import type { Recording } from "../engine/recording.ts";
import { type Interval, lengthOf, recordedWaits } from "./recorded-waits.ts";

/** Something for which an agent stands still: an answer from outside, or its seat. */
export interface Still {
  readonly execId: ExecId;
  readonly since: number;
  /** Whether only those who wait for this very agent are concerned, and not those who wait for one above it. */
  readonly isOwn?: boolean | undefined;
}

/** Who waits for a child, with a time limit. */
export interface AskClock {
  readonly child: ExecId;
  stand(since: number): void;
  go(): void;
}

/** What a clock has to know when it starts. */
export interface StillSoFar {
  /** How long the child has stood still in that time, before the run was resumed. */
  readonly ms: number;
  /** Whether it still did when the run broke off. */
  readonly isOpen: boolean;
}

const NOT_YET: StillSoFar = Object.freeze({ ms: 0, isOpen: false });

/** Stops the clocks of those who wait for a child, while that child or anyone below it stands still. */
export class AskClocks {
  private readonly standing = new Set<Still>();
  private readonly clocks = new Set<AskClock>();
  private recorded: readonly Interval[] | undefined;

  stand(still: Still): void {
    this.standing.add(still);
    for (const clock of this.clocks) if (concerns(still, clock)) clock.stand(still.since);
  }

  go(still: Still): void {
    if (!this.standing.delete(still)) return;
    for (const clock of this.clocks) if (concerns(still, clock)) clock.go();
  }

  add(clock: AskClock): void {
    this.clocks.add(clock);
    for (const still of this.standing) if (concerns(still, clock)) clock.stand(still.since);
  }

  delete(clock: AskClock): void {
    this.clocks.delete(clock);
  }

  /** What is on record of the time from `from` to `now`. */
  before(recording: Recording | undefined, child: ExecId, from: number, now: number): StillSoFar {
    if (recording === undefined || from >= now) return NOT_YET;
    this.recorded ??= recordedWaits(recording);
    const below = this.recorded.filter((wait) => concerns(wait, { child }));
    return { ms: lengthOf(below, from, now), isOpen: below.some(({ until }) => until === undefined) };
  }
}

function concerns({ execId, isOwn }: Still, { child }: Pick<AskClock, "child">): boolean {
  return execId === child || (isOwn !== true && execId.startsWith(`${child}/`));
}
