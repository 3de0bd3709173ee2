import type { ExecId } from "@ravi/kernel";
import type { AskClock } from "../tree/ask-clocks.ts";
import { CATCH_UP_MS } from "./deadline.ts";
import type { InProcessEngine } from "./in-process.ts";

/** Whose time it is. */
export interface Asking {
  readonly child: ExecId;
  readonly timeoutMs: number;
  /** When the time is up, if the child never stands still. Epoch milliseconds. */
  readonly until: number;
}

/**
 * How long a parent waits for a child. The time in which the child, or anyone below it, waits for an answer from outside or for money does
 * not count, nor does the time in which the child has no seat, or no process has the run: none of them can hurry.
 */
export class AskTimer implements AskClock {
  before: AskClock | undefined;
  after: AskClock | undefined;
  readonly child: ExecId;
  due = Infinity;
  private readonly engine: InProcessEngine;
  private readonly until: number;
  private readonly onLate: () => void;
  /** How much of the time did not count, without what does not count now. */
  private stillMs: number;
  /** How many stand still now. */
  private standing = 0;
  private since = 0;
  /** Up to here, `stillMs` has everything. */
  private countedTo: number;
  private readonly wasOpen: boolean;

  constructor(engine: InProcessEngine, { child, timeoutMs, until }: Asking, onLate: () => void) {
    const { tree, clock } = engine;
    this.engine = engine;
    this.child = child;
    this.until = until;
    this.onLate = onLate;
    this.countedTo = clock.now();
    const { ms, isOpen } = tree.askClocks.before(tree.recording, child, until - timeoutMs, this.countedTo);
    this.stillMs = ms;
    this.wasOpen = isOpen;
  }

  /** When the time is up, as far as that is known. */
  get deadline(): number {
    return this.until + this.stillMs;
  }

  /** Throws if the clock has no timers. */
  start(): void {
    const { engine, wasOpen } = this;
    engine.tree.askClocks.add(this);
    // A child that waited for an answer when the run broke off has to get there again first.
    this.watch(this.countedTo, wasOpen ? CATCH_UP_MS : 0);
  }

  cancel(): void {
    this.engine.tree.askClocks.delete(this);
  }

  stand(since: number): void {
    const start = Math.max(since, this.countedTo);
    this.since = this.standing++ === 0 ? start : Math.min(this.since, start);
  }

  go(): void {
    if (--this.standing > 0) return;
    const now = this.engine.clock.now();
    this.stillMs += Math.max(0, now - this.since);
    this.countedTo = now;
    // Also if its time is up: who is late is cut off by the timer, since a callback that throws must not stop the others' clocks, nor be
    // thrown at whoever has answered.
    this.due = Math.max(now, this.deadline);
    this.engine.tree.askClocks.watch(this);
  }

  check(now: number): void {
    this.watch(now);
  }

  private watch(now: number, leastMs = 0): void {
    this.due = Infinity;
    // `go` watches on.
    if (this.standing > 0) return;
    const left = Math.max(this.deadline - now, leastMs);
    if (!(left > 0)) return this.onLate();
    this.due = now + left;
    this.engine.tree.askClocks.watch(this);
  }
}
