import { type HookEvent, isPromiseLike } from "@ravi/kernel";
import type { Channel } from "./channel.ts";
import type { ProblemReporter } from "./problem-reporter.ts";

/** A callback as it was registered, and what was reported about it. `onAny` makes one for all events. */
export interface Subscription {
  readonly callback: object;
  /** How many of its calls are neither finished nor cut off. */
  pending: number;
  wasReportedHung: boolean;
  wasReportedOverloaded: boolean;
}

/** What the emitter calls: the guarded callback for one event. */
export interface Listener {
  (payload: unknown): void;
  readonly subscription: Subscription;
  /** False once it was removed. An emission in progress may still hold it and must skip it. */
  live: boolean;
}

export interface ListenerOptions {
  readonly event: HookEvent;
  readonly channel: Channel;
  readonly subscription: Subscription;
  readonly invoke: (payload: never) => unknown;
  readonly maxPending: number;
  readonly problems: ProblemReporter;
}

export function subscription(callback: object): Subscription {
  return { callback, pending: 0, wasReportedHung: false, wasReportedOverloaded: false };
}

/** Wraps a callback so that nothing it does reaches the dispatching code. */
export function guardCallback(options: ListenerOptions): Listener {
  const { event, channel, subscription: owner, maxPending, problems } = options;
  const invoke = options.invoke as (payload: unknown) => unknown;
  const call = (payload: unknown): void => {
    if (!listener.live) return;
    if (owner.pending >= maxPending) {
      reportOverload(options);
      return;
    }
    try {
      const result = invoke(payload);
      if (isPromiseLike(result)) channel.watch(owner, result, runOf(payload));
    } catch (error) {
      problems.failed(event, owner.callback, error, runOf(payload));
    }
  };
  const listener: Listener = Object.assign(call, { subscription: owner, live: true });
  return listener;
}

function reportOverload({ event, subscription: owner, maxPending, problems }: ListenerOptions): void {
  if (owner.wasReportedOverloaded) return;
  owner.wasReportedOverloaded = true;
  const what = `misses events: ${maxPending} of its calls are still pending; make it faster, or raise maxPending`;
  problems.report({ kind: "overloaded", event, callback: owner.callback, what });
}

/** A dispatcher may give anything as a payload. */
function runOf(payload: unknown): string | undefined {
  const runId: unknown =
    typeof payload === "object" && payload !== null ? Reflect.get(payload, "runId") : undefined;
  return typeof runId === "string" ? runId : undefined;
}
