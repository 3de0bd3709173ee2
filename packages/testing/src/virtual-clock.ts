import { checkInteger, type Clock, InvalidValueError, type TimerHandle } from "@ravi/kernel";

export interface VirtualClock extends Clock {
  setTimer(callback: () => void, delayMs: number): TimerHandle;
  /** How many timers are waiting. At the end of a test it should be 0. */
  readonly pending: number;
  /**
   * Moves the time on, firing what falls due in its order, and lets promises settle in between. A callback that throws makes
   * it reject, and the time stays at that timer. Called again before it is done, it takes its turn.
   */
  advance(ms: number): Promise<void>;
  /** Moves to the next timer, and so on, until none is left. Refuses to go on after `most` of them (10,000). */
  runAll(most?: number): Promise<void>;
}

interface Waiting {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that only moves when a test says so. */
export function virtualClock(options: { readonly now?: number | undefined } = {}): VirtualClock {
  let time = checkTime("now", options.now ?? 0);
  let turn: Promise<void> = Promise.resolve();
  const waiting = new Set<Waiting>();

  /** The earliest timer that is due by then; of several at one moment, the one that was set first. */
  const next = (until: number): Waiting | undefined => {
    let first: Waiting | undefined;
    for (const timer of waiting) {
      if (timer.at > until) continue;
      // The set is in the order of setting, so that only an earlier moment comes first.
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
        throw new InvalidValueError({ field: "ms", value: ms, expected: "0 or more: time does not go back" });
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
            const expected = `at most ${most}; something starts timers for ever, or give runAll a higher bound`;
            throw new InvalidValueError({ field: "the number of timers that fired", value: fired, expected });
          }
          await fire(timer);
        }
      });
    },
  };
}

/** A timer of NaN or Infinity ms would fire at once on a real clock, so it is a mistake here too. */
function checkTime(field: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw new InvalidValueError({ field, value, expected: "a finite number of milliseconds" });
}

// Taken when this file is loaded: a test runner's fake timers may replace it later.
const nextTurn = setImmediate;

/** Long enough for any chain of promises to run dry: a turn of the event loop comes after all microtasks. */
function settle(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}
