import {
  checkFields,
  checkInteger,
  checkOneOf,
  type Clock,
  HookEvent,
  type HookPayloads,
  type Hooks,
  InvalidValueError,
  type Logger,
  type MaybePromise,
} from "@ravi/kernel";
import { checkFunction, checkPorts } from "@ravi/kernel/loop";
import { Channel } from "./dispatch/channel.ts";
import { guardCallback, type Listener, type Subscription, subscription } from "./dispatch/listener.ts";
import { ProblemReporter } from "./dispatch/problem-reporter.ts";
import { Recursion } from "./dispatch/recursion.ts";
import { OpenRounds } from "./dispatch/round.ts";
import { timersOf } from "./common/timers.ts";
import type { AnyHookCallback, HookCallback, HookProblem, HookSource } from "./types.ts";

export interface HookManagerOptions {
  /** How long a listener may take, in milliseconds; then it is reported and no longer waited for. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** How many calls of one listener may be pending; beyond that it misses events. Default: 10,000. */
  readonly maxPending?: number | undefined;
  /**
   * Gets every problem of a listener as a line. Without it and without `onError`, the console gets the first problem of each
   * listener.
   */
  readonly logger?: Logger | undefined;
  /** Gets every problem as data. What it dispatches itself is ignored. */
  readonly onError?: ((problem: HookProblem) => unknown) | undefined;
  /** Provides the timers. Default: the platform's. */
  readonly clock?: Clock | undefined;
}

/** The longest delay of `setTimeout`; with a longer one it fires at once. */
const LONGEST_TIMEOUT = 2_147_483_647;

/**
 * The observers of a run. They get frozen payloads, run concurrently, and nothing that they do (throw, reject, hang, dispatch, unsubscribe)
 * reaches the dispatching code.
 */
