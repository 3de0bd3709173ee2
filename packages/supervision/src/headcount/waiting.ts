import { cancellationOf, type AbortSignalLike } from "@ravi/kernel";
import { onAbort } from "@ravi/kernel/loop";
import type { Seat, Waiter } from "./seat.ts";

/**
 * Resolves when the waiting seat gets a slot; rejects when it is dropped without one or the signal aborts. After an abort, `leave` is
 * called to remove the seat. In each case the listeners on the seat and the signal are removed.
 */
export function granted(
  seat: Seat,
  signal: AbortSignalLike | undefined,
  leave: () => void = noop,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let unlisten = noop;
    const waiter: Waiter = {
      granted() {
        unlisten();
        resolve();
      },
      dropped(error) {
        unlisten();
        reject(error);
      },
    };
    const abort = (): void => {
      seat.waiters = seat.waiters?.filter((other) => other !== waiter);
      if (signal !== undefined) reject(cancellationOf(signal));
      leave();
    };
    seat.waiters ??= [];
    seat.waiters.push(waiter);
    if (signal !== undefined) unlisten = onAbort(signal, abort);
  });
}

function noop(): void {}
