import {
  type AgentId,
  ExecId,
  type ExecutionBudgetOptions,
  type JournalRecord,
  type Ledger,
} from "@ravi/kernel";
import { textAt } from "../engine/body.ts";
import { accountStatus, type HireBegin, restoreOutcome } from "../engine/hire-record.ts";
import { type Recording, SPEND } from "../engine/recording.ts";
import { SeatReplay } from "./seat-replay.ts";
import type { Answer } from "./signals.ts";
import { hasGoneOut, leftBehind, raisesOf, spendsOf } from "./spends.ts";
import type { Tree } from "./tree.ts";

/**
 * Puts money and seats back to where they were, before any agent of a resumed run moves: otherwise a branch that catches up
 * faster than its sister could spend what the other has spent already.
 */
export async function restoreTree(tree: Tree, recording: Recording): Promise<void> {
  await restoreSeats(tree, recording);
  await restoreLedgers(tree, recording);
  restoreAccounts(tree, recording);
  for (const { exec, key, attempt } of begunAgain(recording)) {
    // Made more than once by an earlier process: it stays in doubt.
    if (recording.of(exec).isDoubtful(key, attempt)) tree.inDoubt.add(`${exec}:${key}`);
  }
  for (const { exec, key } of leftBehind(recording)) tree.inDoubt.add(`${exec}:${key}`);
}

/** What was delivered and read before is not delivered again. To be called before anything is looked for. */
export function markReadAnswers(tree: Tree, recording: Recording): void {
  for (const { key, phase, body } of recording.records) {
    if (phase === "note" && (key.startsWith("wait:") || key.startsWith("gate:"))) {
      tree.signals.markRead((body["value"] as Answer).id);
    }
  }
}

interface Hired {
  readonly execId: ExecId;
  readonly begin: JournalRecord;
  readonly isOver: boolean;
}

function hiresOf(recording: Recording): Hired[] {
  const over = new Set(
    recording.records.filter(({ key, phase }) => isHire(key) && phase === "end").map(idOf),
  );
  const begun = recording.records.filter(({ key, phase }) => isHire(key) && phase === "begin");
  return begun.map((begin) => ({ execId: idOf(begin), begin, isOver: over.has(idOf(begin)) }));
}

function isHire(key: string): boolean {
  return key.startsWith("hire:");
}

function isUnseated({ key, phase, body }: JournalRecord): boolean {
  return isHire(key) && phase === "end" && body["unseated"] === true;
}

function idOf({ exec, key }: JournalRecord): ExecId {
  return ExecId(exec, key);
}

async function restoreSeats(tree: Tree, recording: Recording): Promise<void> {
  const { headcount } = tree;
  if (headcount === undefined) return;
  const replay = new SeatReplay(headcount);
  /** Whom nobody permitted, or who found no seat: none is looked for now, as it would count for the whole run. */
  const unseated = new Set(recording.records.filter(isUnseated).map(idOf));
  for (const record of recording.records) {
    if (!isHire(record.key)) continue;
    const execId = idOf(record);
    if (unseated.has(execId)) continue;
    if (record.phase === "begin") await replay.begin(execId, record, !recording.of(execId).isCaughtUp);
    else await replay.end(execId);
  }
  for (const execId of replay.seated.keys()) tree.restored.seats.add(execId);
}

/** Living executions get their ledgers now; what others have spent counts in the nearest one above them. */
async function restoreLedgers(tree: Tree, recording: Recording): Promise<void> {
  const { ledger: root } = tree;
  if (root === undefined) return;
  const ledgers = new Map<ExecId, Ledger>([[ExecId(tree.runId), root]]);
  for (const { execId, begin, isOver } of hiresOf(recording)) {
    const above = ledgers.get(begin.exec);
    if (above === undefined) continue;
    if (isOver) {
      ledgers.set(execId, above);
      continue;
    }
    const ledger = above.child(
      (begin.body["budget"] ?? {}) as ExecutionBudgetOptions,
      textAt(begin.body, "agentId"),
    );
    ledgers.set(execId, ledger);
    tree.restored.ledgers.set(execId, ledger);
  }
  for (const { exec, more } of raisesOf(recording)) {
    tree.grant(more);
    await ledgers.get(exec)?.raise?.(more);
  }
  for (const { exec, spend, isToCome } of spendsOf(recording)) {
    if (isToCome) continue;
    const ledger = ledgers.get(exec);
    const { tokens = 0, cost = 0, turns = 0, toolCalls = 0, largest } = spend;
    // A call of somebody who is over is none of whoever has its money now.
    const isOwn = exec === ExecId(tree.runId) || tree.restored.ledgers.has(exec);
    // What was paid is counted, also where it has passed a limit.
    await ledger?.charge({ tokens, cost, turns, toolCalls }, { largest: isOwn ? largest : null });
  }
}

/** Who has used what before this process. What was set aside for a call in doubt counts, and is waste. */
function restoreAccounts(tree: Tree, recording: Recording): void {
  openAccounts(tree, recording);
  endAccounts(tree, recording);
  chargeAccounts(tree, recording);
}

function openAccounts(tree: Tree, recording: Recording): void {
  const { accounts, root } = tree;
  accounts.open(root.agentId, ExecId(tree.runId), root.priority);
  const unasked = (tree.unasked = new Map<ExecId, AgentId>());
  const over = new Set<ExecId>();
  for (const { execId, begin, isOver } of hiresOf(recording)) {
    const { agentId, parentId, priority } = begin.body as HireBegin;
    const account = accounts.open(agentId, execId, priority ?? root.priority);
    account.parent = parentId;
    const isLost = over.has(begin.exec);
    if (isOver || isLost) over.add(execId);
    else unasked.set(execId, agentId);
    if (isLost) account.status = "cancelled";
  }
}

function endAccounts({ accounts }: Tree, recording: Recording): void {
  for (const record of recording.records) {
    // Whom a child has hired is not asked about again where the child's own end is on record.
    const account = isHire(record.key) && record.phase === "end" ? accounts.find(idOf(record)) : undefined;
    if (account !== undefined) account.status = accountStatus(restoreOutcome(record.body));
  }
}

function chargeAccounts({ accounts }: Tree, recording: Recording): void {
  const called = new Set<string>();
  for (const { exec, key, spend, isInside } of spendsOf(recording)) {
    const { usage, toolCalls = 0, retries = 0, waste = 0, cost = 0 } = spend;
    const account = accounts.find(exec);
    if (account === undefined) continue;
    account.toolCalls += toolCalls;
    account.retries += retries;
    const call = `${exec}\n${key}`;
    if (!isInside && MODEL_CALL.test(key) && hasGoneOut(spend) && !called.has(call)) {
      called.add(call);
      account.modelCalls++;
    }
    if (usage !== undefined) account.charge(usage, spend.priced === true ? cost : null, waste);
  }
  for (const { exec, key, attempt } of begunAgain(recording)) {
    const account = accounts.find(exec);
    if (account === undefined || !recording.of(exec).isRepeat(key, attempt)) continue;
    account.retries++;
    // A tool that was called again was counted with each begin.
    if (!MODEL_CALL.test(key)) account.toolCalls--;
  }
}

function begunAgain({ records }: Recording): readonly JournalRecord[] {
  return records.filter(
    ({ phase, attempt, key }) => phase === "begin" && attempt > 1 && !key.startsWith(SPEND),
  );
}

const MODEL_CALL = /^(llm|compact):/;
