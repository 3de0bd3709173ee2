import {
  type InvalidValueError,
  isRaviError,
  type Journal,
  type JournalRecord,
  type JsonObject,
  type MaybePromise,
  type RunId,
  type RunResult,
  type RunSummary,
  Supervision,
  type RecordedCall,
  type RunHolder,
  type RunReport,
} from "@ravi/kernel";
import { runLimits } from "@ravi/kernel/loop";
import { keepersIn, keepersOf } from "./keepers.ts";
import { replayedBill, substituteIn } from "../context/model-record.ts";
import { textAt } from "../engine/body.ts";
import { attemptOf, Recording } from "../engine/recording.ts";
import { afterRetries } from "../engine/retried.ts";
import { wholeRecords } from "../journal/entries/with-blobs.ts";
import { isOwnerGone, lockedBy } from "../journal/parts/owner.ts";
import { listedReason, errorIn, WITH_ERROR } from "../journal/facts/reasons.ts";
import { summaryOf } from "../journal/facts/recorded-status.ts";
import { RUN_START, RUN_STATUS } from "../journal/facts/run-facts.ts";
import { waitsOnRecord } from "../journal/facts/waits-on-record.ts";
import { isEnded } from "../journal/retention.ts";
import { totalOf } from "../tree/accounts.ts";
import { readAccounts } from "../tree/restore.ts";
import { NOTHING_SPENT, plus, raisesOf } from "../tree/spends.ts";
import { recordedResult } from "./result-record.ts";
import { wrongRun } from "./run-driver.ts";

/** Reads what is on record of a run. Throws an `InvalidValueError` if it is not in the journal, or has not begun. */
export async function inspectRun(journal: Journal, runId: RunId): Promise<RunReport> {
  // Asked first, and again of a run that was resumed since: one that ends meanwhile, or begins, would look as if its process had been
  // killed.
  const holder = await holderOf(journal, runId);
  const summary = await summaryOf(journal, runId);
  if (summary === undefined) throw wrongRun(runId, "the id of a run in the journal");
  const heldBy = holder ?? (summary.status === "running" ? await holderOf(journal, runId) : undefined);
  // Without what was recorded since, so that all fields tell of the same moment.
  const records = wholeRecords(runId, await journal.load(runId)).slice(0, summary.entries);
  const recording = new Recording(afterRetries(runId, records));
  const start = recording.aboutRun(RUN_START)?.body;
  if (start === undefined) throw notBegun(summary, heldBy ?? (await holderOf(journal, runId)));
  const root = Supervision.fromJSON(start["supervision"]);
  const status = recording.aboutRun(RUN_STATUS);
  const result = status && recordedResult(runId, status.body, undefined);
  const granted = [...raisesOf(recording)].reduce((sum, { more }) => plus(sum, more), NOTHING_SPENT);
  return {
    ...summary,
    ...(await reasonsOf(journal, summary, records.at(-1))),
    ...(await waitsOf(journal, summary, records)),
    input: textAt(start, "input"),
    ...(heldBy !== undefined && { heldBy }),
    limits: runLimits(
      root,
      result?.limits === undefined ? keepersIn(start) : keepersOf(result.limits),
      granted,
    ),
    calls: callsIn(recording, result !== undefined),
    ...(result === undefined ? soFar(root, recording, summary, heldBy !== undefined) : endOf(result)),
  };
}

/** Before its start a run has neither an agent nor an input on record, so there is nothing to report. */
function notBegun({ runId, status, entries }: RunSummary, holder: RunHolder | undefined): InvalidValueError {
  const why =
    entries > 0
      ? `this one is ${status}, and its start is not on record`
      : holder === undefined
        ? "this one was claimed, and its process ended before its start was on record, so nothing was done; run it again with the same runId"
        : `${holder.owner} has claimed this one, and its start is not on record yet`;
  return wrongRun(runId, `a run that has begun: ${why}`);
}

/** From the record: not every journal tells it in its summaries. */
async function reasonsOf(
  journal: Journal,
  { runId, status, error: listed, cancelReason: told }: RunSummary,
  last: JournalRecord | undefined,
): Promise<Pick<RunSummary, "error" | "cancelReason">> {
  const error = listed ?? (last && WITH_ERROR.includes(status) ? errorIn(runId, last) : undefined);
  const cancelReason = told ?? (isEnded(status) ? undefined : await postedReason(journal, runId));
  return { ...(error && { error }), ...(cancelReason !== undefined && { cancelReason }) };
}

