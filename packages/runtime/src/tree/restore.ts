import type { JournalRecord, RunId, Supervision } from "@ravi/kernel";
import { isHire, type Recording, SPEND } from "../engine/recording.ts";
import { Accounts } from "./accounts.ts";
import { hiresIn } from "./recorded-hires.ts";
import { restoreAccounts, type Sources } from "./restore-accounts.ts";
import { restoreLedgers } from "./restore-ledgers.ts";
import { restoreSeats } from "./restore-seats.ts";
import type { Answer } from "./signals.ts";
import { endsWithOpenCalls, spendsOf } from "./spends.ts";
import type { Tree } from "./tree.ts";

/**
 * Puts seats, money, accounts and doubts of a resumed run back to where they were. It is done before any of its agents starts:
 * otherwise an agent that catches up early could spend money that another one has spent before the crash.
 */
export async function restoreTree(tree: Tree, recording: Recording): Promise<void> {
  const hires = hiresIn(recording);
  const spends = [...spendsOf(recording)];
  const repeats = begunAgain(recording);
  await restoreSeats(tree, recording, hires);
  await restoreLedgers(tree, recording, hires.all, spends);
  restoreAccounts(tree, recording, { hires: hires.all, spends, repeats });
  restoreDoubts(tree.inDoubt, recording, { repeats, spends });
}

/**
 * Who has worked in a run on record, and which of its calls are in doubt. While a process has the run, what is set aside for its open calls
 * counts as spent, but not as wasted.
 */
export function readAccounts(
  runId: RunId,
  root: Supervision,
  recording: Recording,
  isHeld: boolean,
): { readonly accounts: Accounts; readonly inDoubt: ReadonlySet<string> } {
  const accounts = new Accounts(true);
  const inDoubt = new Set<string>();
  const repeats = begunAgain(recording);
  const spends = [...spendsOf(recording)].map((each) =>
    isHeld && each.isOpen ? { ...each, spend: { ...each.spend, waste: 0 } } : each,
  );
  const sources = { hires: hiresIn(recording).all, spends, repeats };
  restoreAccounts({ runId, root, accounts }, recording, sources);
  restoreDoubts(inDoubt, recording, isHeld ? { repeats, spends: [] } : sources);
  return { accounts, inDoubt };
}

/** Marks answers that the run has read before, so that they are not delivered again. Called before the journal is asked for new ones. */
export function markReadAnswers(tree: Tree, recording: Recording): void {
  for (const { key, phase, body } of recording.records) {
    if (phase === "note" && (key.startsWith("wait:") || key.startsWith("gate:"))) {
      tree.signals.markRead((body["value"] as Answer).id);
    }
  }
}

/** Calls that may have been paid for twice, or whose price is not known because nobody waited for them. */
function restoreDoubts(
  inDoubt: Set<string>,
  recording: Recording,
  { repeats, spends }: Pick<Sources, "repeats" | "spends">,
): void {
  for (const { exec, key, attempt } of repeats) {
    if (recording.of(exec).isDoubtful(key, attempt)) inDoubt.add(`${exec}:${key}`);
  }
  // A tool whose model was being called stays in doubt, whatever somebody decides on it: what that call has cost is not known.
  for (const { exec, key, isNested, isOpen } of spends) if (isNested && isOpen) inDoubt.add(`${exec}:${key}`);
  for (const { exec, key } of endsWithOpenCalls(recording)) inDoubt.add(`${exec}:${key}`);
}

/** The begin entries of every attempt at a call beyond its first. A hire is no call: its child continues where it was. */
function begunAgain({ records }: Recording): readonly JournalRecord[] {
  return records.filter(
    (record) =>
      record.phase === "begin" && record.attempt > 1 && !record.key.startsWith(SPEND) && !isHire(record),
  );
}
