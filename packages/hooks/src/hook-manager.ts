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
import { checkPorts } from "@ravi/kernel/loop";
import { Channel } from "./channel.ts";
import { checkListener } from "./checks.ts";
import { guard, type Listener, type Subscription, subscription } from "./listener.ts";
import { Problems } from "./problems.ts";
import { Recursion } from "./recursion.ts";
import { OpenRounds } from "./round.ts";
import { timersOf } from "./timers.ts";
import type { AnyHookCallback, HookCallback, HookProblem, HookSource } from "./types.ts";

export interface HookManagerOptions {
  /** How long a listener may take before it is no longer waited for. Default 5,000. */
  readonly timeoutMs?: number | undefined;
  /** How many calls of one listener may be pending; beyond it the listener misses events. Default 10,000. */
  readonly maxPending?: number | undefined;
  /** Is told of every problem with a listener. Without it, and without `onError`, the console is: once for each listener. */
  readonly logger?: Logger | undefined;
  /** Is told the same as data. What it dispatches itself is ignored. */
  readonly onError?: ((problem: HookProblem) => unknown) | undefined;
  /** Where timers come from; the platform's without one. */
  readonly clock?: Clock | undefined;
}

/** What `setTimeout` can count to; beyond it, it fires at once. */
const LONGEST_TIMEOUT = 2_147_483_647;

/**
 * The observers of a run. They get frozen copies, run side by side, and nothing that they do (throw, reject, hang, dispatch,
 * leave) reaches whoever dispatches.
 */
export class HookManager implements Hooks, HookSource {
  /** Only of events to which somebody listens. */
  private readonly channels = new Map<HookEvent, Channel>();
  private readonly problems: Problems;
  private readonly rounds: OpenRounds;
  private readonly recursion = new Recursion();
  private readonly toldRecursion = new Set<HookEvent>();
  private readonly maxPending: number;

  constructor(options: HookManagerOptions = {}) {
    checkFields("HookManager options", options, ["timeoutMs", "maxPending", "logger", "onError", "clock"]);
    checkPorts("HookManager options", { logger: options.logger, clock: options.clock });
    checkListener("HookManager options.onError", options.onError);
    const timeoutMs = checkInteger("timeoutMs", options.timeoutMs ?? 5_000, 1);
    if (timeoutMs > LONGEST_TIMEOUT) {
      throw new InvalidValueError({
        field: "timeoutMs",
        value: timeoutMs,
        expected: `at most ${LONGEST_TIMEOUT}`,
      });
    }
    this.maxPending = checkInteger("maxPending", options.maxPending ?? 10_000, 1);
    this.problems = new Problems({ logger: options.logger, onError: options.onError });
    this.rounds = new OpenRounds(timersOf(options.clock), timeoutMs);
  }

  /** Returns how to take this callback off again. Added twice, it is called twice. */
  on<E extends HookEvent>(event: E, callback: HookCallback<E>): () => void {
    checkOneOf("event", event, HookEvent);
    checkCallback(callback);
    return this.add(event, subscription(callback), callback);
  }

  /** One callback for every event. */
  onAny(callback: AnyHookCallback): () => void;
  // By itself, since TypeScript takes no function of the event alone for one of pairs.
  onAny(callback: (event: HookEvent) => unknown): () => void;
  onAny(callback: AnyHookCallback | ((event: HookEvent) => unknown)): () => void {
    checkCallback(callback);
    const owner = subscription(callback);
    const call = callback as (event: HookEvent, payload: unknown) => unknown;
    const leaves = Object.values(HookEvent).map((event) =>
      this.add(event, owner, (payload: unknown) => call(event, payload)),
    );
    return () => {
      for (const leave of leaves) leave();
    };
  }

  /** `on` for those who take it off by `unregister`. */
  register<E extends HookEvent>(event: E, callback: HookCallback<E>): void {
    this.on(event, callback);
  }

  /** Takes the callback off the event, however often it was added. False when it was not there. */
  unregister<E extends HookEvent>(event: E, callback: HookCallback<E>): boolean {
    checkOneOf("event", event, HookEvent);
    const channel = this.channels.get(event);
    if (channel === undefined) return false;
    const leaving = channel.listeners.filter((listener) => listener.subscription.callback === callback);
    for (const listener of leaving) this.remove(event, channel, listener);
    return leaving.length > 0;
  }

  /** Takes off all listeners of the event, or of all events. What is under way is still drained. */
  clear(event?: HookEvent): void {
    if (event !== undefined) checkOneOf("event", event, HookEvent);
    for (const name of event === undefined ? [...this.channels.keys()] : [event]) {
      this.channels.get(name)?.clear();
      this.channels.delete(name);
    }
  }

  has(event: HookEvent): boolean {
    return this.channels.has(event);
  }

  /**
   * Tells all listeners of the event, in the order in which they came. Never throws. The promise, where a listener is still
   * at work, never rejects; it need not be awaited.
   */
  dispatch<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    return this.tell(event, payload, false);
  }

  /** The same for plain data that was made for it, and that nobody will change: it is frozen, not copied. */
  dispatchOwn<E extends HookEvent>(event: E, payload: HookPayloads[E]): MaybePromise<void> {
    // Whoever has put a `dispatch` of their own in its place is not passed by.
    return this.dispatch === DISPATCH ? this.tell(event, payload, true) : this.dispatch(event, payload);
  }

  private tell(event: HookEvent, payload: object, isOwn: boolean): MaybePromise<void> {
    const channel = this.channels.get(event);
    if (channel === undefined || this.problems.telling) return undefined;
    if (!this.recursion.enter()) {
      this.tooDeep(event);
      return undefined;
    }
    try {
      const round = channel.tell(payload, isOwn);
      return round?.isOpen === true ? this.rounds.follow(round) : undefined;
    } catch (error) {
      this.problems.tell({
        kind: "payload",
        event,
        what: "were not told, as the payload could not be copied",
        thrown: { error },
      });
      return undefined;
    } finally {
      this.recursion.leave();
    }
  }

  /** Resolves when every dispatch so far is done or cut off; undefined when there is nothing to wait for. */
  drain(): MaybePromise<void> {
    return this.rounds.drain();
  }

  private add(event: HookEvent, owner: Subscription, invoke: (payload: never) => unknown): () => void {
    const { maxPending, problems } = this;
    const channel = this.channels.get(event) ?? new Channel(event, problems);
    const listener = guard({ event, channel, subscription: owner, invoke, maxPending, problems });
    channel.add(listener);
    this.channels.set(event, channel);
    return () => this.remove(event, channel, listener);
  }

  private remove(event: HookEvent, channel: Channel, listener: Listener): void {
    channel.remove(listener);
    // It may be that of an earlier time: all had left, and others came.
    if (channel.isEmpty && this.channels.get(event) === channel) this.channels.delete(event);
  }

  private tooDeep(event: HookEvent): void {
    if (this.toldRecursion.has(event)) return;
    this.toldRecursion.add(event);
    const what =
      "dispatch again and again from inside a listener; the innermost dispatch was dropped (told once)";
    this.problems.tell({ kind: "recursion", event, what });
  }
}

const DISPATCH: unknown = Reflect.get(HookManager.prototype, "dispatch");

function checkCallback(callback: unknown): void {
  if (typeof callback === "function") return;
  throw new InvalidValueError({ field: "callback", value: callback, expected: "a function" });
}
