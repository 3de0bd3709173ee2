import { Priority } from "@ravi/kernel";
import { type Linked, LinkedList } from "@ravi/kernel/loop";

/** A waiting entry in the line of its priority. It can leave at any time. */
export interface Place<T> extends Linked<Place<T>> {
  readonly value: T;
  readonly since: number;
  readonly cost: number;
  readonly line: Line<T>;
  isWaiting: boolean;
}

interface Line<T> {
  readonly priority: Priority;
  readonly weight: number;
  readonly places: LinkedList<Place<T>>;
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
      places: new LinkedList(),
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
    if (line.places.isEmpty) line.start = Math.max(line.start, this.virtual);
    const place: Place<T> = {
      value,
      since: now,
      cost,
      line,
      before: undefined,
      after: undefined,
      isWaiting: true,
    };
    line.places.add(place);
    this.waiting++;
    return place;
  }

  /** The next entry to serve, which stays in its line. */
  peek(now: number): Place<T> | undefined {
    let best: Line<T> | undefined;
    let background: Place<T> | undefined;
    for (const line of this.lines) {
      const { first } = line.places;
      if (first === undefined) continue;
      if (line.priority === Priority.BACKGROUND && now - first.since < this.agingMs) {
        background = first;
        continue;
      }
      // If two lines start at the same time, the heavier one goes first; `lines` is sorted from light to heavy.
      if (best === undefined || line.start <= best.start) best = line;
    }
    return best?.places.first ?? background;
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
    place.line.places.delete(place);
    this.waiting--;
  }
}
