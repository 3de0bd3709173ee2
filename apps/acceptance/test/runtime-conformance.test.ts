import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Journal } from "@ravi/kernel";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime, SqliteJournal, wallClock } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import {
  describeRuntime,
  type RuntimeCaps,
  type RuntimeHouse,
  type RuntimeUnderTest,
} from "@ravi/testing/suites";

// The suite that every runtime passes, with the caps that a composition really hands over.

const caps: RuntimeCaps = {
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  meter: new ModelMeter({ prices: { scripted: { input: 1_000, output: 1_000 } } }),
};

/** Runtimes of this process on one store. A crash cuts a runtime off from it, and by the next one's clock its claims lapse. */
function house(open: (clock: { now(): number }) => Journal, leave: () => void = () => {}): RuntimeHouse {
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
      const runtime = new Runtime({ ...setup, journal, clock });
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
      leave();
    },
  };
}

describeRuntime("in process, in memory", () => house((clock) => new MemoryJournal({ clock })), caps);

describeRuntime(
  "in process, on SQLite",
  () => {
    const directory = mkdtempSync(join(tmpdir(), "ravi-conformance-"));
    const leave = (): void => rmSync(directory, { recursive: true, force: true });
    return house((clock) => SqliteJournal.open(directory, { clock }), leave);
  },
  caps,
);
