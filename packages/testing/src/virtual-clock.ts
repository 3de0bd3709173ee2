import { checkFields, checkInteger, type Clock, InvalidValueError, type TimerHandle } from "@ravi/kernel";

/** A clock for tests, whose time moves only by `advance` and `runAll`. */
export interface VirtualClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
  /** The number of timers that have not fired. It should be 0 at the end of a test. */
  readonly pending: number;
  /**
   * Moves the time forward by `ms`. Timers that fall due fire in order, and promises settle in between. If a callback throws it
   * rejects, and the time stays at that timer. A second call waits for the first one.
   */
  advance(ms: number): Promise<void>;
  /** Moves from timer to timer until none is left. Rejects after `most` timers (default: 10,000). */
  runAll(most?: number): Promise<void>;
}

interface Waiting {
  readonly at: number;
  readonly callback: () => void;
}

/** Creates a clock whose time moves only when a test moves it. `now` is the start, in epoch milliseconds (default: 0). */
export function virtualClock(options: { readonly now?: number | undefined } = {}): VirtualClock {
  checkFields("virtualClock", options, ["now"]);
  let time = checkTime("now", options.now ?? 0);
  let turn: Promise<void> = Promise.resolve();
  const waiting = new Set<Waiting>();

  /** The earliest timer that is due by then; of several at the same time, the one that was set first. */
  const next = (until: number): Waiting | undefined => {
    let first: Waiting | undefined;
    for (const timer of waiting) {
      if (timer.at > until) continue;
      // The set is in the order of setting, so only an earlier time takes precedence.
      if (first === undefined || timer.at < first.at) first = timer;
    }
    return first;
  };
  const fire = async (timer: Waiting): Promise<void> => {
    waiting.delete(timer);
    time = timer.at;
    timer.callback();
    await settle();
  };
  const inTurn = (move: () => Promise<void>): Promise<void> => {
    const moved = turn.then(move);
    turn = moved.catch(() => {});
    return moved;
  };

  return {
    now: () => time,
    setTimer(callback, delayMs) {
      const timer = { at: time + Math.max(0, checkTime("delayMs", delayMs)), callback };
      waiting.add(timer);
      return { cancel: () => void waiting.delete(timer) };
    },
    get pending() {
      return waiting.size;
    },
    async advance(ms) {
      if (checkTime("ms", ms) < 0) {
        throw new InvalidValueError({
          field: "ms",
          value: ms,
          expected: "0 or more: the clock cannot go back",
        });
      }
      return inTurn(async () => {
        const until = time + ms;
        await settle();
        for (let timer = next(until); timer !== undefined; timer = next(until)) await fire(timer);
        time = until;
      });
    },
    async runAll(most = 10_000) {
      checkInteger("most", most, 0);
      return inTurn(async () => {
        await settle();
        for (let fired = 0, timer = next(Infinity); timer !== undefined; timer = next(Infinity)) {
          if (++fired > most) {
            const expected = `at most ${most}; either something keeps starting timers, or runAll(most) needs a higher limit`;
            throw new InvalidValueError({ field: "the number of timers that fired", value: fired, expected });
          }
          await fire(timer);
        }
      });
    },
  };
}

/** A delay of NaN or Infinity would fire at once on a real clock, so it is refused as a mistake. */
function checkTime(field: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw new InvalidValueError({ field, value, expected: "a finite number of milliseconds" });
}

// Taken when this file is loaded, because the fake timers of a test runner may replace it later.
const nextTurn = setImmediate;

/** Lets all chains of promises settle: a turn of the event loop comes after all microtasks. */
function settle(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}
