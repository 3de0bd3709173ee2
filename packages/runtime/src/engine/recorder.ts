import {
  type Clock,
  type EffectScope,
  type ErrorCode,
  errorFromJSON,
  errorToJSON,
  type ExecId,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type JournalEntry,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  NeedsDecisionError,
  NonDeterminismError,
  type RaviError,
  type SerializedError,
  type Settled,
} from "@ravi/kernel";
import { andThen } from "../and-then.ts";
import { rejected } from "../rejected.ts";
import { textAt } from "./body.ts";
import type { Decisions } from "@ravi/kernel/loop";
import type { Recordable } from "./recordable.ts";
import { type ExecRecording, LATE, type RecordedStep, WITHDRAWN } from "./recording.ts";
import type { RunJournal } from "./run-journal.ts";

/** What carries the execution whose effects are recorded. */
export interface Recorded {
  readonly start: { readonly execId: ExecId };
  readonly clock: Clock;
  readonly decisions: Decisions;
  /** Why nothing more may be made or written; undefined while it may. */
  readonly stopped: Error | undefined;
  /** Somebody has to decide, or to bring the agent that was recorded, before the run can go on. Throws what unwinds it. */
  suspendFor(why: RaviError): never;
  /** A call may have been paid for twice. */
  noteDoubt(key: string): void;
  /** Somebody has decided that a tool in doubt is not made again: it counts as the one call that it was. */
  countDecided(): MaybePromise<void>;
  scopeFor(key: string, attempt: number): EffectScope;
}

/** What is on record of an effect that need not be begun. */
interface Known<T> {
  readonly attempt: number;
  readonly settled?: Settled<T> | undefined;
  /** What a decision made just now stands for, still to be written down. */
  readonly decided?: JsonObject | undefined;
}

/** Makes effects of one execution, and makes none of them twice that is on record. */
export class Recorder {
  private readonly engine: Recorded;
  private readonly execId: ExecId;
  private readonly clock: Clock;
  /** Without a journal nothing is recorded, and every effect is simply made. */
  private readonly journal: RunJournal | undefined;
  private readonly recording: ExecRecording | undefined;
  private lastRecordedAt: number | undefined;
  private batch: ReadonlySet<string> | undefined;

  constructor(engine: Recorded, journal: RunJournal | undefined, recording: ExecRecording | undefined) {
    this.engine = engine;
    this.execId = engine.start.execId;
    this.clock = engine.clock;
    this.journal = journal;
    this.recording = recording;
  }

  /** Whether there is more on record than the agent has asked for again. */
  get isCatchingUp(): boolean {
    return this.recording?.isCaughtUp === false;
  }

  /** Suspends the run where somebody has to decide on this effect first. */
  requireDecision(effect: Recordable<unknown>): void {
    const step = this.recording?.steps.get(effect.key);
    if (effect.onDoubt === "ask" && step?.begin !== undefined && step.end === undefined)
      this.decide(effect, step);
  }

  /** The time of the fact that was read last while an execution catches up with its record; then the clock's. */
  now(): number {
    const { clock, recording } = this;
    return this.isCatchingUp ? (this.lastRecordedAt ?? recording?.startedAt ?? clock.now()) : clock.now();
  }

  /** Whether the effect's outcome is on record, so that making it costs nothing. */
  isRecorded(key: string): boolean {
    return this.recording?.steps.get(key)?.end !== undefined;
  }

  /** What was written down when it was begun. */
  recordedBegin(key: string): JsonObject | undefined {
    return this.recording?.steps.get(key)?.begin?.body;
  }

  /** No promise where neither the effect nor the journal makes one. Never throws: a failure is a promise too. */
  effect<T>(effect: Recordable<T>): MaybePromise<T> {
    try {
      if (this.journal === undefined) return effect.run(this.engine.scopeFor(effect.key, 1));
      const step = this.take(effect.key);
      const fingerprint = effect.fingerprint();
      const known = step && this.knownOf(effect, step, fingerprint);
      if (known !== undefined) return this.goOn(effect, known);
      this.refuseStopped();
      const begun = effect.begin();
      return isPromiseLike(begun)
        ? this.beginLater(effect, fingerprint, begun)
        : this.begin(effect, fingerprint, begun);
    } catch (error) {
      return rejected(error);
    }
  }

