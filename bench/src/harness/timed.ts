import { collect } from "./memory.ts";

/** How long a process warms up and measures. Slow subjects need more than a second before they run as fast as they can. */
export const WARM_MS = Number(process.env["WARM_MS"] ?? 2_000);
export const MEASURE_MS = Number(process.env["MEASURE_MS"] ?? 500);

/** Microseconds of one run, one after the other, in a process that is warm. */
export async function perRun(run: () => Promise<unknown>): Promise<number> {
  await spend(run, WARM_MS);
  collect();
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
