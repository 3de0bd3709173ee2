import { Priority } from "@ravi/kernel";

/** A waiting entry in the line of its priority. It can leave at any time. */
export interface Place<T> {
  readonly value: T;
  readonly since: number;
  readonly cost: number;
  readonly line: Line<T>;
  previous: Place<T> | undefined;
  next: Place<T> | undefined;
  isWaiting: boolean;
}

interface Line<T> {
  readonly priority: Priority;
  readonly weight: number;
  first: Place<T> | undefined;
  last: Place<T> | undefined;
  /** The virtual time at which its first entry may start. */
  start: number;
}

/**
 * Start-time fair queueing over the five priorities. Each line has a virtual start time; serving an entry advances it by cost / weight, and
 * the line with the earliest start time is served first. So lines with waiting entries share 8 : 4 : 2 : 1 by cost, an idle line does not
 * save up credit, and each line is first come, first served. BACKGROUND is served only if all other lines are empty, until its first entry
 * has waited `agingMs` milliseconds: then the line takes part with the weight of LOW. Every operation is O(1).
 */
export class FairQueue<T> {
  private readonly lines: readonly Line<T>[];
  private readonly agingMs: number;
  private virtual = 0;
  private waiting = 0;

  constructor(agingMs: number) {
    this.agingMs = agingMs;
    this.lines = Object.values(Priority).map((priority) => ({
      priority,
      weight: Math.max(1, priority),
      first: undefined,
      last: undefined,
      start: 0,
    }));
  }

  get size(): number {
    return this.waiting;
  }

  add(value: T, priority: Priority, cost: number, now: number): Place<T> {
    const line = this.lines.find((one) => one.priority === priority);
    if (line === undefined) throw new RangeError(`no line for priority ${String(priority)}`);
    // A line that was empty starts now: it gets no credit for the time in which nobody waited in it.
    if (line.first === undefined) line.start = Math.max(line.start, this.virtual);
    const place: Place<T> = {
      value,
      since: now,
      cost,
      line,
      previous: line.last,
      next: undefined,
      isWaiting: true,
    };
    if (line.last === undefined) line.first = place;
    else line.last.next = place;
    line.last = place;
    this.waiting++;
    return place;
  }

  /** The next entry to serve, which stays in its line. */
  peek(now: number): Place<T> | undefined {
    let best: Line<T> | undefined;
    let background: Place<T> | undefined;
    for (const line of this.lines) {
      if (line.first === undefined) continue;
      if (line.priority === Priority.BACKGROUND && now - line.first.since < this.agingMs) {
        background = line.first;
        continue;
      }
      // If two lines start at the same time, the heavier one goes first; `lines` is sorted from light to heavy.
      if (best === undefined || line.start <= best.start) best = line;
    }
    return best?.first ?? background;
  }

  /** Removes the entry that `peek` returned and charges its line. */
  serve(place: Place<T>): void {
    const { line } = place;
    this.leave(place);
    this.virtual = Math.max(this.virtual, line.start);
    line.start = this.virtual + place.cost / line.weight;
  }

  /** Removes an entry that no longer waits; its line is not charged. */
  leave(place: Place<T>): void {
    if (!place.isWaiting) return;
    place.isWaiting = false;
    const { line, previous, next } = place;
    if (previous === undefined) line.first = next;
    else previous.next = next;
    if (next === undefined) line.last = previous;
    else next.previous = previous;
    place.previous = undefined;
    place.next = undefined;
    this.waiting--;
  }
}
