import type { HookEvent, HookPayloads } from "@ravi/kernel";

/** Gets a frozen copy. What it returns is ignored, except that a promise is waited for by `drain`. */
export type HookCallback<E extends HookEvent = HookEvent> = (payload: HookPayloads[E]) => unknown;

/** An event and its payload. Comparing `event` narrows `payload`. */
export type HookNotice = { [E in HookEvent]: [event: E, payload: HookPayloads[E]] }[HookEvent];

export type AnyHookCallback = (...notice: HookNotice) => unknown;

/** What an observer needs in order to subscribe: a `HookManager`, or anything like it. */
export interface HookSource {
  /** Returns how to take the callback off again. */
  on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void;
  onAny(callback: AnyHookCallback): () => void;
}

export type HookProblemKind = "failed" | "hung" | "overloaded" | "recursion" | "payload";

/** Something that went wrong with an observer. The run knows nothing of it. */
export interface HookProblem {
  /**
   * `failed`: it threw or rejected. `hung`: it was cut off (told once per listener). `overloaded`: too many of its calls
   * were pending, so it missed some (once per listener). `recursion`: listeners dispatched without end (once per event).
   * `payload`: the payload could not be copied, so nobody was told.
   */
  readonly kind: HookProblemKind;
  readonly event: HookEvent;
  /** The function's name; empty where the problem is not one listener's. */
  readonly listener: string;
  readonly message: string;
  /** What was thrown; it may be anything, also undefined. */
  readonly error?: unknown;
}
