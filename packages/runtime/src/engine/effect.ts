import type { JsonObject } from "@ravi/kernel";

/** What an effect knows of itself while it runs. */
export interface EffectScope {
  /** The same for every attempt, so that the other side can recognise a repeat. */
  readonly idempotencyKey: string;
  /** Counts from 1; more than that after a crash in the middle. */
  readonly attempt: number;
}

/** Something outward, done once: a model call, a tool call, a hire. */
export interface Effect<T> {
  readonly key: string;
  /** What it is, for people. */
  readonly what: string;
  /**
   * What becomes of one that was begun and not ended before a crash. `retry`: it is made again and reported as in doubt.
   * `ask`: somebody decides. `resume`: it records its own steps, and goes on from them.
   */
  readonly onDoubt: "retry" | "ask" | "resume";
  /** What is asked for, as a short text; another one under the same key means that the agent is not the one recorded. */
  fingerprint(): string;
  /** What is written down before it is made. */
  begin(): JsonObject;
  run(scope: EffectScope): Promise<T>;
  /** What is written down of its outcome, and back. */
  record(value: T): JsonObject;
  restore(body: JsonObject): T;
  /** Its outcome when somebody decided that it is not made. Only for `ask`. */
  skipped?(): T;
}

/** What somebody decided on an effect that was in doubt. */
export type Decision = "retry" | "skip" | "fail";
export type Decisions = Readonly<Record<string, Decision>>;

export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };
