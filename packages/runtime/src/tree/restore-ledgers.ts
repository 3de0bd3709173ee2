import { ExecId, type ExecutionBudgetOptions, type Ledger } from "@ravi/kernel";
import { textAt } from "../engine/body.ts";
import type { Recording } from "../engine/recording.ts";
import type { RecordedHire } from "./recorded-hires.ts";
import { raisesOf, type SpendOnRecord } from "./spends.ts";
import type { Tree } from "./tree.ts";

/**
 * Gives every hire that has not ended its ledger, raised and charged as it was. What an ended one has spent is charged to the ledger
 * of the nearest parent that has not ended.
 */
export async function restoreLedgers(
  tree: Tree,
  recording: Recording,
  hires: readonly RecordedHire[],
  spends: readonly SpendOnRecord[],
): Promise<void> {
  if (tree.ledger === undefined) return;
  const ledgers = makeLedgers(tree, tree.ledger, hires);
  for (const { exec, more } of raisesOf(recording)) {
    tree.grant(more);
    await ledgers.get(exec)?.raise?.(more);
  }
  for (const { exec, spend, willRepeat } of spends) {
    if (willRepeat) continue;
    const { tokens = 0, cost = 0, turns = 0, toolCalls = 0, largest } = spend;
    // A ledger learns from the largest call what the next one may cost. Calls of an ended hire say nothing about its parent's.
    const isOwn = exec === ExecId(tree.runId) || tree.restored.ledgers.has(exec);
    // `charge` and not `reserve`: it was paid, so it counts even if it is beyond a limit.
    await ledgers.get(exec)?.charge({ tokens, cost, turns, toolCalls }, { largest: isOwn ? largest : null });
  }
}

/** The ledger that each execution of the run is charged to. */
function makeLedgers(
  { runId, restored }: Tree,
  root: Ledger,
  hires: readonly RecordedHire[],
): ReadonlyMap<ExecId, Ledger> {
  const ledgers = new Map<ExecId, Ledger>([[ExecId(runId), root]]);
  for (const { execId, begin, end } of hires) {
    const parent = ledgers.get(begin.exec);
    if (parent === undefined) continue;
    if (end !== undefined) {
      ledgers.set(execId, parent);
      continue;
    }
    const budget = (begin.body["budget"] ?? {}) as ExecutionBudgetOptions;
    const ledger = parent.child(budget, textAt(begin.body, "agentId"));
    ledgers.set(execId, ledger);
    restored.ledgers.set(execId, ledger);
  }
  return ledgers;
}
