import {
  type Clock,
  ExecId,
  type JournalRecord,
  type JsonObject,
  type MaybePromise,
  type PendingWait,
  type RunId,
} from "@ravi/kernel";
import { listedQuestion } from "@ravi/kernel/loop";
import type { Recording } from "../engine/recording.ts";
import type { RunJournal } from "../engine/run-journal.ts";
import type { AskClocks } from "./ask-clocks.ts";
import { changeIn, NO_WAITS, NotedWaits, waitId } from "../journal/facts/noted-waits.ts";
import { openWaits } from "../journal/facts/open-waits.ts";
import { RUN_STATUS, RUN_WAITS } from "../journal/facts/run-facts.ts";

/** In characters of JSON. The questions are left out of a longer note: it is one entry, which no journal keeps elsewhere. */
const MOST_CHARS = 100_000;

/** The run that waits. */
export interface WaitingRun {
  readonly runId: RunId;
  readonly clock: Clock;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly signals: {
    readonly pending: readonly PendingWait[];
    readonly heard: number;
    /** The names of the answers that nobody has waited for yet, of those that came after this number of the journal. */
    unclaimed(after: number): readonly string[];
  };
  /** Whether it is being stopped, or its outcome is known. */
  readonly isStopping: boolean;
  readonly askClocks: AskClocks;
}

/**
 * What a run waits for, for the list of runs. With a journal each change is noted there, because a run that waits is often in no process. A
 * run that is being stopped notes nothing more, until it is suspended (`writeLeft`): what it waited for then is what it waits for until it
 * is resumed.
 */
export class Waits {
  private readonly run: WaitingRun;
  private timers: Set<PendingWait> | undefined;
  /** The keys of the steps that wait. They are noted too, so that a wait is recognised after a restart. */
  private readonly keys = new WeakMap<PendingWait, string>();
  /** What has begun since the last note, and the ids of what of the notes is over. */
  private begun = new Set<PendingWait>();
  private over: string[] = [];
  /** What was waited for when the run was stopped. */
  private readonly stopped: PendingWait[] = [];
  private notes: number;
  /** What the run has noted last before a restart, and has not got to again. */
  private readonly noted: NotedWaits | undefined;
  private noting: Promise<void> | undefined;

  constructor(run: WaitingRun) {
    this.run = run;
    this.notes = run.recording?.aboutRun(RUN_WAITS)?.attempt ?? 0;
    this.noted = this.notes === 0 ? undefined : lastNoted(run.recording?.records ?? []);
  }

  get list(): readonly PendingWait[] {
    return [...this.run.signals.pending, ...(this.timers ?? [])];
  }

  /** Describes a wait of an execution. If it is one from before a restart, it keeps its time. */
  describe(
    { execId, agentId }: Pick<PendingWait, "execId" | "agentId">,
    key: string,
    { kind, name, until, question }: Pick<PendingWait, "kind" | "name" | "until" | "question">,
  ): PendingWait {
    const since = this.sinceOf(execId, key) ?? this.run.clock.now();
    const listed = listedQuestion(question);
    const wait = {
      kind,
      name,
      agentId,
      execId,
      since,
      ...(until !== undefined && { until }),
      ...(listed !== undefined && { question: listed }),
    };
    this.keys.set(wait, key);
    return wait;
  }

  /** Lists a timer, until the function that this returns is called. */
  addTimer(timer: PendingWait): () => void {
    const timers = (this.timers ??= new Set());
    timers.add(timer);
    this.begin(timer);
    this.changed();
    return () => {
      timers.delete(timer);
      this.leave(timer);
    };
  }

  /** That wait belongs into the next note. */
  begin(wait: PendingWait): void {
    if (isForAnswer(wait)) this.run.askClocks.stand(wait);
    if (this.run.journal !== undefined) this.begun.add(wait);
  }

  /** It is answered or over, which the next note says if one before has named it. */
  end(wait: PendingWait): void {
    this.run.askClocks.go(wait);
    if (this.run.journal !== undefined && !this.begun.delete(wait)) this.over.push(this.idOf(wait));
  }

