import {
  type AgentEvent,
  type AgentId,
  type ExecId,
  isPromiseLike,
  type Logger,
  type RunEvent,
} from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";

type Reader = (result: IteratorResult<RunEvent>) => void;

/** One observer, which reads at its own pace. Holds the events that it has not read yet. */
class Subscription implements AsyncIterableIterator<RunEvent> {
  private unread: RunEvent[] = [];
  /** How many events of `unread` were read already. Removing each one from the front would move all the others. */
  private read = 0;
  private waiting: Reader | undefined;
  /** Further calls of `next` before the first was answered. */
  private alsoWaiting: Reader[] | undefined;
  private ended = false;
  private readonly leave: (subscription: Subscription) => void;

  constructor(leave: (subscription: Subscription) => void) {
    this.leave = leave;
  }

  push(event: RunEvent): void {
    const { waiting } = this;
    if (waiting === undefined) {
      this.unread.push(event);
      return;
    }
    this.waiting = this.alsoWaiting?.shift();
    waiting({ value: event, done: false });
  }

  end(): void {
    this.ended = true;
    const { waiting, alsoWaiting = [] } = this;
    this.waiting = this.alsoWaiting = undefined;
    waiting?.({ value: undefined, done: true });
    for (const reader of alsoWaiting) reader({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<RunEvent>> {
    const event = this.take();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      if (this.waiting === undefined) this.waiting = resolve;
      else (this.alsoWaiting ??= []).push(resolve);
    });
  }

  /** Called when the reader stops early. Nothing is kept for it. */
  return(): Promise<IteratorResult<RunEvent>> {
    this.leave(this);
    this.forget();
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private take(): RunEvent | undefined {
    const event = this.unread[this.read];
    if (event === undefined) return undefined;
    this.read++;
    if (this.read === this.unread.length) this.forget();
    // Otherwise a reader that never quite catches up would keep everything that it has read.
    else if (this.read === MAX_READ) {
      this.unread = this.unread.slice(MAX_READ);
      this.read = 0;
    }
    return event;
  }

  private forget(): void {
    this.unread = [];
    this.read = 0;
  }
}

const MAX_READ = 1_024;
const NOBODY: readonly Subscription[] = [];

/** An observer that is called synchronously with each event. */
export type EventListener = (event: RunEvent) => void;

/** Publishes the events of a run to any number of observers, who cannot affect the run. Without observers nothing is stored. */
export class EventHub {
  /** Replaced when somebody comes or leaves, perhaps while an event is sent. A set would take 2 % of the time of a delta. */
  private observers: readonly Subscription[] = NOBODY;
  private readonly listener: EventListener | undefined;
  private readonly logger: Logger | undefined;
  private seq = 0;
  private over = false;

  constructor(listener?: EventListener, logger?: Logger) {
    this.listener = listener;
    this.logger = logger;
  }

  /** Whether anybody observes the run. Ask first, so that an event is built only if somebody gets it. */
  get isWatched(): boolean {
    return this.listener !== undefined || this.observers.length > 0;
  }

  /** Events from now on, until the run ends or the reader stops. */
  subscribe(): AsyncIterableIterator<RunEvent> {
    const leave = (left: Subscription): void => {
      this.observers = this.observers.filter((observer) => observer !== left);
    };
    const subscription = new Subscription(leave);
    if (this.over) subscription.end();
    else this.observers = [...this.observers, subscription];
    return subscription;
  }

  /** Numbers an event and sends it to all observers. Does nothing after the run's end, even if somebody has kept a context. */
  publish(at: number, agentId: AgentId, execId: ExecId, event: AgentEvent): void {
    if (this.over) return;
    const numbered: RunEvent = { seq: ++this.seq, at, agentId, execId, event };
    // Frozen, so that no observer can change what another one gets. Not for a single one: it would take an eighth of the time of a delta.
    const { observers } = this;
    if (observers.length > 1 || (observers.length === 1 && this.listener !== undefined))
      Object.freeze(numbered);
    // The listener comes last: it may publish further events, which must come after this one for all observers.
    for (const observer of observers) observer.push(numbered);
    if (this.listener !== undefined) this.notify(this.listener, numbered);
  }

  /** Counts an event that nobody observes, so that later observers see from its number how many came before. */
  skip(): void {
    this.seq++;
  }

  close(): void {
    this.over = true;
    for (const observer of this.observers) observer.end();
    this.observers = NOBODY;
  }

  /** Calls the listener. If it throws, that is only logged. */
  private notify(listener: EventListener, event: RunEvent): void {
    try {
      // It may be an async function, whose rejection would go unhandled otherwise.
      const returned: unknown = listener(event);
      if (isPromiseLike(returned))
        returned.then(undefined, (error: unknown) => this.logFailure(event, error));
    } catch (error) {
      this.logFailure(event, error);
    }
  }

  private logFailure({ event }: RunEvent, error: unknown): void {
    const fields = { error: messageOf(error), type: event.type };
    tellLog(this.logger, "error", "onEvent threw an error; the run continues", fields);
  }
}
