import {
  type Clock,
  ExecId,
  type JsonObject,
  type MaybePromise,
  type PendingWait,
  type RunId,
} from "@ravi/kernel";
import { listedQuestion } from "@ravi/kernel/loop";
import type { Recording } from "../engine/recording.ts";
import type { RunJournal } from "../engine/run-journal.ts";
import { RUN_WAITS } from "../journal/run-facts.ts";

/** Of a longer list the questions are left out: it is written anew whenever something is added to it. */
const MOST_CHARS = 100_000;

/** The run that waits. */
export interface WaitingRun {
  readonly runId: RunId;
  readonly clock: Clock;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly signals: { readonly pending: readonly PendingWait[]; readonly heard: number };
  /** Whether it is being stopped, or its outcome is known. */
  readonly isStopping: boolean;
}

/**
 * What a run waits for, for the list of runs. With a journal it is noted there, because a run that waits is often in no process. A run that
 * is suspended notes nothing more: what it waited for is what it waits for until it is resumed.
 */
export class Waits {
  private readonly run: WaitingRun;
  private timers: Set<PendingWait> | undefined;
  /** The keys of the steps that wait. They are noted too, so that a wait is recognised after a restart. */
  private readonly keys = new WeakMap<PendingWait, string>();
  private notes: number;
  private readonly notesBefore: number;
  /** What the run has noted last before a restart. */
  private readonly noted: NotedBody;
  private noting: Promise<void> | undefined;

  constructor(run: WaitingRun) {
    this.run = run;
    const noted = run.recording?.aboutRun(RUN_WAITS);
    this.notes = this.notesBefore = noted?.attempt ?? 0;
    this.noted = noted?.body ?? {};
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
    this.changed();
    return () => {
      timers.delete(timer);
      this.changed();
    };
  }

  /** Notes what the run waits for now. Resolves when that is on record. Changes of one moment share a note. */
  note(): Promise<void> {
    this.noting ??= Promise.resolve().then(() => {
      this.noting = undefined;
      return this.run.isStopping ? undefined : this.write(this.list);
    });
    return this.noting;
  }

  /** Notes it without waiting. A journal that fails tells the run with its next entry. */
  changed(): void {
    if (this.run.journal !== undefined) this.note().catch(() => {});
  }

  /** Notes that these are all. Also for decisions, which a run waits for before it begins. */
  write(waits: readonly PendingWait[], heard = this.run.signals.heard): MaybePromise<void> {
    const { runId, clock, journal } = this.run;
    const keys = waits.map((wait) => this.keys.get(wait) ?? "");
    const listed = JSON.stringify(waits).length <= MOST_CHARS ? waits : waits.map(withoutQuestion);
    const body = { waits: listed as readonly (PendingWait & JsonObject)[], keys, heard };
    const [exec, attempt, at] = [ExecId(runId), ++this.notes, clock.now()];
    return journal?.append([{ exec, key: RUN_WAITS, attempt, phase: "note", at, body, given: undefined }]);
  }

  /**
   * Notes once more what was noted before the restart, if nothing was noted since: the run was stopped before it got there again. With the
   * old `heard`, so that what was answered meanwhile is not listed. Decisions were made, or it would not have been resumed.
   */
  writeAgain(): MaybePromise<void> {
    const { waits = [], keys = [], heard = 0 } = this.noted;
    if (this.notes !== this.notesBefore) return undefined;
    const now = this.run.clock.now();
    const open = waits.filter(({ kind, until = Infinity }) => kind !== "decision" && until > now);
    for (const [at, wait] of waits.entries()) this.keys.set(wait, keys[at] ?? "");
    return open.length === 0 ? undefined : this.write(open, heard);
  }

  private sinceOf(execId: ExecId, key: string): number | undefined {
    const { waits = [], keys = [] } = this.noted;
    return waits.find((wait, at) => wait.execId === execId && keys[at] === key)?.since;
  }
}

function withoutQuestion(wait: PendingWait): PendingWait {
  const { question: _question, ...rest } = wait;
  return rest;
}

interface NotedBody {
  readonly waits?: readonly PendingWait[];
  readonly keys?: readonly string[];
  readonly heard?: number;
}