  /** It was given up or is over. Who is only stopped waits on. */
  leave(wait: PendingWait): void {
    if (this.run.isStopping) return void this.stopped.push(wait);
    this.end(wait);
    this.changed();
  }

  /** Notes what has changed. Resolves when that is on record. Changes of one moment share a note. */
  note(): Promise<void> {
    this.noting ??= Promise.resolve().then(() => {
      this.noting = undefined;
      return this.run.isStopping ? undefined : this.write();
    });
    return this.noting;
  }

  /** Notes it without waiting. A journal that fails tells the run with its next entry. */
  changed(): void {
    if (this.run.journal !== undefined) this.note().catch(() => {});
  }

  /** The same at once. Also for decisions, which a run waits for before it begins. */
  write(): MaybePromise<void> {
    const { runId, clock, journal, signals } = this.run;
    const { over, noted } = this;
    // Nothing is heard of a journal that cannot be read.
    const heard = Math.max(signals.heard, noted?.heard ?? 0);
    if (this.begun.size === 0 && over.length === 0) return undefined;
    const begun = [...this.begun];
    this.begun.clear();
    this.over = [];
    const keys = begun.map((wait) => this.keys.get(wait) ?? "");
    const listed = JSON.stringify(begun).length <= MOST_CHARS ? begun : begun.map(withoutQuestion);
    const body = { waits: listed as (PendingWait & JsonObject)[], keys, over, heard };
    const [exec, attempt, at] = [ExecId(runId), ++this.notes, clock.now()];
    return journal?.append([{ exec, key: RUN_WAITS, attempt, phase: "note", at, body, given: undefined }]);
  }

  /**
   * Notes what a suspended run waits for besides: what had begun just now, and what it has noted before a restart and not got to again,
   * unless that is over, or was answered meanwhile; also what was answered after it was stopped. Decisions were made, or it would not have
   * been resumed.
   */
  writeLeft(): MaybePromise<void> {
    const { stopped } = this;
    const { clock, recording, signals } = this.run;
    const now = clock.now();
    const left: PendingWait[] = [];
    for (const [id, text] of this.noted?.entries() ?? []) {
      const wait = JSON.parse(text) as PendingWait;
      const { execId, kind, until = Infinity } = wait;
      const key = id.slice(execId.length + 1);
      this.keys.set(wait, key);
      const isOver = kind === "timer" ? until <= now : recording?.of(execId).steps.has(key) === true;
      if (kind !== "decision" && !isOver) left.push(wait);
    }
    // Earlier ones have taken their waits off what was noted.
    const answers = signals.unclaimed(this.noted?.heard ?? 0);
    const open = new Set(openWaits([...stopped, ...left], answers));
    for (const wait of stopped) if (!open.has(wait)) this.end(wait);
    for (const wait of left) if (open.has(wait)) this.begun.add(wait);
    return this.write();
  }

  private sinceOf(execId: ExecId, key: string): number | undefined {
    const text = this.noted?.take(waitId(execId, key));
    return text === undefined ? undefined : (JSON.parse(text) as PendingWait).since;
  }

  private idOf(wait: PendingWait): string {
    return waitId(wait.execId, this.keys.get(wait) ?? "");
  }
}

function isForAnswer({ kind }: PendingWait): boolean {
  return kind === "signal" || kind === "approval";
}

function withoutQuestion({ question: _question, ...rest }: PendingWait): PendingWait {
  return rest;
}

/**
 * What a run has noted last, even if it was resumed since: it may have been stopped before it got to its waits again, and they are still
 * the same ones.
 */
function lastNoted(records: readonly JournalRecord[]): NotedWaits {
  const noted = new NotedWaits();
  let isStale = false;
  for (const { key, body } of records) {
    if (key === RUN_STATUS) isStale ||= body["status"] !== "suspended";
    const change = key === RUN_WAITS ? changeIn(body) : undefined;
    if (change === undefined) continue;
    if (isStale) noted.apply(NO_WAITS);
    noted.apply(change);
    isStale = false;
  }
  return noted;
}
