import type { Ingress, Target } from "../ingress.ts";

/** How long one poll waits for an answer. */
const POLL_TIMEOUT_MS = 5_000;

/** The pause between two polls, in milliseconds: short at first, then longer while nothing changes. */
export function pollDelay(polls: number): number {
  return Math.min(500, 5 * 2 ** polls);
}

/** Calls with a time limit and tries again: a call that went to a dead worker would wait too long; the next goes to another one. */
export async function poll<T>(
  ingress: Ingress,
  target: Target,
  what: unknown,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    const late = AbortSignal.timeout(POLL_TIMEOUT_MS);
    try {
      return await ingress.call<T>(target, what, AbortSignal.any([signal, late]));
    } catch (error) {
      if (signal.aborted || !late.aborted) throw error;
    }
  }
}
