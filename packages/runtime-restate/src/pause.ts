/** Until the time is up, or nobody needs it any more. The signal may live far longer, so it is left as it was. */
export async function pause(
  ms: number,
  signal: AbortSignal,
  { isAside = false }: { /** No reason for the process to stay. */ readonly isAside?: boolean } = {},
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const timer = setTimeout(wake, ms);
  if (isAside) timer.unref();
  signal.addEventListener("abort", wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
