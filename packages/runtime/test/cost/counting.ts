import { getHeapStatistics } from "node:v8";
import { createHook } from "node:async_hooks";

/**
 * How many promises are made while it runs. Every `await` counts as one more: with this hook the engine makes the promise that
 * it otherwise spares. So it is an upper bound that does not depend on the machine.
 */
export async function promisesOf(run: () => Promise<unknown>): Promise<number> {
  let promises = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") promises++;
    },
  }).enable();
  try {
    await run();
  } finally {
    hook.disable();
  }
  return promises;
}

/** How many times the queue of microtasks goes round while it runs: the promises that were waited for one after the other. */
export async function ticksOf(run: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  let isOver = false;
  const tick = (): void => {
    if (isOver) return;
    ticks++;
    queueMicrotask(tick);
  };
  queueMicrotask(tick);
  await run();
  isOver = true;
  return ticks;
}

/** What one turn adds, and what a run takes beside its turns: by runs of two lengths. */
export async function perTurn(
  count: (turns: number) => Promise<number>,
): Promise<{ readonly turn: number; readonly run: number }> {
  const [few, many] = [10, 60];
  // The first run of a kind makes what is made once, and the second of a process what is kept while there are no runs.
  await count(few);
  await count(few);
  const [short, long] = [await count(few), await count(many)];
  const turn = (long - short) / (many - few);
  return { turn, run: short - few * turn };
}

const AT_ONCE = 20;

/**
 * Bytes that it allocates, whether or not they are garbage by its end. They are counted by the page, so many runs are looked at
 * together; and the least of some rounds counts, as an engine that has not compiled a function yet makes objects that it spares
 * later.
 */
export async function bytesOf(run: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 20; round++) {
    const before = allocated();
    for (let n = 0; n < AT_ONCE; n++) await run();
    least = Math.min(least, allocated() - before);
  }
  return least / AT_ONCE;
}

function allocated(): number {
  // Not in the types yet.
  const { total_allocated_bytes: bytes } = getHeapStatistics() as { readonly total_allocated_bytes?: number };
  if (bytes === undefined) throw new Error("this needs a Node that counts what it allocates (26 does)");
  return bytes;
}
