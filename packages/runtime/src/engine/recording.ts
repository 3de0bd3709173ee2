import type { ExecId, JournalRecord, JsonObject } from "@ravi/kernel";
import { RUN_START, RUN_STATUS, RUN_WAITS } from "../journal/facts/run-facts.ts";
import { addTo } from "../tree/add-to.ts";
import { textAt } from "./body.ts";

/** What is on record under one key, of the newest attempt. */
export interface RecordedStep {
  readonly key: string;
  /** Its place among the steps of its execution. */
  readonly place: number;
  attempt: number;
  begin: JournalRecord | undefined;
  end: JournalRecord | undefined;
  /** Whether the resumed agent has asked for it, or need not. */
  read: boolean;
}

/** An entry as it counts. */
export interface CountedRecord extends JournalRecord {
  /** Set if the agent may go on without asking for it again. */
  readonly isOptional?: true;
}

/** The recorded steps of one execution. A resumed agent asks for them again, in the same order. */
export class ExecRecording {
  readonly steps = new Map<string, RecordedStep>();
  /** The time of its first entry. */
  startedAt: number | undefined;
  /** Called when the agent has asked for the last step. */
  onCaughtUp: (() => void) | undefined;
  /** Called with the key of each step, when the agent asks for it first. */
  onTaken: ((key: string) => void) | undefined;
  private unread = 0;
  /** The steps in the order of the record. */
  private readonly order: RecordedStep[] = [];
  /** All steps of `order` before this index are read, so that `nextUnread` need not look at them again. */
  private readInFront = 0;
  /** The end entries of withdrawn attempts, by key. */
  private withdrawn: Map<string, JournalRecord[]> | undefined;

  /** Notes the end of an attempt that was withdrawn. */
  withdraw(end: JournalRecord): void {
    addTo((this.withdrawn ??= new Map<string, JournalRecord[]>()), end.key, end);
  }

  /** The number of the next attempt at an effect. */
  nextAttempt(key: string): number {
    const withdrawn = this.withdrawn?.get(key)?.map(({ attempt }) => attempt) ?? [];
    return Math.max(this.steps.get(key)?.attempt ?? 0, ...withdrawn) + 1;
  }

  /** Whether something was sent under that key before this attempt. */
  isRepeat(key: string, attempt: number): boolean {
    return attempt > this.withdrawnBefore(key, attempt).filter(isUnpaid).length + 1;
  }

  /** Whether an attempt before this one has no known outcome. */
  isDoubtful(key: string, attempt: number): boolean {
    return attempt > this.withdrawnBefore(key, attempt).length + 1;
  }

  private withdrawnBefore(key: string, attempt: number): readonly JournalRecord[] {
    return this.withdrawn?.get(key)?.filter((end) => end.attempt < attempt) ?? [];
  }

  add(record: CountedRecord): void {
    this.startedAt ??= record.at;
    let step = this.steps.get(record.key);
    if (step === undefined) {
      const place = this.order.length;
      const read = record.isOptional === true;
      step = { key: record.key, place, attempt: 0, begin: undefined, end: undefined, read };
      this.steps.set(record.key, step);
      this.order.push(step);
      if (!read) this.unread++;
    }
    step.attempt = Math.max(step.attempt, record.attempt);
    if (record.phase === "begin") step.begin = record;
    else step.end = record;
  }

  /** The step under that key. From now on it counts as asked for. */
  take(key: string): RecordedStep | undefined {
    const step = this.steps.get(key);
    if (step !== undefined && !step.read) {
      step.read = true;
      this.unread--;
      this.onTaken?.(key);
      if (this.unread === 0) this.onCaughtUp?.();
    }
    return step;
  }

  /** Whether it has done nothing. */
  get isEmpty(): boolean {
    return this.steps.size === 0 && this.withdrawn === undefined;
  }

  get isCaughtUp(): boolean {
    return this.unread === 0;
  }

  /** The keys of steps that the agent has not asked for yet, then those of withdrawn ones. */
  unreadKeys(): readonly string[] {
    const unread = [...this.steps.values()].filter(({ read }) => !read).map(({ key }) => key);
    const withdrawn = [...(this.withdrawn?.keys() ?? [])].filter((key) => !this.steps.has(key));
    return [...unread, ...withdrawn];
  }

  /**
   * The next step that the agent has not asked for yet; undefined if there is none. Steps of `batch` are left out, since the parts of a
   * batch come in any order; with `orLate`, so are the facts of hires that were late.
   */
  nextUnread(batch?: ReadonlySet<string>, orLate = false): RecordedStep | undefined {
    if (this.unread === 0) return undefined;
    const { order } = this;
    while (order[this.readInFront]?.read === true) this.readInFront++;
    for (let at = this.readInFront; at < order.length; at++) {
      const step = order[at];
      if (step === undefined || step.read) continue;
      const isBeside = batch?.has(step.key) === true || (orLate && step.key.startsWith(LATE));
      if (!isBeside) return step;
    }
    return undefined;
  }
}

