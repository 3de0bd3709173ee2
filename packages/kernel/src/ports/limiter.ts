import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { Priority } from "../policy/scales.ts";

export interface LimiterRequest {
  readonly priority: Priority;
  /** How many tokens the call may take, for limits on tokens per minute. */
  readonly tokens?: number | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

/** The right to make one model call now. */
export interface Permit {
  release(actual?: { readonly tokens?: number | undefined }): void;
  [Symbol.dispose](): void;
}

/** Holds model calls of a whole tree to what the provider takes. */
export interface Limiter {
  acquire(request: LimiterRequest): MaybePromise<Permit>;
  /** A 429 said how long to wait: everybody waits. */
  slowDown(retryAfterMs: number): void;
}