  private async beginLater<T>(
    effect: Recordable<T>,
    fingerprint: string,
    begun: PromiseLike<JsonObject>,
  ): Promise<T> {
    return this.begin(effect, fingerprint, await begun);
  }

  private begin<T>(effect: Recordable<T>, fingerprint: string, body: JsonObject): MaybePromise<T> {
    this.refuseStopped();
    const attempt = this.recording?.nextAttempt(effect.key) ?? 1;
    // Added to what the effect has made for this entry: a copy of it takes a tenth of the time of a small effect. Where it has left
    // room for it, nothing is made.
    const noted: Record<string, JsonValue | undefined> = body;
    noted["fingerprint"] = fingerprint;
    const written = this.write(effect.key, attempt, "begin", body, true);
    return isPromiseLike(written) ? this.makeAfter(written, effect, attempt) : this.make(effect, attempt);
  }

  private makeAfter<T>(written: PromiseLike<void>, effect: Recordable<T>, attempt: number): Promise<T> {
    return Promise.resolve(written).then(() => this.make(effect, attempt));
  }

  /** What is on record is handed over; what was begun before, and only has to go on, goes on. */
  private async goOn<T>(effect: Recordable<T>, { attempt, settled, decided }: Known<T>): Promise<T> {
    if (settled === undefined) this.refuseStopped();
    if (decided !== undefined) {
      await this.write(effect.key, attempt, "end", decided, false);
      await this.engine.countDecided();
    }
    return settled === undefined ? this.make(effect, attempt) : unwrap(settled);
  }

  // Not asynchronous itself: every local of such a function is kept with each of its calls.
  private make<T>(effect: Recordable<T>, attempt: number): MaybePromise<T> {
    let made: MaybePromise<T>;
    try {
      made = effect.run(this.engine.scopeFor(effect.key, attempt));
    } catch (error) {
      return this.recordFailure(effect, attempt, error);
    }
    return isPromiseLike(made)
      ? this.recordLater(effect, attempt, made)
      : this.recordValue(effect, attempt, made);
  }

  private recordLater<T>(effect: Recordable<T>, attempt: number, made: PromiseLike<T>): Promise<T> {
    return Promise.resolve(made).then(
      (value) => this.recordValue(effect, attempt, value),
      (error: unknown) => this.recordFailure(effect, attempt, error),
    );
  }

  private recordValue<T>(effect: Recordable<T>, attempt: number, value: T): MaybePromise<T> {
    const at = effect.endedAt ?? this.clock.now();
    const body = effect.record(value);
    try {
      const ended = this.write(effect.key, attempt, "end", body, effect.isRecordGiven === true, at);
      if (!isPromiseLike(ended)) return value;
      return Promise.resolve(ended).then(
        () => value,
        (error: unknown) => this.recordUnwritable(effect, attempt, error),
      );
    } catch (error) {
      return this.recordUnwritable(effect, attempt, error);
    }
  }

  /** What cannot be written down is the effect's failure. Without an end on record it would be made, and paid for, again. */
  private recordUnwritable(effect: Recordable<unknown>, attempt: number, error: unknown): Promise<never> {
    return this.journal?.isLost === true ? rejected(error) : this.recordFailure(effect, attempt, error);
  }

  /** A fact that is recorded when it is first made, and read ever after. */
  fact(key: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    if (this.journal === undefined) return make();
    const step = this.take(key);
    if (step?.end !== undefined) {
      this.lastRecordedAt = step.end.at;
      return step.end.body["value"] ?? null;
    }
    this.refuseStopped();
    return andThen(make(), (value) => {
      const written = this.write(key, 1, "note", { value }, false);
      return isPromiseLike(written) ? written.then(() => value) : value;
    });
  }

  /** What an agent does while it is unwound must leave nothing on record: its resumed run would never ask for it. */
  private refuseStopped(): void {
    const { stopped } = this.engine;
    if (stopped !== undefined) throw stopped;
  }

