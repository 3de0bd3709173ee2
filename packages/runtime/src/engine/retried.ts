import {
  type AgentResult,
  ExecId,
  type Heard,
  type JournalRecord,
  type JsonObject,
  type JsonValue,
  type RunId,
  type SerializedError,
} from "@ravi/kernel";
import { RUN_START, RUN_STATUS } from "../journal/facts/run-facts.ts";
import { type CountedRecord, isHire, isModelCall, isNotAStep, stepOf, WITHDRAWN } from "./recording.ts";

/** The status of a run of which something had failed and that is continued from now on. */
export const RETRIED: JsonObject = Object.freeze({ status: "running", retried: true });

/**
 * In the begin of a hire that is made again: whether it had a seat before. Its parent then knows its child, and does not lose it if there is
 * no seat for it now.
 */
export const WAS_SEATED = "wasSeated";

/** In the begin of a hire whose parent did not wait for it, and sees how it ended only when it joins it. */
export const SPAWNED = "spawned";

/**
 * The entries of a run as they count if it was continued after it had failed. What was recorded before is then taken as if the calls that
 * it failed with had not ended yet. With `now` it is continued now, and the entry that says so is still to be written.
 */
export function afterRetries(
  runId: RunId,
  records: readonly JournalRecord[],
  now?: number,
): readonly CountedRecord[] {
  const last = records.findLastIndex(({ key, body }) => key === RUN_STATUS && body["retried"] === true);
  const retried = records[last];
  const counted =
    retried === undefined
      ? records
      : [...afterRetries(runId, records.slice(0, last), retried.at), ...records.slice(last)];
  return now === undefined ? counted : withoutFailures(runId, counted, now);
}

/**
 * Leaves out why a run has failed: of each execution that has failed, the model calls and hires that failed last, after which its agent
 * began nothing else. So they are made again, and what they have cost stays charged. A failure that the agent has seen and gone on after
 * stays, since it would do otherwise now; so does that of a tool, which may have done its work.
 */
function withoutFailures(
  runId: RunId,
  records: readonly CountedRecord[],
  now: number,
): readonly CountedRecord[] {
  const status = records.findLast(({ key }) => key === RUN_STATUS);
  const pausedMs = Math.max(0, now - (status?.at ?? now));
  const deadline = timeIn(records.find(({ key }) => key === RUN_START)?.body["deadline"]);
  const failed = new Map<ExecId, Failures>();
  const again = new Set<JournalRecord>();
  const entries = Map.groupBy(Array.from(records, placed), ({ record }) => record.exec);
  const left: Failed[] = [{ exec: ExecId(runId), error: errorIn(status) }];
  for (const { exec, error } of left) {
    const found = failuresIn(entries.get(exec) ?? [], error);
    failed.set(exec, found);
    for (const record of found.failures) {
      again.add(record);
      if (isHire(record)) left.push({ exec: ExecId(record.exec, record.key), error: errorIn(record) });
    }
  }
  const hires = new Map([...again].filter(isHire).map((end) => [stepOf(end), end]));
  const replied = new Set(records.filter(isReplied).map(questionOf));
  return records.flatMap((record, at): readonly CountedRecord[] => {
    const { exec, key, phase, body, attempt } = record;
    if (again.has(record))
      return isHire(record) ? [] : [{ ...record, body: { ...WITHDRAWN, spend: body["spend"] } }];
    const end = phase === "begin" ? hires.get(stepOf(record)) : undefined;
    if (end !== undefined) {
      // There may have been no seat when it was retried before.
      const wasSeated = body[WAS_SEATED] === true || end.body["unseated"] !== true;
      // Its child continues, and its next end must differ from the one that is on record.
      return [
        {
          ...record,
          attempt: attempt + 1,
          body: { ...withTimeLater(body, pausedMs, deadline), [WAS_SEATED]: wasSeated },
        },
      ];
    }
    const { from, over } = failed.get(exec) ?? NEVER;
    if (phase !== "note" || at < from || isNotAStep(key)) return [record];
    // What the agent recorded since it may not ask for again. After a failed model call it would be about something else: if the agent
    // does ask, it is recorded as another attempt. So is a question that a failed child has not replied to.
    const isOver = at > over || (QUESTION.test(key) && !replied.has(questionOf(record)));
    return [isOver ? { ...record, phase: "end", body: WITHDRAWN } : { ...record, isOptional: true }];
  });
}

