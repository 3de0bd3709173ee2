/** Milliseconds of warm-up and of measuring. Slow subjects need more than a second before they reach full speed. */
export const WARM_MS = Number(process.env["WARM_MS"] ?? 2_000);
export const MEASURE_MS = Number(process.env["MEASURE_MS"] ?? 500);

/**
 * Microseconds per run, one after the other, in a warmed-up process. Garbage is not collected in between: `bench idle` measures
 * what that costs.
 */
export async function perRun(run: () => Promise<unknown>): Promise<number> {
  await spend(run, WARM_MS);
  return spend(run, MEASURE_MS);
}

/** Microseconds per run, over at least so many milliseconds. */
export async function spend(run: () => Promise<unknown>, milliseconds: number): Promise<number> {
  const start = performance.now();
  let runs = 0;
  do {
    await run();
    runs++;
  } while (performance.now() - start < milliseconds || runs < 3);
  return ((performance.now() - start) * 1_000) / runs;
}
