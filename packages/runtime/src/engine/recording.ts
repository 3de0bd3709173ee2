import type { ExecId, JournalRecord, JsonObject } from "@ravi/kernel";
import { RUN_START, RUN_STATUS } from "../journal/run-facts.ts";
import { textAt } from "./body.ts";

/** What was recorded under one key: the newest attempt at it. */
export interface RecordedStep {
  readonly key: string;
  attempt: number;
  begin: JournalRecord | undefined;
  end: JournalRecord | undefined;
  /** The resumed agent has asked for it. */
  read: boolean;
}

/** The recorded steps of one execution, as its agent asks for them again. */
export class ExecRecording {
  readonly steps = new Map<string, RecordedStep>();
  /** When its first fact was written down. */
  startedAt: number | undefined;
  /** Called when the last of them was asked for. */
  onCaughtUp: (() => void) | undefined;
  /** Called with the key of each that is asked for, once. */
  onTaken: ((key: string) => void) | undefined;
  private unread = 0;
  /** In the order of the record, and how many at its front were asked for: whoever looks for the next looks past none of those. */
  private readonly order: RecordedStep[] = [];
  private readInFront = 0;
  /** The ends of attempts that were taken back, by key. */
  private withdrawn: Map<string, JournalRecord[]> | undefined;

  withdraw(end: JournalRecord): void {
    this.withdrawn ??= new Map();
    this.withdrawn.set(end.key, [...(this.withdrawn.get(end.key) ?? []), end]);
  }

  /** The number of another try at it. */
  nextAttempt(key: string): number {
    const withdrawn = this.withdrawn?.get(key)?.map(({ attempt }) => attempt) ?? [];
    return Math.max(this.steps.get(key)?.attempt ?? 0, ...withdrawn) + 1;
  }

  /** Whether something had gone out under that key before. */
  isRepeat(key: string, attempt: number): boolean {
    return attempt > this.withdrawnBefore(key, attempt).filter(isUnpaid).length + 1;
  }

  /** Whether it is not known what came of an earlier try. */
  isDoubtful(key: string, attempt: number): boolean {
    return attempt > this.withdrawnBefore(key, attempt).length + 1;
  }

  private withdrawnBefore(key: string, attempt: number): readonly JournalRecord[] {
    return this.withdrawn?.get(key)?.filter((end) => end.attempt < attempt) ?? [];
  }

  add(record: JournalRecord): void {
    this.startedAt ??= record.at;
    let step = this.steps.get(record.key);
    if (step === undefined) {
      step = { key: record.key, attempt: 0, begin: undefined, end: undefined, read: false };
      this.steps.set(record.key, step);
      this.order.push(step);
      this.unread++;
    }
    step.attempt = Math.max(step.attempt, record.attempt);
    if (record.phase === "begin") step.begin = record;
    else step.end = record;
  }

  /** The step under that key; from then on it counts as asked for. */
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

  get isCaughtUp(): boolean {
    return this.unread === 0;
  }

  /** What it has not asked for yet, and what was withdrawn: that came last. */
  unreadKeys(): readonly string[] {
    const unread = [...this.steps.values()].filter(({ read }) => !read).map(({ key }) => key);
    const withdrawn = [...(this.withdrawn?.keys() ?? [])].filter((key) => !this.steps.has(key));
    return [...unread, ...withdrawn];
  }

  /**
   * A step that nobody has asked for yet; undefined when the agent has caught up with its record. Those of a batch are asked for in any
   * order, and so is whether the time of its hires was up.
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

/** Facts of hires whose time was up. */
export const LATE = "late:";

/** Facts of what was granted beyond the limits. */
export const RAISE = "raise:";

/** Notes on the money of single calls (`context/money/notes.ts`), which only `tree/spends.ts` reads. */
export const SPEND = "spend:";

/** Of the notes on one call of an effect. */
export function spendKey(effect: string, call: number): string {
  return `${SPEND}${effect}#${call}`;
}

/** What a begin and its end have in common. */
export function attemptOf({ exec, key, attempt }: JournalRecord): string {
  return `${exec}\n${key}\n${attempt}`;
}

/** Facts about the run as a whole, or about money, are no steps of its agent. */
function isAside(key: string): boolean {
  return key === RUN_START || key === RUN_STATUS || key.startsWith(SPEND);
}

/** The end of a call that was begun and taken back while nothing of it was under way. With what was paid for it before, if anything. */
export const WITHDRAWN: JsonObject = Object.freeze({ withdrawn: true });

/** Nothing had gone out: it is as if it had never been begun. */
function isUnpaid({ body }: JournalRecord): boolean {
  return body["spend"] === undefined;
}

/** Begins of calls that still waited for a place in the limiter's line when the process died. */
function neverSent(records: readonly JournalRecord[]): readonly JournalRecord[] {
  const waiting = records.filter(({ phase, body }) => phase === "begin" && body["inLine"] === true);
  if (waiting.length === 0) return waiting;
  const known = new Set<string>();
  for (const record of records) {
    if (record.phase === "end") known.add(attemptOf(record));
    else if (record.key.startsWith(SPEND))
      known.add(attemptOf({ ...record, key: textAt(record.body, "of") }));
  }
  return waiting.filter((begin) => !known.has(attemptOf(begin)));
}

/** Everything that a run has recorded, by execution, with what it says about money and seats. */
export class Recording {
  readonly execs = new Map<ExecId, ExecRecording>();
  /** Without what was withdrawn before anything had gone out. */
  readonly records: readonly JournalRecord[];

  constructor(records: readonly JournalRecord[]) {
    const ends = records.filter(({ phase, body }) => phase === "end" && body["withdrawn"] === true);
    for (const begin of neverSent(records)) ends.push({ ...begin, phase: "end", body: WITHDRAWN });
    for (const end of ends) this.of(end.exec).withdraw(end);
    const unpaid = new Set(ends.filter(isUnpaid).map(attemptOf));
    this.records = unpaid.size === 0 ? records : records.filter((record) => !unpaid.has(attemptOf(record)));
    const withdrawn = new Set(ends.map(attemptOf));
    for (const record of this.records) {
      if (isAside(record.key) || (withdrawn.size > 0 && withdrawn.has(attemptOf(record)))) continue;
      this.of(record.exec).add(record);
    }
  }

  of(exec: ExecId): ExecRecording {
    let recording = this.execs.get(exec);
    if (recording === undefined) this.execs.set(exec, (recording = new ExecRecording()));
    return recording;
  }

  /** The newest fact about the run itself. */
  aboutRun(key: typeof RUN_START | typeof RUN_STATUS): JournalRecord | undefined {
    return this.records.findLast((record) => record.key === key);
  }
}
