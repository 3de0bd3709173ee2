import {
  ExecId,
  type InboxMessage,
  type JournalRecord,
  type JsonObject,
  type RunId,
  type SerializedError,
} from "@ravi/kernel";
import { RUN_STATUS } from "../journal/run-facts.ts";
import { isNotAStep, WITHDRAWN } from "./recording.ts";

/** The status of a run that had failed and is continued from now on. */
export const RETRIED: JsonObject = Object.freeze({ status: "running", retried: true });

/**
 * The entries of a run as they count if it was continued after it had failed. What was recorded before is then taken as if the calls that
 * it failed with had not ended yet. `isRetried`: it is to be continued now, and the entry that says so is still to be written.
 */
export function afterRetries(
  runId: RunId,
  records: readonly JournalRecord[],
  isRetried: boolean,
): readonly JournalRecord[] {
  const last = records.findLastIndex(({ key, body }) => key === RUN_STATUS && body["retried"] === true);
  const counted =
    last === -1
      ? records
      : [
          ...withoutFailures(runId, afterRetries(runId, records.slice(0, last), false)),
          ...records.slice(last),
        ];
  return isRetried ? withoutFailures(runId, counted) : counted;
}

const MODEL_CALL = /^(llm|compact):/;

/**
 * Leaves out why a run has failed: of each execution that has failed, the model calls and hires that failed last, after which its agent
 * began nothing else. So they are made again, and what they have cost stays charged. A failure that the agent has seen and gone on after
 * stays, since it would do otherwise now; so does that of a tool, which may have done its work.
 */
function withoutFailures(runId: RunId, records: readonly JournalRecord[]): readonly JournalRecord[] {
  const status = records.findLast(({ key }) => key === RUN_STATUS);
  /** From where on the notes of each of these executions no longer count. */
  const over = new Map<ExecId, number>();
  const again = new Set<JournalRecord>();
  const left: Failed[] = [{ exec: ExecId(runId), end: status }];
  for (const one of left) {
    const { failures, from } = failuresOf(one, records);
    over.set(one.exec, overFrom(one, from, failures, records));
    for (const record of failures) {
      again.add(record);
      if (isHire(record)) left.push({ exec: ExecId(record.exec, record.key), end: record });
    }
  }
  const hires = new Set([...again].filter(isHire).map(stepOf));
  return records.flatMap((record, at): readonly JournalRecord[] => {
    const { exec, key, phase, body, attempt } = record;
    if (again.has(record))
      return isHire(record) ? [] : [{ ...record, body: { ...WITHDRAWN, spend: body["spend"] } }];
    // Its child continues, and its next end must differ from the one that is on record.
    if (phase === "begin" && hires.has(stepOf(record))) return [{ ...record, attempt: attempt + 1 }];
    // What the agent recorded after the failure it may not ask for again. If it does, it is recorded as another attempt.
    const isOver = phase === "note" && at > (over.get(exec) ?? Infinity) && !isNotAStep(key);
    return isOver ? [{ ...record, phase: "end", body: WITHDRAWN }] : [record];
  });
}

/** An execution that has failed or was stopped, and the entry that says so: the run's status, or the end of its hire. */
interface Failed {
  readonly exec: ExecId;
  readonly end: JournalRecord | undefined;
}

function failuresOf(
  { exec, end }: Failed,
  records: readonly JournalRecord[],
): { readonly failures: readonly JournalRecord[]; readonly from: number } {
  const error = errorIn(end);
  const isOwn = (record: JournalRecord): boolean => record.exec === exec;
  const from = records.findLastIndex((record) => isOwn(record) && record.phase === "begin");
  const failures = records.filter((record, at) => at > from && isOwn(record) && isFailure(record));
  if (!failures.some((record) => isSame(errorIn(record), error))) {
    // It may have failed with a child that ended while others were being hired.
    const lastCall = records.findLastIndex(
      (record) => isOwn(record) && record.phase === "begin" && !isHire(record),
    );
    const isCause = (record: JournalRecord, at: number): boolean =>
      at > lastCall && isOwn(record) && isFailure(record) && isSame(errorIn(record), error);
    const cause = records.findLast(isCause);
    if (cause !== undefined) failures.push(cause);
  }
  return { failures, from };
}

/**
 * After a failed model call, or else after its last call, an agent may record other facts than before. One that was stopped was still to
 * go on, unless something had failed. Nor is anything forgotten up to the last word with the agent that hired it: who has a reply does
 * not ask again.
 */
function overFrom(
  { exec, end }: Failed,
  from: number,
  failures: readonly JournalRecord[],
  records: readonly JournalRecord[],
): number {
  const call = failures.find((record) => !isHire(record));
  if (call !== undefined) return records.indexOf(call);
  if (end === undefined || !isHire(end)) return from;
  const failed = isStopped(end) ? failures.find((record) => !isStopped(record)) : undefined;
  if (isStopped(end) && failed === undefined) return Infinity;
  const isTalk = (record: JournalRecord): boolean => record.exec === exec && isAsked(record, end.exec);
  return Math.max(failed === undefined ? from : records.indexOf(failed), records.findLastIndex(isTalk));
}

function isStopped({ body }: JournalRecord): boolean {
  return body["status"] === "cancelled";
}

/** Whether it notes that a question of that agent was read, or replied to. */
function isAsked({ key, body }: JournalRecord, by: ExecId): boolean {
  const question = `${by}:ask:`;
  if (key.startsWith(`reply:${question}`)) return true;
  const read = key.startsWith("inbox#") ? (body["value"] as InboxMessage | null) : null;
  return read?.id.startsWith(question) === true;
}

/** Whether it is the end of a model call or a hire that failed. */
function isFailure(record: JournalRecord): boolean {
  const { key, phase, body } = record;
  if (phase !== "end") return false;
  if (MODEL_CALL.test(key)) return body["error"] !== undefined;
  return isHire(record) && errorIn(record) !== undefined;
}

function isHire({ key }: JournalRecord): boolean {
  return key.startsWith("hire:");
}

/** An error as it is recorded: the run's, a call's or a child's. */
function errorIn(record: JournalRecord | undefined): SerializedError | undefined {
  return (record?.body["error"] ?? record?.body["failure"]) as SerializedError | undefined;
}

function isSame(one: SerializedError | undefined, other: SerializedError | undefined): boolean {
  return one?.code === other?.code && one?.message === other?.message;
}

function stepOf({ exec, key }: JournalRecord): string {
  return `${exec}\n${key}`;
}
