import {
  type Clock,
  type EffectScope,
  type ErrorCode,
  errorToJSON,
  type ExecId,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type JournalEntry,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type Settled,
} from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import { rejected } from "../promises/rejected.ts";
import { isInParts, type Recordable, type RecordableInParts } from "./recordable.ts";
import { WITHDRAWN } from "./recording.ts";
import type { Known, Replay } from "./replay.ts";
import type { RunJournal } from "./run-journal.ts";

/** What the recorder needs of the engine whose effects it records. */
export interface Recorded {
  readonly start: { readonly execId: ExecId };
  readonly clock: Clock;
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
  /** Charges one tool call. For a tool in doubt that is not called again by somebody's decision. */
  countDecided(): MaybePromise<void>;
  scopeFor(key: string, attempt: number): EffectScope;
}

// A fresh effect is written as `begin`, run, and written as `end`. In a replay, an effect whose end is on record is not run: its outcome
// comes from the record. One that was begun and not ended is in doubt: `Replay.knownOutcome` says what becomes of it.
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
  /** What is on record already, if the run is a resumed one. */
  readonly replay: Replay | undefined;
  /** How many entries it has written. */
  written = 0;

  constructor(engine: Recorded, journal: RunJournal | undefined, replay: Replay | undefined) {
    this.engine = engine;
    this.execId = engine.start.execId;
    this.clock = engine.clock;
    this.journal = journal;
    this.replay = replay;
  }

  /** Makes an effect, or gives its recorded outcome. Never throws: a failure is a rejected promise. */
  effect<T>(effect: Recordable<T>): MaybePromise<T> {
    try {
      if (this.journal === undefined) return effect.run(this.engine.scopeFor(effect.key, 1));
      const { replay } = this;
      const step = replay?.take(effect.key);
      const fingerprint = effect.fingerprint();
      const known = step && replay?.knownOutcome(effect, step, fingerprint);
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
    const attempt = this.replay?.nextAttempt(effect.key) ?? 1;
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
      await this.appendEnd(effect, attempt, decided, undefined);
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
    const body = effect.record(value);
    const given = effect.isRecordGiven === true ? body : undefined;
    try {
      const ended = this.appendEnd(effect, attempt, body, given);
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

  /** Calls `make` and records its value, with `more` beside it; in a replay gives the recorded value. */
  fact(key: string, make: () => MaybePromise<JsonValue>, more?: JsonObject): MaybePromise<JsonValue> {
    if (this.journal === undefined) return make();
    const recorded = this.replay?.takeFact(key);
    if (recorded !== undefined) return recorded.body["value"] ?? null;
    this.refuseStopped();
    return andThen(make(), (value) => {
      const { execId: exec, clock } = this;
      const body = more === undefined ? { value } : { value, ...more };
      const at = clock.now();
      const attempt = this.replay?.nextAttempt(key) ?? 1;
      const written = this.append({ exec, key, attempt, phase: "note", at, body, given: undefined });
      return isPromiseLike(written) ? written.then(() => value) : value;
    });
  }

  /** An agent that is being stopped must leave nothing on record, because the resumed run would not ask for it. */
  private refuseStopped(): void {
    const { stopped } = this.engine;
    if (stopped !== undefined) throw stopped;
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
    await this.appendEnd(effect, attempt, body, undefined);
    throw error;
  }

  private appendEnd(
    effect: Recordable<unknown>,
    attempt: number,
    body: JsonObject,
    given: JsonObject | undefined,
  ): MaybePromise<void> {
    const { execId: exec, clock } = this;
    const { key, endedAt } = effect;
    return this.append({ exec, key, attempt, phase: "end", at: endedAt ?? clock.now(), body, given });
  }

  private append(entry: JournalEntry): MaybePromise<void> {
    this.written++;
    return this.journal?.append([entry]);
  }
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

function hireEnded<T>(hire: Recordable<T>, recorded: MaybePromise<T>): MaybePromise<T> {
  if (isPromiseLike(recorded)) return Promise.resolve(recorded).finally(() => hire.recorded?.());
  hire.recorded?.();
  return recorded;
}

function unwrap<T>(settled: Settled<T>): T {
  if (settled.ok) return settled.value;
  throw settled.error;
}
