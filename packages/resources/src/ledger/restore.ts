import { checkFields, type Clock, type ExecutionBudgetOptions, InvalidValueError } from "@ravi/kernel";
import { readSnapshot } from "./parts/snapshot.ts";
import { ExecutionTracker } from "./tracker.ts";

export interface RestoreLedgersOptions {
  /** For all restored ledgers. It dates their snapshots. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** As in `ExecutionTracker.restore`, for all ledgers. Default: "charge". */
  readonly open?: "charge" | "keep" | undefined;
  /** Budgets that replace the recorded ones, by scope. A scope without a snapshot is an error. */
  readonly budgets?: Readonly<Record<string, ExecutionBudgetOptions>> | undefined;
}

/**
 * Restores a whole tree from the snapshots of its ledgers, given in any order, and returns the ledgers by scope. Each ledger is put under
 * the one whose scope its snapshot names. Throws an `InvalidValueError` if a scope occurs twice or a parent is missing.
 */
export function restoreLedgers(
  snapshots: readonly unknown[],
  options: RestoreLedgersOptions = {},
): Map<string, ExecutionTracker> {
  checkFields("options", options, ["clock", "open", "budgets"] satisfies (keyof RestoreLedgersOptions)[]);
  const given: unknown = snapshots;
  if (!Array.isArray(given)) {
    throw new InvalidValueError({ field: "snapshots", value: given, expected: "an array of snapshots" });
  }
  const waiting = new Map<string, { readonly parent: string | null; readonly snapshot: unknown }>();
  for (const snapshot of snapshots) {
    const { scope, parent } = readSnapshot(snapshot);
    if (waiting.has(scope)) {
      throw new InvalidValueError({ field: "snapshots", value: scope, expected: "each scope only once" });
    }
    waiting.set(scope, { parent, snapshot });
  }
  for (const scope of Object.keys(options.budgets ?? {})) {
    if (waiting.has(scope)) continue;
    const expected = "the scope of one of the snapshots, so that no limit is lost";
    throw new InvalidValueError({ field: "budgets", value: scope, expected });
  }
  const restored = new Map<string, ExecutionTracker>();
  const restore = (scope: string, path: readonly string[]): ExecutionTracker => {
    const done = restored.get(scope);
    if (done !== undefined) return done;
    const found = waiting.get(scope);
    if (found === undefined || path.includes(scope)) {
      const problem =
        found === undefined
          ? "a snapshot of this scope, because another ledger spends from it"
          : "a ledger that is not its own ancestor";
      throw new InvalidValueError({ field: "snapshots", value: scope, expected: problem });
    }
    const tracker = ExecutionTracker.restore(found.snapshot, {
      parent: found.parent === null ? undefined : restore(found.parent, [...path, scope]),
      clock: options.clock,
      open: options.open,
      budget:
        options.budgets !== undefined && Object.hasOwn(options.budgets, scope)
          ? options.budgets[scope]
          : undefined,
    });
    restored.set(scope, tracker);
    return tracker;
  };
  for (const scope of waiting.keys()) restore(scope, []);
  return restored;
}
