import type { Journal } from "@ravi/kernel";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime, type RuntimeOptions, wallClock } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import type { RuntimeCaps, RuntimeHouse, RuntimeSetup, RuntimeUnderTest } from "@ravi/testing/suites";

// What the suite of runtimes needs to try those of one process.

/** The caps that a composition really hands over. */
export const caps: RuntimeCaps = {
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  meter: new ModelMeter({ prices: { scripted: { input: 1_000, output: 1_000 } } }),
};

interface HouseOptions<J> {
  readonly open: (clock: { now(): number }) => J;
  /** Default: a `Runtime` with that setup. */
  readonly create?: (
    setup: RuntimeSetup,
    own: Required<Pick<RuntimeOptions, "journal" | "clock">>,
  ) => RuntimeUnderTest;
  readonly leave?: () => void;
}

/** Runtimes of this process on one store. A crash cuts a runtime off from it, and by the next one's clock its claims lapse. */
export function house<J extends Journal>({ open, create = plain, leave }: HouseOptions<J>): RuntimeHouse {
  let ahead = 0;
  const clock = { ...wallClock, now: () => Date.now() + ahead };
  const store = open(clock);
  const cuts = new Map<RuntimeUnderTest, () => void>();
  return {
    create(setup) {
      const line = { isCut: false };
      const journal = new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...args: unknown[]): unknown =>
            line.isCut ? new Promise(() => {}) : Reflect.apply(value, target, args);
        },
      });
      const runtime = create(setup, { journal, clock });
      cuts.set(runtime, () => (line.isCut = true));
      return runtime;
    },
    crash(runtime) {
      cuts.get(runtime)?.();
      ahead += 60_000;
    },
    async close() {
      for (const runtime of cuts.keys()) void runtime.close();
      await store.close();
      leave?.();
    },
  };
}

const plain: NonNullable<HouseOptions<Journal>["create"]> = (setup, own) => new Runtime({ ...setup, ...own });
