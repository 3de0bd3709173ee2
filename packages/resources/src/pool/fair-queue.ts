import { Priority } from "@ravi/kernel";

/** Somebody who waits: a place in the line of its priority, which it can leave at any time. */
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
  /** The virtual time at which its first may start. */
  start: number;
}

/**
 * Start-time fair queueing over the five priorities. Each line has a virtual start time, which moves on by cost / weight with
 * each turn that it gets; the line with the earliest goes first. So lines that all have somebody waiting share 8 : 4 : 2 : 1 by
 * cost, an idle line saves nothing up, and within a line it is first come, first served. BACKGROUND weighs nothing and
 * goes when all others are empty, until its first has waited `agingMs`: then the line takes part with the weight of LOW.
 * Every operation takes the same time, however many wait.
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
    // Who comes to an empty line starts now: the time in which nobody asked is not owed to it.
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

  /** Who is next, as of now. It stays in line. */
  peek(now: number): Place<T> | undefined {
    let best: Line<T> | undefined;
    let background: Place<T> | undefined;
    for (const line of this.lines) {
      if (line.first === undefined) continue;
      if (line.priority === Priority.BACKGROUND && now - line.first.since < this.agingMs) {
        background = line.first;
        continue;
      }
      // At the same start the heavier line goes first; the lines stand from light to heavy.
      if (best === undefined || line.start <= best.start) best = line;
    }
    return best?.first ?? background;
  }

  /** Takes out the one that `peek` gave, and charges its line for it. */
  serve(place: Place<T>): void {
    const { line } = place;
    this.leave(place);
    this.virtual = Math.max(this.virtual, line.start);
    line.start = this.virtual + place.cost / line.weight;
  }

  /** Takes out one that no longer waits; its line is charged nothing. */
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
