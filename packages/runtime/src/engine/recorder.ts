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
import { isInParts, type Recordable, type RecordableInParts } from "./recordable.ts";
import { type ExecRecording, LATE, type RecordedStep, WITHDRAWN } from "./recording.ts";
import type { RunJournal } from "./run-journal.ts";

/** What the recorder needs of the engine whose effects it records. */
export interface Recorded {
  readonly start: { readonly execId: ExecId };
  readonly clock: Clock;
  readonly decisions: Decisions;
  /** Why nothing more may be made or recorded; undefined while it may. */
  readonly stopped: Error | undefined;
  /** Set if the run is to be resumed later. */
  readonly suspension: Error | undefined;
  /** Set if no call may begin any more: it rejects when the run is stopped. */
  readonly held: Promise<never> | undefined;
  /** Whether the run is to be suspended when all calls have ended. */
  readonly isDraining: boolean;
  callBegun(): void;
  callEnded(): void;
  /**
   * Suspends the run, because somebody has to decide or to supply the agent that was recorded. Throws the suspension, or what the run
   * was stopped with before.
   */
  suspendFor(why: RaviError): never;
  /** Notes that a call may have been paid for twice. */
  noteDoubt(key: string): void;
  /** Charges one tool call. For a tool in doubt that is not called again by somebody's decision. */
  countDecided(): MaybePromise<void>;
  scopeFor(key: string, attempt: number): EffectScope;
}

/** What the record says of an effect that does not need another begin entry. */
interface Known<T> {
  readonly attempt: number;
  /** Its outcome; undefined if it was begun and is to be continued under the same attempt (`onDoubt: "resume"`). */
  readonly settled?: Settled<T> | undefined;
  /** The end entry of an outcome that somebody has decided on just now. It is still to be written. */
  readonly decided?: JsonObject | undefined;
}

// A fresh effect is written as `begin`, run, and written as `end`. In a replay, an effect whose end is on record is not run: its outcome
// comes from the record. One that was begun and not ended is in doubt: `knownOutcome` says what becomes of it.
//
// Nothing here makes a promise unless the effect or the journal makes one, and most methods are not async, because this is on the hot
// path of every call.

/** Makes the effects of one execution and records them. An effect that is on record is not made again. */
export class Recorder {
  private readonly engine: Recorded;
  private readonly execId: ExecId;
  private readonly clock: Clock;
  /** Without a journal nothing is recorded: every effect is just run. */
  private readonly journal: RunJournal | undefined;
  private readonly recording: ExecRecording | undefined;
  /** The time of the fact that was read last from the record. */
  private lastRecordedAt: number | undefined;
  /** The keys of the batch that is being asked for, see `setBatch`. */
  private batch: ReadonlySet<string> | undefined;

  constructor(engine: Recorded, journal: RunJournal | undefined, recording: ExecRecording | undefined) {
    this.engine = engine;
    this.execId = engine.start.execId;
    this.clock = engine.clock;
    this.journal = journal;
    this.recording = recording;
  }

  /** Whether there is something on record that the agent has not asked for again yet. */
  get isCatchingUp(): boolean {
    return this.recording?.isCaughtUp === false;
  }

  /** Suspends the run if somebody has to decide on this effect first. */
  requireDecision(effect: Recordable<unknown>): void {
    const step = this.recording?.steps.get(effect.key);
    if (effect.onDoubt === "ask" && step?.begin !== undefined && step.end === undefined)
      this.decide(effect, step);
  }

  /** While the execution catches up with its record, the time of the fact that was read last; then the clock's. */
  now(): number {
    const { clock, recording } = this;
    return this.isCatchingUp ? (this.lastRecordedAt ?? recording?.startedAt ?? clock.now()) : clock.now();
  }

  /** Whether the outcome of the effect is on record. */
  isRecorded(key: string): boolean {
    return this.recording?.steps.get(key)?.end !== undefined;
  }

  /** The body of the begin entry; undefined if there is none. */
  recordedBegin(key: string): JsonObject | undefined {
    return this.recording?.steps.get(key)?.begin?.body;
  }

