import { setTimeout } from "node:timers/promises";

/** Milliseconds before the next try. They grow because after a restart of the server all clients come at once. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_000] as const;

/** How long to wait before a request is sent again, after so many tries before. */
export function retryDelay(tries: number): number {
  return WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 1_000;
}

/** Waits until the time is up or the signal aborts. */
export async function pause(
  ms: number,
  signal: AbortSignal,
  { unref = false }: { /** Do not keep the process up. */ readonly unref?: boolean } = {},
): Promise<void> {
  // It rejects only when the signal aborts.
  await setTimeout(ms, undefined, { signal, ref: !unref }).catch(() => {});
}
