import type { HookEvent, HookPayloads } from "@ravi/kernel";

/** Called with a frozen payload. What it returns is ignored, except that `drain` waits for a promise. */
export type HookCallback<E extends HookEvent = HookEvent> = (payload: HookPayloads[E]) => unknown;

/** An event and its payload. Comparing `event` narrows `payload`. */
export type HookNotice = { [E in HookEvent]: [event: E, payload: HookPayloads[E]] }[HookEvent];

/** A listener for all events, called with the event and its payload. */
export type AnyHookCallback = (...notice: HookNotice) => unknown;

/** What an observer needs in order to subscribe: a `HookManager`, or an object like it. */
export interface HookSource {
  /** Returns a function that removes the callback. */
  on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void;
  /** Listens to every event. Returns a function that removes the callback. */
  onAny(callback: AnyHookCallback): () => void;
}

export type HookProblemKind = "failed" | "hung" | "overloaded" | "recursion" | "payload";

/** Something that went wrong with an observer. The run is not affected. */
export interface HookProblem {
  /**
   * `failed`: it threw or rejected. `hung`: it did not finish in time and was cut off (reported once per listener). `overloaded`: too many
   * of its calls were pending, so it missed some (once per listener). `recursion`: listeners dispatched again and again (once per event).
   * `payload`: the payload could not be copied, so no listener was called.
   */
  readonly kind: HookProblemKind;
  readonly event: HookEvent;
  /** The name of the callback; empty if the problem is not that of one listener. */
  readonly listener: string;
  readonly message: string;
  /** The run that it was told about; absent if the problem is not that of one call. */
  readonly runId?: string | undefined;
  /** What was thrown: any value, even undefined. */
  readonly error?: unknown;
}
