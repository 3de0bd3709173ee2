import { checkFields, type Clock, type ExecutionBudgetOptions, InvalidValueError } from "@ravi/kernel";
import { readSnapshot } from "./snapshot.ts";
import { ExecutionTracker } from "./tracker.ts";

export interface RestoreLedgersOptions {
  readonly clock?: Clock | undefined;
  /** As in `ExecutionTracker.restore`, for all of them. */
  readonly open?: "charge" | "keep" | undefined;
  /** Other budgets than the recorded ones, by scope. */
  readonly budgets?: Readonly<Record<string, ExecutionBudgetOptions>> | undefined;
}

/**
 * A whole tree from the snapshots of its ledgers, in any order: each is put under the one whose scope it names. Scopes must
 * be unique in the tree, as execution ids are.
 */
export function restoreLedgers(
  snapshots: readonly unknown[],
  options: RestoreLedgersOptions = {},
): Map<string, ExecutionTracker> {
  checkFields("options", options, ["clock", "open", "budgets"] satisfies (keyof RestoreLedgersOptions)[]);
  const given: unknown = snapshots;
  if (!Array.isArray(given)) {
    throw new InvalidValueError({ field: "snapshots", value: given, expected: "a list of them" });
  }
  const waiting = new Map<string, { readonly parent: string | null; readonly snapshot: unknown }>();
  for (const snapshot of snapshots) {
    const { scope, parent } = readSnapshot(snapshot);
    if (waiting.has(scope)) {
      throw new InvalidValueError({ field: "snapshots", value: scope, expected: "each scope once" });
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
        found === undefined ? "a snapshot of this scope, which others spend from" : "no ledger above itself";
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
