import { cancellationOf, type AbortSignalLike } from "@ravi/kernel";
import { onAbort } from "@ravi/kernel/loop";
import type { Member, Waiter } from "../member.ts";

/**
 * Resolves when the waiting member gets a slot; rejects when it is dropped without one or the signal aborts. After an abort, `leave` is
 * called to remove the member. In each case the listeners on the member and the signal are removed.
 */
export function granted(
  member: Member,
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
    member.waiters ??= [];
    member.waiters.push(waiter);
    if (signal === undefined) return;
    try {
      unlisten = onAbort(signal, () => {
        member.waiters = member.waiters?.filter((other) => other !== waiter);
        reject(cancellationOf(signal));
        leave();
      });
    } catch (error) {
      // It cannot be listened to. A slot that nobody asked for would be lost for good.
      member.waiters = member.waiters.filter((other) => other !== waiter);
      leave();
      throw error;
    }
  });
}

function noop(): void {}
