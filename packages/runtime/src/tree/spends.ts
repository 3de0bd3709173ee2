import type { CallNote, ExecId, JournalRecord, JsonObject, Spend, Usage } from "@ravi/kernel";
import { textAt } from "../engine/body.ts";
import { endedHiresIn, isBelowEnded } from "../engine/ended-hires.ts";
import { RAISE, type Recording, SPEND, spendKey } from "../engine/recording.ts";
import { ByAttempt, ByStep } from "./by-step.ts";

// What a run has spent, read from its journal. It is the counterpart of `context/money`: a begin entry has the reservation of one call, the
// effect's first, which is number 0; notes have the calls beside it, and what the first took if the begin entry does not cover it; an end
// entry has the sum of all calls that were charged by then.

/** A bill (`Bill.toJSON`), a charge or a reservation, as the journal has it. */
type RecordedSpend = Partial<Spend> & {
  readonly usage?: Usage;
  readonly priced?: boolean;
  readonly retries?: number;
  readonly waste?: number;
  /** The largest single charge, if there are several. */
  readonly largest?: Pick<Spend, "tokens" | "cost">;
  /** How many calls there were beside the first. They are numbered from 1. */
  readonly calls?: number;
  /** How many of all calls were the effect's own attempts, and not calls of a tool or a layer. */
  readonly own?: number;
  /** Numbers of the calls that were not charged yet: they are not in the sum. */
  readonly open?: readonly number[];
};

/** An amount that the journal says was spent, or may have been. */
export interface SpendOnRecord {
  readonly exec: ExecId;
  /** The key of the effect. */
  readonly key: string;
  readonly spend: RecordedSpend;
  /** Whether it is a single call inside of an effect. It does not count as one more effect. */
  readonly isNested: boolean;
  /**
   * Whether it is a tool call without an end that nobody has decided on. It is made again and counted then, so it does not count now: a run
   * that crashed must not reach its limit sooner than one that did not.
   */
  readonly willRepeat: boolean;
  /** Whether it was only set aside, for a call of which no end is on record and that was not begun again: it may be under way. */
  readonly isOpen: boolean;
}

/** The number of the call that an effect was begun for. */
const FIRST = 0;

/** All that was charged, and what was set aside for calls whose charge is not on record: they may have been paid for. */
export function* spendsOf(recording: Recording): Generator<SpendOnRecord> {
  const index = indexOf(recording);
  for (const record of recording.records) {
    if (record.key.startsWith(SPEND)) yield* extraCall(record, index);
    else if (record.phase === "begin") yield* openFirstCall(record, index);
    else if (record.phase === "end") yield* sumOf(record);
  }
}

/** The sum in an effect's end entry. */
function* sumOf(end: JournalRecord): Generator<SpendOnRecord> {
  const { exec, key, body } = end;
  if (body["spend"] === undefined || isDecided(end)) return;
  yield { exec, key, spend: spendIn(body), isNested: false, willRepeat: false, isOpen: false };
}

/** A call beside the first, unless the sum of the effect's end has it. */
function* extraCall(note: JournalRecord, { ends, notes, begins }: Index): Generator<SpendOnRecord> {
  const { exec, body } = note;
  const call = body["call"] as CallNote["call"];
  const isNewest = notes.get(note) === note;
  // `openFirstCall` yields the first, with the begin entry.
  if (!isNewest || call === FIRST) return;
  const key = textAt(body, "of");
  const end = ends.get({ ...note, key });
  if (end !== undefined && hasInSum(end, call)) return;
  const isNewestAttempt = begins.get({ exec, key })?.attempt === note.attempt;
  const isOpen = end === undefined && isNewestAttempt && body["spend"] === undefined;
  yield { exec, key, spend: spendIn(body), isNested: true, willRepeat: false, isOpen };
}

/** The call that an effect was begun for, if the effect has no end, or ended without waiting for it. */
function* openFirstCall(begin: JournalRecord, index: Index): Generator<SpendOnRecord> {
  const { exec, key, body } = begin;
  const end = index.ends.get(begin);
  if (end !== undefined && hasInSum(end, FIRST)) return;
  // The begin entry of a tool has no reservation, but the tool may have been called.
  const isTool = body["tool"] !== undefined;
  const newest = noteOn(begin, FIRST, index) ?? begin;
  const spend = isTool ? ONE_TOOL_CALL : spendIn(newest.body);
  const willRepeat = isTool && end === undefined && !isNeverMadeAgain(begin, index);
  const isNewestAttempt = index.begins.get(begin) === begin;
  const isOpen = end === undefined && isNewestAttempt && newest.body["spend"] === undefined;
  yield { exec, key, spend, isNested: end !== undefined, willRepeat, isOpen };
}

const ONE_TOOL_CALL: RecordedSpend = Object.freeze({ toolCalls: 1 });

