import { type AbortSignalLike, cancellationOf, type Clock, type TimerHandle } from "@ravi/kernel";
import { type Linked, LinkedList, onAbort, type TimerClock, withTimers } from "@ravi/kernel/loop";
import type { Account } from "./account.ts";
import type { HeldReservation } from "./reservation.ts";
import { findRefusal, mayFitLater } from "./parts/chain.ts";
import { refusalError } from "./parts/refusal.ts";

/**
 * The longest time that a call waits while its line does not move, in milliseconds: as long as clients wait for an answer. A reservation
 * that nobody closes must not hold others for ever.
 */
const LONGEST_WAIT_MS = 600_000;

/** Those that wait for the same ledger. */
export class Line extends LinkedList<Waiter> {
  /** When one of them last got what it waited for. */
  movedAt = -Infinity;
}

export interface WaitOptions {
  readonly wrapUp: boolean;
  readonly signal: AbortSignalLike | undefined;
  readonly clock: Clock;
  readonly onTurn: (() => void) | undefined;
}

/**
 * A call that waits until it fits into the whole chain, which may be when open calls give back what they have not used. It is refused as
 * soon as that cannot happen any more. Each ledger has a line of those that it has no room for: first come, first served, however large
 * the first one is, because letting smaller ones pass would starve it.
 */
export class Waiter implements Linked<Waiter> {
  before: Waiter | undefined;
  after: Waiter | undefined;
  private readonly account: Account;
  private readonly wanted: HeldReservation;
  private readonly wrapUp: boolean;
  private readonly outcome = Promise.withResolvers<HeldReservation>();
  private readonly signal: AbortSignalLike | undefined;
  private readonly onTurn: (() => void) | undefined;
  private readonly clock: TimerClock;
  private readonly since: number;
  private timer: TimerHandle;
  private readonly unlisten: (() => void) | undefined;
  /** The ledger in whose line it stands; undefined before and after. */
  private refusedBy: Account | undefined;

  constructor(account: Account, wanted: HeldReservation, { wrapUp, signal, clock, onTurn }: WaitOptions) {
    if (signal?.aborted === true) throw cancellationOf(signal);
    this.account = account;
    this.wanted = wanted;
    this.wrapUp = wrapUp;
    this.signal = signal;
    this.onTurn = onTurn;
    this.clock = withTimers(clock, globalThis);
    this.since = this.clock.now();
    this.timer = this.timeOutAfter(LONGEST_WAIT_MS);
    this.unlisten = signal && onAbort(signal, () => this.giveUp(cancellationOf(signal)));
  }

  /** Waits, at first for the ledger that has refused it. */
  wait(refusedBy: Account): Promise<HeldReservation> {
    this.join(refusedBy);
    return this.outcome.promise;
  }

  /** Tries again. Returns whether it goes on waiting in the same line. */
  tryAgain(): boolean {
    const { account, wanted, wrapUp, signal, refusedBy } = this;
    const refusal = findRefusal(account, wanted, wrapUp);
    if (signal?.aborted === true) {
      // Its own listener is called after that of the one that has just given up, if they share a signal.
      this.leave();
      this.outcome.reject(cancellationOf(signal));
    } else if (refusal === undefined) {
      this.leave();
      if (this.take() && refusedBy?.line !== undefined) refusedBy.line.movedAt = this.clock.now();
    } else if (!mayFitLater(account, wanted, wrapUp)) {
      this.leave();
      this.outcome.reject(refusalError(refusal, wanted));
    } else if (refusal.account === refusedBy) {
      return true;
    } else {
      this.refusedBy?.line?.delete(this);
      this.join(refusal.account);
    }
    return false;
  }

  /** Returns whether it keeps what it takes. */
  private take(): boolean {
    const { wanted } = this;
    wanted.open();
    try {
      this.onTurn?.();
    } catch (error) {
      wanted.takeBack();
      this.outcome.reject(error);
      return false;
    }
    this.outcome.resolve(wanted);
    return true;
  }

  private join(account: Account): void {
    this.refusedBy = account;
    (account.line ??= new Line()).add(this);
  }

  private timeOutAfter(ms: number): TimerHandle {
    return this.clock.setTimer(() => this.timeOut(), ms);
  }

  private timeOut(): void {
    const { account, wanted, wrapUp, since, refusedBy } = this;
    // Not less than 0, if the clock was put back.
    const idleMs = Math.max(0, this.clock.now() - Math.max(since, refusedBy?.line?.movedAt ?? since));
    if (idleMs < LONGEST_WAIT_MS) {
      this.timer = this.timeOutAfter(LONGEST_WAIT_MS - idleMs);
      return;
    }
    const refusal = findRefusal(account, wanted, wrapUp);
    if (refusal === undefined) this.tryAgain();
    else this.giveUp(refusalError(refusal, wanted));
  }

  /** Leaves the line. Those behind it try again, since they may be smaller. */
  private giveUp(error: unknown): void {
    const { refusedBy } = this;
    if (refusedBy === undefined) return;
    this.leave();
    this.outcome.reject(error);
    serve(refusedBy);
  }

  private leave(): void {
    this.refusedBy?.line?.delete(this);
    this.refusedBy = undefined;
    this.timer.cancel();
    this.unlisten?.();
  }
}

/** Lets those try again that wait in the lines of a ledger and of all above it: they may have more room than before. */
export function serveLines(account: Account): void {
  for (let at: Account | undefined = account; at !== undefined; at = at.parent)
    if (at.line !== undefined) serve(at);
}

function serve({ line }: Account): void {
  while (line?.first?.tryAgain() === false);
}