/** From the record too, and as far as it can be read. */
async function waitsOf(
  journal: Journal,
  { runId, waitingFor: listed }: RunSummary,
  records: readonly JournalRecord[],
): Promise<Pick<RunSummary, "waitingFor">> {
  const waitingFor = listed ?? (await unlessDamaged(() => waitsOnRecord(journal, runId, records)));
  return waitingFor === undefined ? {} : { waitingFor };
}

async function postedReason(journal: Journal, runId: RunId): Promise<string | undefined> {
  const items = await unlessDamaged(() => journal.items(runId, 0));
  const cancel = items?.find(({ kind }) => kind === "cancel");
  return cancel && listedReason(cancel.value);
}

/** A run of which a post is damaged can be shown, and resumed. */
async function unlessDamaged<T>(read: () => MaybePromise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isRaviError(error, "JOURNAL_CORRUPT")) return undefined;
    throw error;
  }
}

type Accounted = Pick<RunReport, "usage" | "cost" | "agents" | "inDoubt" | "result">;

function endOf(result: RunResult): Accounted {
  const { usage, cost, agents = [], inDoubt = [] } = result;
  return { usage, cost, agents, inDoubt, result };
}

function soFar(
  root: Supervision,
  recording: Recording,
  { runId, status }: RunSummary,
  isHeld: boolean,
): Accounted {
  const { accounts, inDoubt } = readAccounts(runId, root, recording, isHeld);
  // The record says who has ended; whether the others are at work only the run can tell.
  for (const account of accounts.list) if (account.isLiving) account.status = status;
  return {
    ...totalOf(accounts.list),
    agents: accounts.list.map((account) => account.toJSON()),
    inDoubt: [...inDoubt],
  };
}

/** The process that has a run; undefined if none has it, or one that is certainly dead. */
export async function holderOf(journal: Journal, runId: RunId): Promise<RunHolder | undefined> {
  const claim = await journal.holder?.(runId);
  if (claim === undefined || isOwnerGone(claim.owner)) return undefined;
  const { owner = claim.owner, pid, host, expiresAt } = lockedBy(runId, claim);
  return { owner, pid, host, expiresAt };
}

const CALL = /^(?:(?<llm>llm|compact):(?<model>.*)#\d+|tool:.*)$/s;

/** Of a call that was made again, the newest attempt. What still waited when the run ended was never made. */
function callsIn({ records, waiting }: Recording, isOver: boolean): readonly RecordedCall[] {
  const ends = new Map<string, JournalRecord>();
  const begins = new Map<string, JournalRecord>();
  const unsent = new Set<JournalRecord>(isOver ? [] : waiting);
  const all = unsent.size === 0 ? records : [...records, ...unsent].toSorted((a, b) => a.seq - b.seq);
  for (const record of all) {
    if (!CALL.test(record.key)) continue;
    if (record.phase === "begin") begins.set(`${record.exec}\n${record.key}`, record);
    else if (record.phase === "end") ends.set(attemptOf(record), record);
  }
  return [...begins.values()].map((begin) =>
    unsent.has(begin)
      ? { ...callOf(begin, undefined), status: "waiting" }
      : callOf(begin, ends.get(attemptOf(begin))),
  );
}

function callOf(begin: JournalRecord, end: JournalRecord | undefined): RecordedCall {
  const { exec: execId, key, at: startedAt } = begin;
  const { llm, model = "" } = CALL.exec(key)?.groups ?? {};
  const kind = llm === undefined ? "tool" : "llm";
  const name = kind === "tool" ? textAt(begin.body, "tool") : modelName(model, end?.body);
  const call = { execId, key, kind, name, startedAt } as const;
  if (end === undefined) return { ...call, status: "open" };
  const { at: endedAt, body } = end;
  if (kind === "tool") {
    const isError = body["isError"] === true || body["error"] !== undefined;
    return { ...call, status: isError ? "error" : "ok", endedAt };
  }
  const { usage, costUsd } = replayedBill(body);
  return { ...call, status: body["response"] === undefined ? "error" : "ok", endedAt, usage, costUsd };
}

/** As hooks name it: the model that answered. */
function modelName(inKey: string, end: JsonObject | undefined): string {
  const substitute = end && substituteIn(end);
  return substitute === undefined ? inKey.replace("/", ":") : `${substitute.provider}:${substitute.model}`;
}
