import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HookEvent } from "@ravi/kernel";
import { HookEvent as events, HookManager } from "@ravi/hooks";
import { MiddlewarePipeline } from "@ravi/middleware";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions, SqliteJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";

// The three runtimes that are measured: `bare` has no options; `governed` has every rule switched on and its journal in memory;
// `durable` is the same with its journal on disk.

/** Limits that no run reaches, so that everything is counted and nothing refused. */
export const LIMITS = {
  executionBudget: { maxTokens: 1e12, maxCostUsd: 1e6, maxTurns: 1e9, maxToolCalls: 1e9 },
  spawnBudget: { maxAgents: 100_000, maxTotal: 1_000_000, maxDepth: 8 },
} as const;

const heard = { events: 0 };

/** A hook manager with a listener on each event. */
function listeners(): HookManager {
  const hooks = new HookManager();
  for (const event of Object.values<HookEvent>(events)) {
    hooks.on(event, () => {
      heard.events++;
    });
  }
  return hooks;
}

function governed(): Omit<RuntimeOptions, "journal"> {
  // A budget inside a budget: each run's own ledger also reserves from one shared account.
  const account = new ExecutionTracker({ maxCostUsd: 9e6 }, { scope: "account" });
  return {
    hooks: listeners(),
    meter: new ModelMeter({ prices: { fake: { input: 1, output: 4 } } }),
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { parent: account, scope: root.rootId }),
    pipelines: {
      agent: new MiddlewarePipeline([(_, next) => next()], { level: "agent" }),
      chat: new MiddlewarePipeline([(_, next) => next()], { level: "chat" }),
      function: new MiddlewarePipeline([(_, next) => next()], { level: "function" }),
    },
  };
}

/** The journal is in memory and keeps no finished run: other frameworks keep none either, and a benchmark makes millions. */
export function governedRuntime(): Runtime {
  return new Runtime({ ...governed(), journal: new MemoryJournal({ keepEnded: 0 }) });
}

export interface Durable {
  readonly folder: string;
  /** Creates a new runtime on the same journal. */
  readonly runtime: () => Runtime;
  /** The journal's size on disk in bytes. */
  readonly size: () => number;
  readonly close: () => Promise<void>;
}

/** Opens a SQLite journal in a new temporary folder. `close` removes the folder. */
export function durable(): Durable {
  const folder = mkdtempSync(join(tmpdir(), "ravi-bench-"));
  const journal = SqliteJournal.open(folder);
  return {
    folder,
    runtime: () => new Runtime({ ...governed(), journal }),
    size: () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
    async close() {
      await journal.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
