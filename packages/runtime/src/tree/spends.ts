import {
  type CallNote,
  ExecId,
  type JournalRecord,
  type JsonObject,
  type Spend,
  type Usage,
} from "@ravi/kernel";
import { textAt } from "../engine/body.ts";
import { attemptOf, RAISE, type Recording, SPEND } from "../engine/recording.ts";

/** What a bill says, as it is on record. */
type RecordedSpend = Partial<Spend> &
  Contents & {
    readonly usage?: Usage;
    readonly priced?: boolean;
    readonly retries?: number;
    readonly waste?: number;
    /** The largest call in it, where it is the sum of several. */
    readonly largest?: Pick<Spend, "tokens" | "cost">;
  };

interface SpendOnRecord {
  readonly exec: ExecId;
  /** Of the effect. */
  readonly key: string;
  readonly spend: RecordedSpend;
  /** One of the calls inside of the effect, and not what counts as the effect. */
  readonly isInside: boolean;
  /**
   * A tool that was left open, and on which nobody has decided. It counts as one call with the attempt that comes after it: a run that
   * crashed must not come to its limit sooner than one that did not.
   */
  readonly isToCome: boolean;
}

/** The number of the call that an effect was begun for. */
const FIRST = 0;

/** What is on record as spent, and what was set aside for a call whose end is not: it may have been paid. */
export function* spendsOf(recording: Recording): Generator<SpendOnRecord> {
  const known = indexOf(recording);
  for (const record of recording.records) {
    const { exec, key, phase, body } = record;
    if (key.startsWith(SPEND)) yield* callInside(record, known);
    else if (phase === "begin") yield* leftOpen(record, known);
    else if (phase === "end" && body["spend"] !== undefined && !isDecided(record)) {
      yield { exec, key, spend: body["spend"] as RecordedSpend, isInside: false, isToCome: false };
    }
  }
}

interface Known {
  /** The ends of attempts at effects. */
  readonly ends: ReadonlyMap<string, JournalRecord>;
  /** Attempts that nobody makes again, as somebody has decided so. */
  readonly decided: ReadonlySet<string>;
  /** The newest that is on record of each call inside of one. */
  readonly notes: ReadonlyMap<string, JournalRecord>;
  /** The newest begin of each effect. */
  readonly begins: ReadonlyMap<string, JournalRecord>;
  /** Those who were hired and are over: nobody makes anything again that they, or those below them, have begun. */
  readonly over: ReadonlySet<string>;
}

function indexOf({ records }: Recording): Known {
  const ends = new Map<string, JournalRecord>();
  const notes = new Map<string, JournalRecord>();
  const begins = new Map<string, JournalRecord>();
  const decided = new Set<string>();
  const over = new Set<string>();
  for (const record of records) {
    const { exec, key, phase } = record;
    if (phase === "end" && key.startsWith("hire:")) over.add(ExecId(exec, key));
    if (record.key.startsWith(SPEND)) notes.set(attemptOf(record), record);
    else if (phase === "begin") begins.set(`${exec}\n${key}`, record);
    else if (record.phase === "end" && isDecided(record)) decided.add(attemptOf(record));
    else if (record.phase === "end") ends.set(attemptOf(record), record);
  }
  return { ends, notes, decided, begins, over };
}

function isOver(exec: ExecId, over: ReadonlySet<string>): boolean {
  if (over.size === 0) return false;
  for (let end = exec.length; end > 0; end = exec.lastIndexOf("/", end - 1))
    if (over.has(exec.slice(0, end))) return true;
  return false;
}

/** What somebody decided on after a crash stays charged as the crash has left it. */
function isDecided({ body }: JournalRecord): boolean {
  return body["decided"] === true;
}

/** A call inside of an effect, where the sum of the effect's end does not have it. */
function* callInside(record: JournalRecord, { ends, notes }: Known): Generator<SpendOnRecord> {
  const { exec, body } = record;
  const call = body["call"] as CallNote["call"];
  // The call that the effect was begun for is found with its begin.
  if (notes.get(attemptOf(record)) !== record || call === FIRST) return;
  const key = textAt(body, "of");
  const end = ends.get(attemptOf({ ...record, key }));
  if (end === undefined || !contains(end, call))
    yield { exec, key, spend: moneyIn(body), isInside: true, isToCome: false };
}

/** The call that an effect was begun for, where the effect has no end, or ended without waiting for it. */
function* leftOpen(record: JournalRecord, known: Known): Generator<SpendOnRecord> {
  const { ends, notes, decided, begins, over } = known;
  const { exec, key, body } = record;
  const end = ends.get(attemptOf(record));
  if (end !== undefined && billOf(end).open?.includes(FIRST) !== true) return;
  const note = notes.get(attemptOf({ ...record, key: `${SPEND}${key}#${FIRST}` }));
  // A tool sets nothing aside in its begin, and has been called all the same.
  const isTool = body["tool"] !== undefined;
  const spend = isTool ? ONE_TOOL_CALL : moneyIn((note ?? record).body);
  const isNewest = begins.get(`${exec}\n${key}`) === record;
  const isMade = decided.has(attemptOf(record)) || (isNewest && isOver(exec, over));
  const isToCome = isTool && end === undefined && !isMade;
  yield { exec, key, spend, isInside: end !== undefined, isToCome };
}

const ONE_TOOL_CALL: RecordedSpend = Object.freeze({ toolCalls: 1 });

/** What a call took; what was set aside for it, where that is not known. */
function moneyIn(body: JsonObject): RecordedSpend {
  return (body["spend"] ?? body["reserve"] ?? {}) as RecordedSpend;
}

/** What the bill of an end has in it: its calls up to that number, without those that were open when it was written. */
type Contents = {
  readonly calls?: number;
  readonly open?: readonly number[];
  /** How many of them were tries at the call itself. */
  readonly own?: number;
};

function billOf({ body }: JournalRecord): Contents {
  return (body["spend"] ?? {}) as Contents;
}

function contains(end: JournalRecord, call: number): boolean {
  const { calls = 0, open = [] } = billOf(end);
  return call <= calls && !open.includes(call);
}

/** Whether the agent's own call was sent, and not only what layers asked a model inside of it. One that a cache answered was not. */
export function hasGoneOut({ own, turns, open = [] }: RecordedSpend): boolean {
  if (own !== undefined) return own > 0;
  // Its only call is its own: on record as not sent after all, or not.
  return turns !== 0 || open.length > 0;
}

/** Effects that ended while calls of theirs were not answered, where it is still not known what those took. */
export function* leftBehind(recording: Recording): Generator<JournalRecord> {
  const { notes } = indexOf(recording);
  for (const record of recording.records) {
    if (record.phase !== "end" || isDecided(record)) continue;
    const isOpen = (call: number): boolean =>
      notes.get(attemptOf({ ...record, key: `${SPEND}${record.key}#${call}` }))?.body["spend"] === undefined;
    if (billOf(record).open?.some(isOpen) === true) yield record;
  }
}

/** What was granted beyond the limits. */
export function* raisesOf(
  recording: Recording,
): Generator<{ readonly exec: ExecId; readonly key: string; readonly more: Partial<Spend> }> {
  for (const { exec, key, phase, body } of recording.records) {
    if (phase === "note" && key.startsWith(RAISE)) yield { exec, key, more: body["value"] as Partial<Spend> };
  }
}
