import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { Priority } from "../policy/scales.ts";

export interface LimiterRequest {
  readonly priority: Priority;
  /** The most tokens that the call can use, for limits on tokens per minute. */
  readonly tokens?: number | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

/** The permission to make one model call now. */
export interface Permit {
  /**
   * Call it when the call is over, with the tokens that it has used. `sent: false` says that no call was made, so that none counts. Default:
   * true.
   */
  release(actual?: { readonly tokens?: number | undefined; readonly sent?: boolean | undefined }): void;
  [Symbol.dispose](): void;
}

/** Keeps the model calls of a whole tree within the provider's rate limits. */
export interface Limiter {
  /** Waits until the call may be made. Rejects when aborted. */
  acquire(request: LimiterRequest): MaybePromise<Permit>;
  /** Holds back all calls for that time. Called when a provider answers that it is overloaded (HTTP 429). */
  slowDown(retryAfterMs: number): void;
}
