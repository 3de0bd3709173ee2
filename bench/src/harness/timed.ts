/** How long a process warms up and measures. Slow subjects need more than a second before they run as fast as they can. */
export const WARM_MS = Number(process.env["WARM_MS"] ?? 2_000);
export const MEASURE_MS = Number(process.env["MEASURE_MS"] ?? 500);

/**
 * Microseconds of one run, one after the other, in a process that is warm. Garbage is not collected in between: while no run is
 * alive, that takes the hidden classes of all their objects away, and with them the code that was compiled for them. It never
 * happens just then by itself.
 */
export async function perRun(run: () => Promise<unknown>): Promise<number> {
  await spend(run, WARM_MS);
  return spend(run, MEASURE_MS);
}

async function spend(run: () => Promise<unknown>, milliseconds: number): Promise<number> {
  const start = performance.now();
  let runs = 0;
  do {
    await run();
    runs++;
  } while (performance.now() - start < milliseconds || runs < 3);
  return ((performance.now() - start) * 1_000) / runs;
}