/** Keys of the facts that a hire was not done in time. */
export const LATE = "late:";

/** Keys of the facts that limits were raised. */
export const RAISE = "raise:";

/** Keys of notes on the money of single calls. `context/money/notes.ts` writes them, and only `tree/spends.ts` reads them. */
export const SPEND = "spend:";

/** The key of the notes on one call of an effect. */
export function spendKey(effect: string, call: number): string {
  return `${SPEND}${effect}#${call}`;
}

/** Identifies a step: all attempts at it have the same. */
export function stepOf({ exec, key }: Pick<JournalRecord, "exec" | "key">): string {
  return `${exec}\n${key}`;
}

export function isHire({ key }: Pick<JournalRecord, "key">): boolean {
  return key.startsWith("hire:");
}

export function isModelCall({ key }: Pick<JournalRecord, "key">): boolean {
  return key.startsWith("llm:") || key.startsWith("compact:");
}

/** Identifies an attempt: its begin and its end have the same. */
export function attemptOf({ exec, key, attempt }: JournalRecord): string {
  return `${exec}\n${key}\n${attempt}`;
}

/** Whether an entry is about the run as a whole, or about money. Such entries are not steps of an agent. */
export function isNotAStep(key: string): boolean {
  return key === RUN_START || key === RUN_STATUS || key === RUN_WAITS || key.startsWith(SPEND);
}

/** The body of the end of an effect that was stopped while nothing of it was running. It may have a `spend` for earlier attempts. */
export const WITHDRAWN: JsonObject = Object.freeze({ withdrawn: true });

/** Whether a withdrawn attempt has sent nothing. It is then as if it had never been begun. */
function isUnpaid({ body }: JournalRecord): boolean {
  return body["spend"] === undefined;
}

/** The begins of calls that still waited, for the limiter or for money, when the process died, and so were never sent. */
function neverSent(records: readonly CountedRecord[]): readonly CountedRecord[] {
  const waiting = new Set(records.filter(isInLine).map(effectOf));
  if (waiting.size === 0) return [];
  for (const record of records) {
    const isSent = record.phase === "end" || record.key.startsWith(SPEND);
    if (isSent && !isInLine(record)) waiting.delete(effectOf(record));
  }
  return records.filter((record) => record.phase === "begin" && waiting.has(attemptOf(record)));
}

/** Whether it says that a call waits: its begin, or a note on its money. */
export function isInLine({ body }: JournalRecord): boolean {
  return body["inLine"] === true;
}

/** The attempt at an effect that an entry is about. A note on the money of one of its calls names the effect. */
export function effectOf(record: JournalRecord): string {
  return attemptOf(record.key.startsWith(SPEND) ? { ...record, key: textAt(record.body, "of") } : record);
}

/** Everything that is on record of a run, by execution. */
export class Recording {
  readonly execs = new Map<ExecId, ExecRecording>();
  /** All entries, without attempts that were withdrawn before anything was sent. */
  readonly records: readonly CountedRecord[];
  /** The begins of calls that waited when this was recorded last, and were never sent. */
  readonly waiting: readonly CountedRecord[];
  /** When the process that wrote it last is known to have lived, if it died. Epoch milliseconds. */
  aliveUntil: number | undefined;
  /** Whether its agents run in this process already, and are started again after a crash. */
  isRestart = false;

  constructor(records: readonly CountedRecord[]) {
    const ends = records.filter(({ phase, body }) => phase === "end" && body["withdrawn"] === true);
    this.waiting = neverSent(records);
    for (const begin of this.waiting) ends.push({ ...begin, phase: "end", body: WITHDRAWN });
    for (const end of ends) this.of(end.exec).withdraw(end);
    const unpaid = new Set(ends.filter(isUnpaid).map(attemptOf));
    this.records = unpaid.size === 0 ? records : records.filter((record) => !unpaid.has(attemptOf(record)));
    const withdrawn = new Set(ends.map(attemptOf));
    for (const record of this.records) {
      if (isNotAStep(record.key) || (withdrawn.size > 0 && withdrawn.has(attemptOf(record)))) continue;
      this.of(record.exec).add(record);
    }
  }

  of(exec: ExecId): ExecRecording {
    let recording = this.execs.get(exec);
    if (recording === undefined) this.execs.set(exec, (recording = new ExecRecording()));
    return recording;
  }

  /** The newest entry about the run as a whole with that key. */
  aboutRun(key: typeof RUN_START | typeof RUN_STATUS | typeof RUN_WAITS): JournalRecord | undefined {
    return this.records.findLast((record) => record.key === key);
  }
}
