import type { EffectScope, JsonObject, MaybePromise } from "@ravi/kernel";

/** What the recorder can record: an `Effect`, whose fields these are, or a hire, whose child resumes from its own record. */
export interface Recordable<T> {
  readonly key: string;
  readonly what: string;
  readonly onDoubt: "retry" | "ask" | "resume";
  fingerprint(): string;
  begin(): MaybePromise<JsonObject>;
  run(scope: EffectScope): MaybePromise<T>;
  readonly endedAt?: number | undefined;
  record(value: T): JsonObject;
  readonly isRecordGiven?: boolean | undefined;
  restore(body: JsonObject): T;
  replayed?(body: JsonObject): void;
  spend(): JsonObject | undefined;
  failureNote?(): JsonObject;
  isSettled?(): boolean;
  skipped?(): T;
}
