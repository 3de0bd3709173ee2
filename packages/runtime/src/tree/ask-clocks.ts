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

/**
 * Stops the clocks of those who wait for a child, while that child or anyone below it stands still. Both are found by the id of the child,
 * because in a large tree many wait at the same time.
 */
export class AskClocks {
  private readonly standing = new Map<string, Set<Still>>();
  private readonly clocks = new Map<string, Set<AskClock>>();
  private recorded: Map<string, Interval[]> | undefined;

  stand(still: Still): void {
    for (const child of concerned(still)) {
      insert(this.standing, child, still);
      for (const clock of this.clocks.get(child) ?? []) clock.stand(still.since);
    }
  }

  go(still: Still): void {
    for (const child of concerned(still)) {
      if (!remove(this.standing, child, still)) continue;
      for (const clock of this.clocks.get(child) ?? []) clock.go();
    }
  }

  add(clock: AskClock): void {
    insert(this.clocks, clock.child, clock);
    for (const still of this.standing.get(clock.child) ?? []) clock.stand(still.since);
  }

  delete(clock: AskClock): void {
    remove(this.clocks, clock.child, clock);
  }

  /** What is on record of the time from `from` to `now`. */
  before(recording: Recording | undefined, child: ExecId, from: number, now: number): StillSoFar {
    if (recording === undefined || from >= now) return NOT_YET;
    const below = (this.recorded ??= byChild(recordedWaits(recording))).get(child) ?? [];
    return { ms: lengthOf(below, from, now), isOpen: below.some(({ until }) => until === undefined) };
  }
}

/** The executions whose askers must wait: that which stands still, and those above it. */
function concerned({ execId, isOwn }: Pick<Still, "execId" | "isOwn">): readonly string[] {
  const ids: string[] = [execId];
  if (isOwn === true) return ids;
  for (let at = execId.lastIndexOf("/"); at > 0; at = execId.lastIndexOf("/", at - 1))
    ids.push(execId.slice(0, at));
  return ids;
}

function byChild(waits: readonly Interval[]): Map<string, Interval[]> {
  const found = new Map<string, Interval[]>();
  for (const wait of waits)
    for (const child of concerned(wait)) {
      const known = found.get(child);
      if (known === undefined) found.set(child, [wait]);
      else known.push(wait);
    }
  return found;
}

function insert<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

/** Returns whether it was there. */
function remove<T>(sets: Map<string, Set<T>>, key: string, value: T): boolean {
  const set = sets.get(key);
  if (set?.delete(value) !== true) return false;
  if (set.size === 0) sets.delete(key);
  return true;
}
