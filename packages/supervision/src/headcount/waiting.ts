import { cancellationOf, type AbortSignalLike } from "@ravi/kernel";
import type { Seat, Waiter } from "./seat.ts";

/**
 * Resolves when the waiting seat gets its slot, rejects when it leaves without one or the signal aborts. `onAbort` then
 * says what the abort does to the seat. In any case nothing stays behind on the seat or the signal.
 */
export function granted(
  seat: Seat,
  signal: AbortSignalLike | undefined,
  onAbort: () => void = noop,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      granted() {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      dropped(error) {
        signal?.removeEventListener("abort", abort);
        reject(error);
      },
    };
    const abort = (): void => {
      seat.waiters = seat.waiters?.filter((other) => other !== waiter);
      if (signal !== undefined) reject(cancellationOf(signal));
      onAbort();
    };
    seat.waiters ??= [];
    seat.waiters.push(waiter);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function noop(): void {}