/** Whether somebody has decided on the call, or the agent that would make it again has ended. */
function isNeverMadeAgain(begin: JournalRecord, { decided, begins, endedHires }: Index): boolean {
  if (decided.get(begin) !== undefined) return true;
  const isNewest = begins.get(begin) === begin;
  return isNewest && isBelowEnded(begin.exec, endedHires);
}

interface Index {
  /** The ends of attempts at effects. */
  readonly ends: ByAttempt<JournalRecord>;
  /** The ends of attempts that somebody decided on after a crash: nobody makes them again. */
  readonly decided: ByAttempt<JournalRecord>;
  /** The newest note on each call. */
  readonly notes: ByAttempt<JournalRecord>;
  /** The newest begin of each effect. */
  readonly begins: ByStep<JournalRecord>;
  /** Hires that have ended: neither they nor those below them make anything again. */
  readonly endedHires: ReadonlySet<string>;
}

function indexOf({ records }: Recording): Index {
  const ends = new ByAttempt<JournalRecord>();
  const notes = new ByAttempt<JournalRecord>();
  const begins = new ByStep<JournalRecord>();
  const decided = new ByAttempt<JournalRecord>();
  for (const record of records) {
    const { key, phase } = record;
    if (key.startsWith(SPEND)) notes.set(record, record);
    else if (phase === "begin") begins.set(record, record);
    else if (phase === "end") (isDecided(record) ? decided : ends).set(record, record);
  }
  return { ends, notes, decided, begins, endedHires: endedHiresIn(records) };
}

/** The newest note on that call of an effect. */
function noteOn(effect: JournalRecord, call: number, { notes }: Index): JournalRecord | undefined {
  return notes.get({ ...effect, key: spendKey(effect.key, call) });
}

/** Whether somebody has decided on it after a crash. Then it stays charged as the crash has left it. */
function isDecided({ body }: JournalRecord): boolean {
  return body["decided"] === true;
}

/** What a call took or, if that is not known, what was set aside for it. */
function spendIn(body: JsonObject): RecordedSpend {
  return (body["spend"] ?? body["reserve"] ?? {}) as RecordedSpend;
}

/** The bill in the end entry of an effect; empty if it cost nothing. */
function billIn({ body }: JournalRecord): RecordedSpend {
  return (body["spend"] ?? {}) as RecordedSpend;
}

/** Whether the sum of the end entry contains that call. */
function hasInSum(end: JournalRecord, call: number): boolean {
  const { calls = 0, open = [] } = billIn(end);
  return call <= calls && !open.includes(call);
}

/** Whether an own attempt was sent, and not only nested calls. If a cache answered, none was. */
export function wasSent({ own, turns, open = [] }: RecordedSpend): boolean {
  if (own !== undefined) return own > 0;
  // Without `own` there is at most one call, an own one. If it has no turn, it was withdrawn before it was sent.
  return turns !== 0 || open.length > 0;
}

/**
 * Whether an attempt with that end, or with none, may have sent something. A limit or a layer may have refused it before that: then nothing
 * was charged, and the accounts of the run that made it do not have it either.
 */
export function mayBeSent(end: JournalRecord | undefined): boolean {
  if (end === undefined || isDecided(end)) return true;
  const bill = billIn(end);
  return bill.toolCalls === 1 || (end.body["spend"] !== undefined && wasSent(bill));
}

/** The ends of effects with calls that were abandoned, and whose charge is still not known. */
export function* endsWithOpenCalls(recording: Recording): Generator<JournalRecord> {
  // Only if there are any: the index of a long run takes a tenth of a second.
  let index: Index | undefined;
  for (const end of recording.records) {
    if (end.phase !== "end" || isDecided(end)) continue;
    const { open } = billIn(end);
    if (open === undefined) continue;
    const known = (index ??= indexOf(recording));
    if (open.some((call) => noteOn(end, call, known)?.body["spend"] === undefined)) yield end;
  }
}

export const NOTHING_SPENT: Spend = Object.freeze({ tokens: 0, cost: 0, turns: 0, toolCalls: 0 });

export function plus(spend: Spend, more: Partial<Spend>): Spend {
  return {
    tokens: spend.tokens + (more.tokens ?? 0),
    cost: spend.cost + (more.cost ?? 0),
    turns: spend.turns + (more.turns ?? 0),
    toolCalls: spend.toolCalls + (more.toolCalls ?? 0),
  };
}

/** What was granted beyond the limits. */
export function* raisesOf(
  recording: Recording,
): Generator<{ readonly exec: ExecId; readonly key: string; readonly more: Partial<Spend> }> {
  for (const { exec, key, phase, body } of recording.records) {
    if (phase === "note" && key.startsWith(RAISE)) yield { exec, key, more: body["value"] as Partial<Spend> };
  }
}
