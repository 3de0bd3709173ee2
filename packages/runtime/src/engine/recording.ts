import type { ExecId, JournalRecord, JsonObject } from "@ravi/kernel";
import { RUN_START, RUN_STATUS } from "../journal/run-facts.ts";

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
  private unread = 0;
  /** The attempts that were taken back before anything went out, by key. */
  private withdrawn: Map<string, number[]> | undefined;

  withdraw({ key, attempt }: JournalRecord): void {
    this.withdrawn ??= new Map();
    this.withdrawn.set(key, [...(this.withdrawn.get(key) ?? []), attempt]);
  }

  /** The number of another try at it. */
  nextAttempt(key: string): number {
    return Math.max(this.steps.get(key)?.attempt ?? 0, ...(this.withdrawn?.get(key) ?? [])) + 1;
  }

  /** Whether it was tried before and something may have gone out. */
  isRepeat(key: string, attempt: number): boolean {
    const withdrawn = this.withdrawn?.get(key)?.filter((number) => number < attempt) ?? [];
    return attempt > withdrawn.length + 1;
  }

  add(record: JournalRecord): void {
    this.startedAt ??= record.at;
    let step = this.steps.get(record.key);
    if (step === undefined) {
      step = { key: record.key, attempt: 0, begin: undefined, end: undefined, read: false };
      this.steps.set(record.key, step);
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
      if (this.unread === 0) this.onCaughtUp?.();
    }
    return step;
  }

  get isCaughtUp(): boolean {
    return this.unread === 0;
  }

  /** A step that nobody has asked for yet; undefined when the agent has caught up with its record. */
  nextUnread(except?: ReadonlySet<string>): RecordedStep | undefined {
    if (this.unread === 0) return undefined;
    return this.steps.values().find((step) => !step.read && except?.has(step.key) !== true);
  }
}

/** Facts of what was granted beyond the limits. */
export const RAISE = "raise:";

/** What was paid inside of an effect that has not ended; such facts are read by the accounts alone. */
export const SPEND = "spend:";

/** What a begin and its end have in common. */
export function attemptOf({ exec, key, attempt }: JournalRecord): string {
  return `${exec}\n${key}\n${attempt}`;
}

/** Facts about the run as a whole, or about money, are no steps of its agent. */
function isAside(key: string): boolean {
  return key === RUN_START || key === RUN_STATUS || key.startsWith(SPEND);
}

/** The end of a call that was begun and taken back before anything went out. */
export const WITHDRAWN: JsonObject = Object.freeze({ withdrawn: true });

/** Everything that a run has recorded, by execution, with what it says about money and seats. */
export class Recording {
  readonly execs = new Map<ExecId, ExecRecording>();
  /** Without what was withdrawn: it is as if it had never been begun. */
  readonly records: readonly JournalRecord[];

  constructor(records: readonly JournalRecord[]) {
    this.records = this.withoutWithdrawn(records);
    for (const record of this.records) if (!isAside(record.key)) this.of(record.exec).add(record);
  }

  private withoutWithdrawn(records: readonly JournalRecord[]): readonly JournalRecord[] {
    const ends = records.filter(({ phase, body }) => phase === "end" && body["withdrawn"] === true);
    if (ends.length === 0) return records;
    for (const end of ends) this.of(end.exec).withdraw(end);
    const withdrawn = new Set(ends.map(attemptOf));
    return records.filter((record) => !withdrawn.has(attemptOf(record)));
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
