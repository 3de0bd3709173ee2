import { ExecId, type JournalRecord, type JsonObject, type RunId, type SerializedError } from "@ravi/kernel";
import { RUN_STATUS } from "../journal/run-facts.ts";
import { isNotAStep, SKIPPABLE, WITHDRAWN } from "./recording.ts";

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
  const failed = new Map<ExecId, Failures>();
  const again = new Set<JournalRecord>();
  const left: Failed[] = [{ exec: ExecId(runId), error: errorIn(status) }];
  for (const one of left) {
    const found = failuresOf(one, records);
    failed.set(one.exec, found);
    for (const record of found.failures) {
      again.add(record);
      if (isHire(record)) left.push({ exec: ExecId(record.exec, record.key), error: errorIn(record) });
    }
  }
  const hires = new Set([...again].filter(isHire).map(stepOf));
  return records.flatMap((record, at): readonly JournalRecord[] => {
    const { exec, key, phase, body, attempt } = record;
    if (again.has(record))
      return isHire(record) ? [] : [{ ...record, body: { ...WITHDRAWN, spend: body["spend"] } }];
    // Its child continues, and its next end must differ from the one that is on record.
    if (phase === "begin" && hires.has(stepOf(record))) return [{ ...record, attempt: attempt + 1 }];
    const { lastBegin = Infinity, failedCall = Infinity } = failed.get(exec) ?? {};
    if (phase !== "note" || at < lastBegin || isNotAStep(key)) return [record];
    // What the agent recorded last it may not ask for again. After a failed call it was about that failure; otherwise it still holds.
    return at > failedCall || isSilence(record)
      ? [{ ...record, phase: "end", body: WITHDRAWN }]
      : [{ ...record, body: { ...body, ...SKIPPABLE } }];
  });
}

/** An execution that has failed, and the error that it failed with. */
interface Failed {
  readonly exec: ExecId;
  readonly error: SerializedError | undefined;
}

interface Failures {
  /** The ends of the calls and hires that it failed with; none if its own code failed. */
  readonly failures: readonly JournalRecord[];
  /** The index of the last entry with which it began something. */
  readonly lastBegin: number;
  /** The index of the first end of a model call in `failures`. When its agent has seen that a child failed is not on record. */
  readonly failedCall: number;
}

function failuresOf({ exec, error }: Failed, records: readonly JournalRecord[]): Failures {
  const isOwn = (record: JournalRecord): boolean => record.exec === exec;
  const { lastBegin, lastCall } = begunLast(exec, records);
  const failures = records.filter((record, at) => at > lastBegin && isOwn(record) && isFailure(record));
  if (!failures.some((record) => isSame(errorIn(record), error))) {
    // It may have failed with a child that ended while others were being hired.
    const isCause = (record: JournalRecord, at: number): boolean =>
      at > lastCall && isOwn(record) && isFailure(record) && isSame(errorIn(record), error);
    const cause = records.findLast(isCause);
    if (cause !== undefined) failures.push(cause);
  }
  const failedCall = records.findIndex((record) => failures.includes(record) && !isHire(record));
  return { failures, lastBegin, failedCall: failedCall === -1 ? Infinity : failedCall };
}

/**
 * Where an execution has begun something for the last time, and where something else than a hire. What it began before and makes again, as
 * after a crash, does not count: its agent need not have seen the failures in between.
 */
function begunLast(
  exec: ExecId,
  records: readonly JournalRecord[],
): { readonly lastBegin: number; readonly lastCall: number } {
  const known = new Set<string>();
  let [lastBegin, lastCall] = [-1, -1];
  for (const [at, record] of records.entries()) {
    const { key, phase } = record;
    if (record.exec !== exec || phase !== "begin" || isNotAStep(key) || known.has(key)) continue;
    known.add(key);
    lastBegin = at;
    if (!isHire(record)) lastCall = at;
  }
  return { lastBegin, lastCall };
}

/** Whether it is the end of a model call or a hire that failed. */
function isFailure(record: JournalRecord): boolean {
  const { key, phase, body } = record;
  if (phase !== "end") return false;
  if (MODEL_CALL.test(key)) return body["error"] !== undefined;
  return isHire(record) && errorIn(record) !== undefined;
}

/** Whether it notes that a child ended without a reply. If that child goes on, it is asked again. */
function isSilence({ key, body }: JournalRecord): boolean {
  return (
    key.startsWith("ask:") && (body["value"] as { readonly ended?: boolean } | undefined)?.ended === true
  );
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
