import type { Journal } from "@ravi/kernel";
import { Runtime, wallClock } from "@ravi/runtime";
import type { RuntimeHouse, RuntimeUnderTest } from "@ravi/testing/suites";

/** Opens what survives; again after a crash, on the same place. */
export type OpenJournal = (clock: { now(): number }) => Journal;

/**
 * Runtimes of this process on one store. A crash cuts a runtime off from it: what it does from then on is written nowhere, and
 * half a minute later, by the clock of the next, its claims have lapsed.
 */
export function house(open: OpenJournal): RuntimeHouse {
  let ahead = 0;
  let left: (() => void)[] = [];
  const clock = { ...wallClock, now: () => Date.now() + ahead };
  const store = open(clock);
  const connections = new WeakMap<RuntimeUnderTest, () => void>();
  return {
    create(setup) {
      const line = { isCut: false };
      const journal = cuttable(store, line);
      const runtime = new Runtime({ ...setup, journal, clock });
      connections.set(runtime, () => (line.isCut = true));
      return runtime;
    },
    crash(runtime) {
      connections.get(runtime)?.();
      ahead += 60_000;
      left.push(() => void runtime.close());
    },
    async close() {
      for (const go of left) go();
      left = [];
      await store.close();
    },
  };
}

/** A journal that answers nothing any more when its line is cut. */
function cuttable(store: Journal, line: { readonly isCut: boolean }): Journal {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown =>
        line.isCut ? new Promise(() => {}) : Reflect.apply(value, target, args);
    },
  });
}
