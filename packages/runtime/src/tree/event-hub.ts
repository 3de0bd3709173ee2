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

/** One observer who reads at its own pace: what it has not read yet, or that it waits. */
class Subscription implements AsyncIterableIterator<RunEvent> {
  private unread: RunEvent[] = [];
  /** How many of them were read. They are dropped when all were: taking each off the front would move all the others. */
  private read = 0;
  private waiting: Reader | undefined;
  /** Whoever asks again before it was answered. */
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

  /** Somebody broke off: nothing stays behind. */
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
    // A reader that never quite catches up would keep all that it has read.
    else if (this.read === MOST_READ) {
      this.unread = this.unread.slice(MOST_READ);
      this.read = 0;
    }
    return event;
  }

  private forget(): void {
    this.unread = [];
    this.read = 0;
  }
}

const MOST_READ = 1_024;

/** An observer that is called, at once, with each event. */
export type EventListener = (event: RunEvent) => void;

/** Tells any number of observers what happens in a tree. They never change it; without them nothing is kept. */
export class EventHub {
  /** Made for the first of them. */
  private observers: Set<Subscription> | undefined;
  private readonly listener: EventListener | undefined;
  private readonly logger: Logger | undefined;
  private seq = 0;
  private over = false;

  constructor(listener?: EventListener, logger?: Logger) {
    this.listener = listener;
    this.logger = logger;
  }

  /** Whether anybody looks, so that nothing is built for nobody. */
  get isWatched(): boolean {
    return this.listener !== undefined || (this.observers !== undefined && this.observers.size > 0);
  }

  /** From now on. */
  subscribe(): AsyncIterableIterator<RunEvent> {
    const subscription = new Subscription((left) => this.observers?.delete(left));
    if (this.over) subscription.end();
    else (this.observers ??= new Set()).add(subscription);
    return subscription;
  }

  /** After its end nobody is told anything, whoever has kept a context. */
  publish(at: number, agentId: AgentId, execId: ExecId, event: AgentEvent): void {
    if (this.over) return;
    const numbered: RunEvent = { seq: ++this.seq, at, agentId, execId, event };
    // What one of them does with it must not reach another. For one alone it is not worth an eighth of the time of a delta.
    const observers = this.observers?.size ?? 0;
    if (observers > 1 || (observers === 1 && this.listener !== undefined)) Object.freeze(numbered);
    // The listener last: what it does at once may publish more, and that comes after this for everybody.
    if (this.observers !== undefined) for (const observer of this.observers) observer.push(numbered);
    if (this.listener !== undefined) this.tell(this.listener, numbered);
  }

  /** Nobody looks, but the number is taken: observers who come later see where they came in. */
  skip(): void {
    this.seq++;
  }

  close(): void {
    this.over = true;
    for (const observer of this.observers ?? []) observer.end();
    this.observers = undefined;
  }

  /** What a listener throws is its own affair. */
  private tell(listener: EventListener, event: RunEvent): void {
    try {
      // It may be asynchronous all the same; nobody else would hear it fail.
      const told: unknown = listener(event);
      if (isPromiseLike(told)) told.then(undefined, (error: unknown) => this.complain(event, error));
    } catch (error) {
      this.complain(event, error);
    }
  }

  private complain({ event }: RunEvent, error: unknown): void {
    const fields = { error: messageOf(error), type: event.type };
    tellLog(this.logger, "error", "a run's onEvent threw; the run goes on", fields);
  }
}
