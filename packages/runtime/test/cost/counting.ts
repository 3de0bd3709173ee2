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
  // The first run of a kind makes what is made once.
  await count(few);
  const [short, long] = [await count(few), await count(many)];
  const turn = (long - short) / (many - few);
  return { turn, run: short - few * turn };
}
