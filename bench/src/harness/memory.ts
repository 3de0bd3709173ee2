import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";

/** Collects garbage if the process was started with `--expose-gc`. */
export function collect(): void {
  globalThis.gc?.();
}

/** Bytes of live heap. Collects twice, with a pause, because what the first collection finalises may free more. */
export async function liveHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("start node with --expose-gc to measure memory");
  collect();
  await sleep(50);
  collect();
  return process.memoryUsage().heapUsed;
}

/** Measures from now on how long the event loop was blocked. `p99` ends the measurement and returns milliseconds. */
export function eventLoopDelay(): { p99(): Promise<number> } {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  return {
    async p99() {
      // The histogram takes its last sample only when the loop is free again.
      await sleep(5);
      delay.disable();
      return delay.percentile(99) / 1e6;
    },
  };
}
