import type { EffectScope, JsonObject, MaybePromise } from "@ravi/kernel";

/** What the recorder can record: an `Effect`, whose fields these are, or a hire, whose child resumes from its own record. */
export interface Recordable<T> {
  readonly key: string;
  readonly what: string;
  readonly onDoubt: "retry" | "ask" | "resume";
  fingerprint(): string;
  begin(): MaybePromise<JsonObject>;
  run(scope: EffectScope): MaybePromise<T>;
  /** See `RecordableInParts`. */
  startRun?(scope: EffectScope): Promise<unknown>;
  readonly endedAt?: number | undefined;
  record(value: T): JsonObject;
  readonly isRecordGiven?: boolean | undefined;
  restore(body: JsonObject): T;
  replayed?(body: JsonObject): void;
  spend(): JsonObject | undefined;
  failureNote?(): JsonObject;
  isSettled?(): boolean;
  /** Called when its outcome is on record, or cannot be recorded. Must not throw. */
  recorded?(): void;
  skipped?(): T;
}

/**
 * One whose `run` is also there in parts: `startRun`, and then `finishRun` or `failRun` with what its promise has settled with. So its end is
 * recorded in the step in which it is known, which saves a promise and a wait: 0.25 kB of each governed turn.
 */
export interface RecordableInParts<T> extends Recordable<T> {
  startRun(scope: EffectScope): Promise<unknown>;
  /** The value. Throws if that is no valid one; then `failRun` is not called any more. */
  finishRun(settled: unknown): T;
  /** Returns the error. */
  failRun(error: unknown): unknown;
}

export function isInParts<T>(effect: Recordable<T>): effect is RecordableInParts<T> {
  return effect.startRun !== undefined;
}
