import { type AgentId, ExecId, type JournalRecord, Priority } from "@ravi/kernel";
import { cutOffOf } from "@ravi/kernel/loop";
import { accountStatus, type HireBegin, restoreOutcome } from "../engine/hire-record.ts";
import { attemptOf, isModelCall, type Recording } from "../engine/recording.ts";
import type { Account, Accounts } from "./accounts.ts";
import { ByStep } from "./by-step.ts";
import type { RecordedHire } from "./recorded-hires.ts";
import { mayBeSent, wasSent, type SpendOnRecord } from "./spends.ts";
import type { Tree } from "./tree.ts";

/** The tree whose accounts are restored, or what stands for it where no agent runs. */
export type Restorable = Pick<Tree, "runId" | "root" | "accounts"> & {
  unclaimedHires?: Tree["unclaimedHires"];
};

/** What the accounts are restored from. */
export interface Sources {
  readonly hires: readonly RecordedHire[];
  readonly spends: readonly SpendOnRecord[];
  /** The begin entries of every attempt at an effect beyond its first. */
  readonly repeats: readonly JournalRecord[];
}

/** Restores who has worked in the run, what each has used, and how each ended. */
export function restoreAccounts(
  tree: Restorable,
  recording: Recording,
  { hires, spends, repeats }: Sources,
): void {
  openAccounts(tree, hires);
  chargeSpends(tree.accounts, spends);
  if (repeats.length === 0) return;
  const ends = new Map(
    recording.records.flatMap((each) => (each.phase === "end" ? [[attemptOf(each), each]] : [])),
  );
  for (const begin of repeats)
    if (mayBeSent(ends.get(attemptOf(begin)))) countRepeat(tree.accounts.find(begin.exec), begin, recording);
}

function openAccounts(tree: Restorable, hires: readonly RecordedHire[]): void {
  const { accounts, root } = tree;
  accounts.open(root.agentId, ExecId(tree.runId), root.priority);
  const unclaimedHires = (tree.unclaimedHires = new Map<ExecId, AgentId>());
  const over = new Set<ExecId>();
  for (const { execId, begin, end } of hires) {
    const { agentId, parentId, priority } = begin.body as HireBegin;
    const account = accounts.open(agentId, execId, priority ?? Priority.NORMAL);
    account.parent = parentId;
    // A hire without an end, whose parent has ended, was cancelled with it.
    const isCancelled = end === undefined && over.has(begin.exec);
    if (end !== undefined) {
      const outcome = restoreOutcome(end.body);
      account.status = accountStatus(outcome);
      account.cutOff = cutOffOf(outcome);
    } else if (isCancelled) account.status = "cancelled";
    if (end !== undefined || isCancelled) over.add(execId);
    else unclaimedHires.set(execId, agentId);
  }
}

/** For a call whose end is not on record, what was set aside counts as spent. */
function chargeSpends(accounts: Accounts, spends: readonly SpendOnRecord[]): void {
  const called = new ByStep<true>();
  for (const spent of spends) {
    const { exec, spend, isNested } = spent;
    const { usage, toolCalls = 0, retries = 0, waste = 0, cost = 0 } = spend;
    const account = accounts.find(exec);
    if (account === undefined) continue;
    account.toolCalls += toolCalls;
    account.retries += retries;
    // A model call counts once, however many attempts at it are on record.
    if (!isNested && isModelCall(spent) && wasSent(spend) && called.get(spent) === undefined) {
      called.set(spent, true);
      account.modelCalls++;
    }
    if (usage !== undefined) account.charge(usage, spend.priced === true ? cost : null, waste);
  }
}

function countRepeat(account: Account | undefined, begin: JournalRecord, recording: Recording): void {
  const { exec, key, attempt } = begin;
  if (account === undefined || !recording.of(exec).isRepeat(key, attempt)) return;
  account.retries++;
  // `chargeSpends` has counted a tool call with each of its attempts.
  if (!isModelCall(begin)) account.toolCalls--;
}