  /** Undefined where it was begun and has to be made again: that is another attempt. */
  private knownOf<T>(effect: Recordable<T>, step: RecordedStep, fingerprint: string): Known<T> | undefined {
    const recorded = textAt(step.begin?.body, "fingerprint");
    if (recorded !== fingerprint) {
      const { execId, engine } = this;
      engine.suspendFor(
        new NonDeterminismError({ execId, key: effect.key, recorded, requested: fingerprint }),
      );
    }
    if (step.end !== undefined) {
      this.lastRecordedAt = step.end.at;
      effect.replayed?.(step.end.body);
      return { attempt: step.attempt, settled: outcomeOf(effect, step.end.body) };
    }
    this.lastRecordedAt = step.begin?.at;
    if (effect.onDoubt === "resume") return { attempt: step.attempt };
    if (effect.onDoubt === "ask") {
      const settled = this.decide(effect, step);
      // A decision is made once: it is written down like the outcome that it stands for.
      if (settled !== undefined) {
        const outcome = settled.ok ? effect.record(settled.value) : { error: errorToJSON(settled.error) };
        return { attempt: step.attempt, settled, decided: { ...outcome, decided: true } };
      }
    }
    this.engine.noteDoubt(effect.key);
    return undefined;
  }

  /** Undefined when it is to be made again. */
  private decide<T>(effect: Recordable<T>, step: RecordedStep): Settled<T> | undefined {
    const { execId, engine } = this;
    const decision = engine.decisions[`${execId}:${step.key}`];
    const doubt = new NeedsDecisionError({ execId, key: step.key, what: effect.what });
    if (decision === "retry") return undefined;
    if (decision === "skip" && effect.skipped !== undefined) return { ok: true, value: effect.skipped() };
    if (decision === "fail") return { ok: false, error: doubt };
    return engine.suspendFor(doubt);
  }

  /** What failed because everything was stopped has not failed: it is withdrawn, or made again, or asked about. */
  private async recordFailure(effect: Recordable<unknown>, attempt: number, error: unknown): Promise<never> {
    const { stopped } = this.engine;
    const isWithdrawn = stopped !== undefined && effect.isSettled?.() === true;
    if (!isWithdrawn && (stopped !== undefined || !isFinal(error))) throw error;
    const spend = effect.spend();
    const how = isWithdrawn ? WITHDRAWN : { error: errorToJSON(error) };
    const body = { ...how, ...effect.failureNote?.(), ...(spend !== undefined && { spend }) };
    const at = effect.endedAt ?? this.clock.now();
    await this.write(effect.key, attempt, "end", body, false, at);
    throw error;
  }

  /**
   * What is asked for together is begun in any order, and a crash may leave any part of it on record. To be called before the
   * parts are asked for, and undone after.
   */
  together(keys: ReadonlySet<string> | undefined): void {
    this.batch = keys;
  }

  /** Whether that is the next thing on record which the agent has not asked for yet. */
  isNext(key: string): boolean {
    return this.recording?.nextUnread()?.key === key;
  }

  /** Asking for a step that is not on record, while others are, means that the agent took another way this time. */
  private take(key: string): RecordedStep | undefined {
    const { recording, execId } = this;
    const step = recording?.take(key);
    if (step !== undefined) return step;
    const missed = recording?.nextUnread(this.batch, this.batch !== undefined || key.startsWith(LATE));
    if (missed === undefined) return undefined;
    // Who is stopped may well take another way.
    this.refuseStopped();
    return this.engine.suspendFor(
      new NonDeterminismError({ execId, key, recorded: missed.key, requested: key }),
    );
  }

  private write(
    key: string,
    attempt: number,
    phase: JournalEntry["phase"],
    body: JsonObject,
    isGiven: boolean,
    at = this.clock.now(),
  ): MaybePromise<void> {
    const given = isGiven ? body : undefined;
    return this.journal?.append([{ exec: this.execId, key, attempt, phase, at, body, given }]);
  }
}

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "SUSPENDED",
  "PAUSED",
  "NEEDS_DECISION",
  "NON_DETERMINISM",
  "LANE_VIOLATION",
  "JOURNAL_LOCKED",
  "JOURNAL_CORRUPT",
  "JOURNAL_FAILED",
]);

/** Whether it will be the same next time. What stops a run from outside, or stops the journal itself, will not. */
function isFinal(error: unknown): boolean {
  if (isCancellation(error)) return false;
  return !(isRaviError(error) && PASSING.has(error.code));
}

function outcomeOf<T>(effect: Recordable<T>, body: JsonObject): Settled<T> {
  const error = body["error"];
  if (error !== undefined) return { ok: false, error: errorFromJSON(error as SerializedError) };
  return { ok: true, value: effect.restore(body) };
}

function unwrap<T>(settled: Settled<T>): T {
  if (settled.ok) return settled.value;
  throw settled.error;
}