export class HookManager implements Hooks, HookSource {
  /** Only for events that have listeners. */
  private readonly channels = new Map<HookEvent, Channel>();
  private readonly problems: ProblemReporter;
  private readonly rounds: OpenRounds;
  private readonly recursion = new Recursion();
  private readonly reportedRecursion = new Set<HookEvent>();
  private readonly maxPending: number;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: HookManagerOptions = {}) {
    checkFields("HookManager options", options, ["timeoutMs", "maxPending", "logger", "onError", "clock"]);
    checkPorts("HookManager options", { logger: options.logger, clock: options.clock });
    checkFunction("HookManager options.onError", options.onError);
    const timeoutMs = checkInteger("timeoutMs", options.timeoutMs ?? 5_000, 1);
    if (timeoutMs > LONGEST_TIMEOUT) {
      throw new InvalidValueError({
        field: "timeoutMs",
        value: timeoutMs,
        expected: `at most ${LONGEST_TIMEOUT}`,
      });
    }
    this.maxPending = checkInteger("maxPending", options.maxPending ?? 10_000, 1);
    this.problems = new ProblemReporter({ logger: options.logger, onError: options.onError });
    this.rounds = new OpenRounds(timersOf(options.clock), timeoutMs);
  }

  /** Adds a listener. Returns a function that removes it. A callback that is added twice is called twice. */
  on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    checkOneOf("event", event, HookEvent);
    checkCallback(callback);
    return this.add(event, subscription(callback), callback);
  }

  /** Adds a listener for every event. Returns a function that removes it. */
  onAny(callback: AnyHookCallback): () => void;
  // A separate overload: TypeScript does not accept a function of the event alone as an `AnyHookCallback`.
  onAny(callback: (event: HookEvent) => unknown): () => void;
  onAny(callback: AnyHookCallback | ((event: HookEvent) => unknown)): () => void {
    checkCallback(callback);
    const owner = subscription(callback);
    const call = callback as (event: HookEvent, payload: unknown) => unknown;
    const unsubscribes = Object.values(HookEvent).map((event) =>
      this.add(event, owner, (payload: unknown) => call(event, payload)),
    );
    return () => {
      for (const unsubscribe of unsubscribes) unsubscribe();
    };
  }

  /** Like `on`, for callers that remove the callback with `unregister`. */
  register<E extends HookEvent>(event: E, callback: HookCallback<E>): void {
    this.on(event, callback);
  }

  /** Removes the callback from the event, however often it was added. Returns false if it was not there. */
  unregister<E extends HookEvent>(event: E, callback: HookCallback<E>): boolean {
    checkOneOf("event", event, HookEvent);
    const channel = this.channels.get(event);
    if (channel === undefined) return false;
    const leaving = channel.listeners.filter((listener) => listener.subscription.callback === callback);
    for (const listener of leaving) this.remove(event, channel, listener);
    return leaving.length > 0;
  }

  /** Removes all listeners of the event, or of all events. `drain` still waits for calls in progress. */
  clear(event?: HookEvent): void {
    if (event !== undefined) checkOneOf("event", event, HookEvent);
    for (const name of event === undefined ? [...this.channels.keys()] : [event]) {
      this.channels.get(name)?.clear();
      this.channels.delete(name);
    }
  }

  /** Whether the event has listeners. Ask before you build a payload. */
  has(event: HookEvent): boolean {
    return this.channels.has(event);
  }

  /**
   * Calls all listeners of the event, in the order in which they were added, with a frozen copy of the payload. Never throws. Returns a
   * promise only if a listener is still running; it never rejects and need not be awaited.
   */
  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    return this.deliver(event, payload, false);
  }

  /** Like `dispatch`, for a plain payload that was made for this call and that nobody will change: it is frozen, not copied. */
  dispatchOwn<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    // If `dispatch` was overridden or replaced, it must see these events too.
    return this.dispatch === DISPATCH ? this.deliver(event, payload, true) : this.dispatch(event, payload);
  }

  private deliver(event: HookEvent, payload: object, isOwn: boolean): MaybePromise<void> {
    const channel = this.channels.get(event);
    if (channel === undefined || this.problems.isReporting) return undefined;
    if (!this.recursion.enter()) {
      this.reportRecursion(event);
      return undefined;
    }
    try {
      const round = channel.emit(payload, isOwn);
      return round?.isOpen === true ? this.rounds.follow(round) : undefined;
    } catch (error) {
      this.problems.report({
        kind: "payload",
        event,
        what: "were not called, because the payload could not be copied",
        thrown: { error },
      });
      return undefined;
    } finally {
      this.recursion.leave();
    }
  }

  /** Resolves when every dispatch so far is finished or cut off; undefined if there is nothing to wait for. */
  drain(): MaybePromise<void> {
    return this.rounds.drain();
  }

  private add(event: HookEvent, owner: Subscription, invoke: (payload: never) => unknown): () => void {
    const { maxPending, problems } = this;
    const channel = this.channels.get(event) ?? new Channel(event, problems);
    const listener = guardCallback({ event, channel, subscription: owner, invoke, maxPending, problems });
    channel.add(listener);
    this.channels.set(event, channel);
    return () => this.remove(event, channel, listener);
  }

  private remove(event: HookEvent, channel: Channel, listener: Listener): void {
    channel.remove(listener);
    // The event may have a newer channel by now: all listeners had left, and others came.
    if (channel.isEmpty && this.channels.get(event) === channel) this.channels.delete(event);
  }

  private reportRecursion(event: HookEvent): void {
    if (this.reportedRecursion.has(event)) return;
    this.reportedRecursion.add(event);
    const what =
      "are dispatched again and again from inside a listener; the innermost dispatch was dropped (reported once)";
    this.problems.report({ kind: "recursion", event, what });
  }
}

const DISPATCH: unknown = Reflect.get(HookManager.prototype, "dispatch");

function checkCallback(callback: unknown): void {
  if (typeof callback === "function") return;
  throw new InvalidValueError({ field: "callback", value: callback, expected: "a function" });
}
