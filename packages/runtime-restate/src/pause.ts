import { setTimeout } from "node:timers/promises";

/** Waits until the time is up or the signal aborts. */
export async function pause(
  ms: number,
  signal: AbortSignal,
  { unref = false }: { /** Do not keep the process up. */ readonly unref?: boolean } = {},
): Promise<void> {
  // It rejects only when the signal aborts.
  await setTimeout(ms, undefined, { signal, ref: !unref }).catch(() => {});
}
