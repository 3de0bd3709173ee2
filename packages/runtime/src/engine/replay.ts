import {
  type Clock,
  errorFromJSON,
  errorToJSON,
  type ExecId,
  type JournalRecord,
  type JsonObject,
  NeedsDecisionError,
  NonDeterminismError,
  type RaviError,
  type SerializedError,
  type Settled,
} from "@ravi/kernel";
import type { Decisions } from "@ravi/kernel/loop";
import { textAt } from "./body.ts";
import type { Recordable } from "./recordable.ts";
import { type ExecRecording, LATE, type RecordedStep } from "./recording.ts";

/** What a replay needs of the engine of its execution. */
export interface Replaying {
  readonly start: { readonly execId: ExecId };
  readonly clock: Clock;
  readonly decisions: Decisions;
  /**
   * Suspends the run, because somebody has to decide or to supply the agent that was recorded. Throws the suspension, or what the run
   * was stopped with before.
   */
  suspendFor(why: RaviError): never;
  /** Notes that a call may have been paid for twice. */
  noteDoubt(key: string): void;
}

/** What the record says of an effect that does not need another begin entry. */
export interface Known<T> {
  readonly attempt: number;
  /** Its outcome; undefined if it was begun and is to be continued under the same attempt (`onDoubt: "resume"`). */
  readonly settled?: Settled<T> | undefined;
  /** The end entry of an outcome that somebody has decided on just now. It is still to be written. */
  readonly decided?: JsonObject | undefined;
}

/** Gives an execution that was resumed what is on record, in the order of the record, until it has caught up. */
export class Replay {
  private readonly engine: Replaying;
  private readonly recording: ExecRecording;
  /** The time of the fact that was read last from the record. */
  private lastRecordedAt: number | undefined;
  /** The keys of the batch that is being asked for, see `setBatch`. */
  private batch: ReadonlySet<string> | undefined;

  constructor(engine: Replaying, recording: ExecRecording) {
    this.engine = engine;
    this.recording = recording;
  }

  /** Whether there is something on record that the agent has not asked for again yet. */
  get isCatchingUp(): boolean {
    return !this.recording.isCaughtUp;
  }

  /** While the execution catches up with its record, the time of the fact that was read last; then the clock's. */
  now(): number {
    const { recording, lastRecordedAt, engine } = this;
    return (this.isCatchingUp ? (lastRecordedAt ?? recording.startedAt) : undefined) ?? engine.clock.now();
  }

  /** Whether the outcome of the effect is on record. */
  isRecorded(key: string): boolean {
    return this.recording.steps.get(key)?.end !== undefined;
  }

  /** The body of the begin entry; undefined if there is none. */
  recordedBegin(key: string): JsonObject | undefined {
    return this.recording.steps.get(key)?.begin?.body;
  }

  /** Whether that key is the next on record that the agent has not asked for yet. */
  isNext(key: string): boolean {
    return this.recording.nextUnread()?.key === key;
  }

  /** How often the agent had asked in vain whether it has mail, between the step before and this message. */
  mailAsks(key: string): number {
    return Number(this.recording.steps.get(key)?.end?.body["asked"] ?? 0);
  }

  /** The number of the next attempt at an effect. */
  nextAttempt(key: string): number {
    return this.recording.nextAttempt(key);
  }

  /**
   * The parts of a batch begin in any order, and after a crash any of them may be on record. Called with their keys before they are
   * asked for, and with undefined afterwards.
   */
  setBatch(keys: ReadonlySet<string> | undefined): void {
    this.batch = keys;
  }

  /**
   * The recorded step, which from now on counts as asked for. If there is none, but there are other steps that the agent has not asked
   * for, or if an effect comes before it that the agent has not asked for, the agent behaves differently than before: the run is
   * suspended with a `NonDeterminismError`.
   */
  take(key: string): RecordedStep | undefined {
    const { recording, engine } = this;
    const step = recording.take(key);
    const missed = recording.nextUnread(this.batch, this.batch !== undefined || key.startsWith(LATE));
    if (missed === undefined || (step !== undefined && !isEffectBefore(missed, step))) return step;
    const { execId } = engine.start;
    return engine.suspendFor(new NonDeterminismError({ execId, key, recorded: missed.key, requested: key }));
  }

  /** Takes the entry of a fact; undefined if it is not on record. */
  takeFact(key: string): JournalRecord | undefined {
    const fact = this.take(key)?.end;
    if (fact !== undefined) this.lastRecordedAt = fact.at;
    return fact;
  }

  /** What the record says of the effect. Undefined if it was begun and has to be made again, as another attempt. */
  knownOutcome<T>(effect: Recordable<T>, step: RecordedStep, fingerprint: string): Known<T> | undefined {
    const { engine } = this;
    if (textAt(step.begin?.body, "fingerprint") !== fingerprint) {
      const { execId } = engine.start;
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
    engine.noteDoubt(effect.key);
    return undefined;
  }

  /** Suspends the run if somebody has to decide on this effect first. */
  requireDecision(effect: Recordable<unknown>): void {
    const step = this.recording.steps.get(effect.key);
    if (effect.onDoubt === "ask" && step?.begin !== undefined && step.end === undefined)
      this.decide(effect, step);
  }

  /** The outcome that somebody has decided on; undefined if the effect is to be made again. Suspends the run if nobody has decided. */
  private decide<T>(effect: Recordable<T>, { key }: RecordedStep): Settled<T> | undefined {
    const { engine } = this;
    const { execId } = engine.start;
    const decision = engine.decisions[`${execId}:${key}`];
    const { what } = effect;
    if (decision === "retry") return undefined;
    if (decision === "skip" && effect.skipped !== undefined) return { ok: true, value: effect.skipped() };
    if (decision === "fail")
      return { ok: false, error: new NeedsDecisionError({ execId, key, what, decided: decision }) };
    return engine.suspendFor(new NeedsDecisionError({ execId, key, what }));
  }
}

/** Only effects are compared: facts may be recorded while an effect is under way. */
function isEffectBefore(missed: RecordedStep, step: RecordedStep): boolean {
  return missed.begin !== undefined && step.begin !== undefined && missed.place < step.place;
}

function outcomeOf<T>(effect: Recordable<T>, body: JsonObject): Settled<T> {
  const error = body["error"];
  if (error !== undefined) return { ok: false, error: errorFromJSON(error as SerializedError) };
  return { ok: true, value: effect.restore(body) };
}