  /** Makes an effect, or gives its recorded outcome. Never throws: a failure is a rejected promise. */
  effect<T>(effect: Recordable<T>): MaybePromise<T> {
    try {
      if (this.journal === undefined) return effect.run(this.engine.scopeFor(effect.key, 1));
      const step = this.take(effect.key);
      const fingerprint = effect.fingerprint();
      const known = step && this.knownOutcome(effect, step, fingerprint);
      if (known !== undefined) return this.finish(effect, known);
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
    const { held } = this.engine;
    if (held !== undefined) return held;
    const attempt = this.recording?.nextAttempt(effect.key) ?? 1;
    // Added to the effect's own object, which was made for this entry: a copy would take a tenth of the time of a small effect.
    const entry: Record<string, JsonValue | undefined> = body;
    entry["fingerprint"] = fingerprint;
    const { execId: exec, clock } = this;
    const { key } = effect;
    const written = this.append({ exec, key, attempt, phase: "begin", at: clock.now(), body, given: body });
    return isPromiseLike(written) ? this.makeAfter(written, effect, attempt) : this.make(effect, attempt);
  }

  /** The call counts as under way from now on: it may be on record, and then it is in doubt until it has ended. */
  private makeAfter<T>(written: PromiseLike<void>, effect: Recordable<T>, attempt: number): Promise<T> {
    const { engine } = this;
    engine.callBegun();
    return Promise.resolve(written).then(
      () => {
        const made = this.make(effect, attempt);
        engine.callEnded();
        return made;
      },
      (error: unknown) => {
        engine.callEnded();
        throw error;
      },
    );
  }

  /** Gives the recorded or decided outcome. An effect that was only begun is continued under the same attempt. */
  private async finish<T>(effect: Recordable<T>, { attempt, settled, decided }: Known<T>): Promise<T> {
    if (settled === undefined) this.refuseStopped();
    if (decided !== undefined) {
      const { execId: exec, clock } = this;
      const { key } = effect;
      await this.append({
        exec,
        key,
        attempt,
        phase: "end",
        at: clock.now(),
        body: decided,
        given: undefined,
      });
      await this.engine.countDecided();
    }
    return settled === undefined ? this.make(effect, attempt) : unwrap(settled);
  }

  // Not async: an async function keeps all its local variables alive until it settles.
  private make<T>(effect: Recordable<T>, attempt: number): MaybePromise<T> {
    let made: MaybePromise<T>;
    try {
      const scope = this.engine.scopeFor(effect.key, attempt);
      if (isInParts(effect)) return this.recordFinished(effect, attempt, effect.startRun(scope));
      made = effect.run(scope);
    } catch (error) {
      return this.recordFailure(effect, attempt, error);
    }
    return isPromiseLike(made)
      ? this.recordLater(effect, attempt, made)
      : this.recordValue(effect, attempt, made);
  }

  private recordFinished<T>(
    effect: RecordableInParts<T>,
    attempt: number,
    started: Promise<unknown>,
  ): Promise<T> {
    this.engine.callBegun();
    return started.then(
      (settled) => {
        let value: T;
        try {
          value = effect.finishRun(settled);
        } catch (error) {
          return this.ended(this.recordFailure(effect, attempt, error));
        }
        return this.ended(this.recordValue(effect, attempt, value));
      },
      (error: unknown) => this.ended(this.recordFailure(effect, attempt, effect.failRun(error))),
    );
  }

  private recordLater<T>(effect: Recordable<T>, attempt: number, made: PromiseLike<T>): Promise<T> {
    // A hire is no call: its child continues where it was.
    if (effect.onDoubt === "resume")
      return Promise.resolve(made).then(
        (value) => hireEnded(effect, this.recordValue(effect, attempt, value)),
        (error: unknown) => this.recordFailure(effect, attempt, error),
      );
    this.engine.callBegun();
    return Promise.resolve(made).then(
      (value) => this.ended(this.recordValue(effect, attempt, value)),
      (error: unknown) => this.ended(this.recordFailure(effect, attempt, error)),
    );
  }

  /** A call has ended. If the run is to be suspended after it, what it came to must be on record first. */
  private ended<T>(recorded: MaybePromise<T>): MaybePromise<T> {
    const { engine } = this;
    if (engine.isDraining && isPromiseLike(recorded))
      recorded.then(
        () => engine.callEnded(),
        () => engine.callEnded(),
      );
    else engine.callEnded();
    return recorded;
  }

  private recordValue<T>(effect: Recordable<T>, attempt: number, value: T): MaybePromise<T> {
    const { execId: exec, clock } = this;
    const { key } = effect;
    const at = effect.endedAt ?? clock.now();
    const body = effect.record(value);
    const given = effect.isRecordGiven === true ? body : undefined;
    try {
      const ended = this.append({ exec, key, attempt, phase: "end", at, body, given });
      if (!isPromiseLike(ended)) return value;
      return Promise.resolve(ended).then(
        () => this.unlessSuspended(value),
        (error: unknown) => this.recordUnwritable(effect, attempt, error),
      );
    } catch (error) {
      return this.recordUnwritable(effect, attempt, error);
    }
  }

  /** An agent that was suspended meanwhile must not act on it: when it is resumed it gets the outcome again, or that of another attempt. */
  private unlessSuspended<T>(value: T): T {
    const { suspension } = this.engine;
    if (suspension !== undefined) throw suspension;
    return value;
  }

  /**
   * An outcome that cannot be written makes the effect fail, and that is recorded: without an end entry the effect would be made, and
   * paid for, again. If the journal itself is lost, nothing can be recorded.
   */
  private recordUnwritable(effect: Recordable<unknown>, attempt: number, error: unknown): Promise<never> {
    return this.journal?.isLost === true ? rejected(error) : this.recordFailure(effect, attempt, error);
  }

  /** Calls `make` and records its value; in a replay gives the recorded value. */
  fact(key: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    if (this.journal === undefined) return make();
    const step = this.take(key);
    if (step?.end !== undefined) {
      this.lastRecordedAt = step.end.at;
      return step.end.body["value"] ?? null;
    }
    this.refuseStopped();
    return andThen(make(), (value) => {
      const { execId: exec, clock } = this;
      const body = { value };
      const at = clock.now();
      const written = this.append({ exec, key, attempt: 1, phase: "note", at, body, given: undefined });
      return isPromiseLike(written) ? written.then(() => value) : value;
    });
  }

  /** An agent that is being stopped must leave nothing on record, because the resumed run would not ask for it. */
  private refuseStopped(): void {
    const { stopped } = this.engine;
    if (stopped !== undefined) throw stopped;
  }

  /** What the record says of the effect. Undefined if it was begun and has to be made again, as another attempt. */
  private knownOutcome<T>(
    effect: Recordable<T>,
    step: RecordedStep,
    fingerprint: string,
  ): Known<T> | undefined {
    if (textAt(step.begin?.body, "fingerprint") !== fingerprint) {
      const { execId, engine } = this;
      const { key, what: requested } = effect;
      engine.suspendFor(new NonDeterminismError({ execId, key, recorded: "another request", requested }));
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
      // It is recorded as the outcome of the effect, so that nobody is asked again.
      if (settled !== undefined) {
        const outcome = settled.ok ? effect.record(settled.value) : { error: errorToJSON(settled.error) };
        return { attempt: step.attempt, settled, decided: { ...outcome, decided: true } };
      }
    }
    this.engine.noteDoubt(effect.key);
    return undefined;
  }

  /** The outcome that somebody has decided on; undefined if the effect is to be made again. Suspends the run if nobody has decided. */
  private decide<T>(effect: Recordable<T>, step: RecordedStep): Settled<T> | undefined {
    const { execId, engine } = this;
    const decision = engine.decisions[`${execId}:${step.key}`];
    const doubt = new NeedsDecisionError({ execId, key: step.key, what: effect.what });
    if (decision === "retry") return undefined;
    if (decision === "skip" && effect.skipped !== undefined) return { ok: true, value: effect.skipped() };
    if (decision === "fail") return { ok: false, error: doubt };
    return engine.suspendFor(doubt);
  }

  /**
   * Records a failure and throws it. An effect that failed because the run was stopped has not really failed: if nothing of it was
   * running, it is recorded as withdrawn; otherwise nothing is recorded, and it is in doubt when the run is resumed.
   */
  private async recordFailure(effect: Recordable<unknown>, attempt: number, error: unknown): Promise<never> {
    const { stopped } = this.engine;
    const isWithdrawn = stopped !== undefined && effect.isSettled?.() === true;
    if (!isWithdrawn && (stopped !== undefined || !isOutcome(error))) throw error;
    const spend = effect.spend();
    const outcome = isWithdrawn ? WITHDRAWN : { error: errorToJSON(error) };
    const body = { ...outcome, ...effect.failureNote?.(), ...(spend !== undefined && { spend }) };
    const { execId: exec, clock } = this;
    const { key } = effect;
    const at = effect.endedAt ?? clock.now();
    await this.append({ exec, key, attempt, phase: "end", at, body, given: undefined });
    throw error;
  }

  /**
   * The parts of a batch begin in any order, and after a crash any of them may be on record. Called with their keys before they are
   * asked for, and with undefined afterwards.
   */
  setBatch(keys: ReadonlySet<string> | undefined): void {
    this.batch = keys;
  }

  /** Whether that key is the next on record that the agent has not asked for yet. */
  isNext(key: string): boolean {
    return this.recording?.nextUnread()?.key === key;
  }

  /**
   * The recorded step, which from now on counts as asked for. If there is none, but there are other steps that the agent has not asked
   * for, or if an effect comes before it that the agent has not asked for, the agent behaves differently than before: the run is
   * suspended with a `NonDeterminismError`.
   */
  private take(key: string): RecordedStep | undefined {
    const { recording, execId } = this;
    if (recording === undefined) return undefined;
    const step = recording.take(key);
    const missed = recording.nextUnread(this.batch, this.batch !== undefined || key.startsWith(LATE));
    if (missed === undefined || (step !== undefined && !isEffectBefore(missed, step))) return step;
    return this.engine.suspendFor(
      new NonDeterminismError({ execId, key, recorded: missed.key, requested: key }),
    );
  }

  private append(entry: JournalEntry): MaybePromise<void> {
    return this.journal?.append([entry]);
  }
}

/** Only effects are compared: facts may be recorded while an effect is under way. */
function isEffectBefore(missed: RecordedStep, step: RecordedStep): boolean {
  return missed.begin !== undefined && step.begin !== undefined && missed.place < step.place;
}

/** Errors that stop the run or its journal. They say nothing about the effect. */
const STOPPING_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "SUSPENDED",
  "PAUSED",
  "NEEDS_DECISION",
  "NON_DETERMINISM",
  "LANE_VIOLATION",
  "JOURNAL_LOCKED",
  "JOURNAL_CORRUPT",
  "JOURNAL_FAILED",
]);

/** Whether the error is the effect's own, so that it is recorded as its outcome. */
function isOutcome(error: unknown): boolean {
  if (isCancellation(error)) return false;
  return !(isRaviError(error) && STOPPING_CODES.has(error.code));
}

function outcomeOf<T>(effect: Recordable<T>, body: JsonObject): Settled<T> {
  const error = body["error"];
  if (error !== undefined) return { ok: false, error: errorFromJSON(error as SerializedError) };
  return { ok: true, value: effect.restore(body) };
}

function hireEnded<T>(hire: Recordable<T>, recorded: MaybePromise<T>): MaybePromise<T> {
  if (isPromiseLike(recorded)) return Promise.resolve(recorded).finally(() => hire.recorded?.());
  hire.recorded?.();
  return recorded;
}

function unwrap<T>(settled: Settled<T>): T {
  if (settled.ok) return settled.value;
  throw settled.error;
}
