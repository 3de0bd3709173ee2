/** Waits until the time is up or the signal aborts. Removes its listener, since the signal may live far longer. */
export async function pause(
  ms: number,
  signal: AbortSignal,
  { unref = false }: { /** Do not keep the process up. */ readonly unref?: boolean } = {},
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const timer = setTimeout(wake, ms);
  if (unref) timer.unref();
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