/**
 * A hire whose time goes on where it stopped: none of it passes while the run has failed. The time of the run itself does. How long the
 * parent waits is counted by its clock, as for a run that was suspended.
 */
function withTimeLater(begin: JsonObject, ms: number, latest: number): JsonObject {
  const { deadline } = begin;
  return typeof deadline === "number" ? { ...begin, deadline: Math.min(deadline + ms, latest) } : begin;
}

/** Epoch milliseconds; infinity if there is no limit. */
function timeIn(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : Infinity;
}

/** Begins the key of a question to a child, and that of its time limit. */
const QUESTION = /^(?:asked:)?ask:/;

/** Names what is asked of a child, under either key. */
function questionOf({ exec, key }: JournalRecord): string {
  return stepOf({ exec, key: key.replace(QUESTION, "") });
}

function isReplied({ key, phase, body }: JournalRecord): boolean {
  return phase === "note" && key.startsWith("ask:") && "reply" in (body["value"] as Heard);
}

/** An execution of which something has failed, and the error that it failed with; undefined if it has part of its answer. */
interface Failed {
  readonly exec: ExecId;
  readonly error: SerializedError | undefined;
}

interface Failures {
  /** The ends of the calls and hires that it failed with; none if its own code failed. */
  readonly failures: readonly JournalRecord[];
  /** Where it began something for the last time. */
  readonly from: number;
  /** Where a model call of it failed; after everything if none did. */
  readonly over: number;
}

const NEVER = Object.freeze({ from: Infinity, over: Infinity });

/** An entry, and where it is in the whole record. */
interface Placed {
  readonly record: JournalRecord;
  readonly at: number;
}

function placed(record: JournalRecord, at: number): Placed {
  return { record, at };
}

/** `own` has all entries of the execution. */
function failuresIn(own: readonly Placed[], error: SerializedError | undefined): Failures {
  const { from, lastCall } = begunLast(own);
  const spawned = new Set(own.filter(isSpawned).map(({ record }) => record.key));
  const failures = own.filter(({ record, at }) => at > from && isFailure(record));
  if (error !== undefined && !failures.some(({ record }) => isSame(errorIn(record), error))) {
    // It may have failed with a child that ended while others were being hired, or that it had spawned, and joined after its last call.
    const isCause = ({ record, at }: Placed): boolean =>
      (at > lastCall || spawned.has(record.key)) && isFailure(record) && isSame(errorIn(record), error);
    const cause = own.findLast(isCause);
    if (cause !== undefined) failures.push(cause);
  }
  const call = failures.find(({ record }) => !isHire(record));
  return { failures: failures.map(({ record }) => record), from, over: call?.at ?? Infinity };
}

/**
 * Where an execution began something for the last time, and where something else than a hire. What it began before and makes again, as
 * after a crash, does not count: its agent need not have seen the failures in between.
 */
function begunLast(own: readonly Placed[]): { readonly from: number; readonly lastCall: number } {
  const known = new Set<string>();
  let [from, lastCall] = [-1, -1];
  for (const { record, at } of own) {
    const { key, phase } = record;
    if (phase !== "begin" || isNotAStep(key) || known.has(key)) continue;
    known.add(key);
    from = at;
    if (!isHire(record)) lastCall = at;
  }
  return { from, lastCall };
}

function isSpawned({ record: { phase, body } }: Placed): boolean {
  return phase === "begin" && body[SPAWNED] === true;
}

/** Whether it is the end of a model call or a hire that failed, or of a hire of which a part failed. */
function isFailure(record: JournalRecord): boolean {
  const { phase, body } = record;
  if (phase !== "end") return false;
  if (isModelCall(record)) return body["error"] !== undefined;
  return isHire(record) && (errorIn(record) !== undefined || hasFailedPart(body["result"]));
}

/** Whether a result is only part of an answer because something that it needed has failed, as that of a flow may be. */
function hasFailedPart(result: JsonValue | undefined): boolean {
  const { status, stopReason } = (result ?? {}) as Partial<AgentResult>;
  return status === "partial" && stopReason === "failed";
}

/** An error as it is recorded: the run's, a call's or a child's. */
function errorIn(record: JournalRecord | undefined): SerializedError | undefined {
  return (record?.body["error"] ?? record?.body["failure"]) as SerializedError | undefined;
}

function isSame(one: SerializedError | undefined, other: SerializedError | undefined): boolean {
  return one?.code === other?.code && one?.message === other?.message;
}
