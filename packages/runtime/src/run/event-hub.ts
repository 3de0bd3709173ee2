import type { AgentEvent, AgentId, ExecId, Logger, RunEvent } from "@ravi/kernel";
import { type EventListener, observedEvent, Subscription, tellListener } from "@ravi/kernel/loop";

const NOBODY: readonly Subscription<RunEvent>[] = [];

/** Publishes the events of a run to any number of observers, who cannot affect the run. Without observers nothing is stored. */
export class EventHub {
  /** Replaced when somebody comes or leaves, perhaps while an event is sent. A set would take 2 % of the time of a delta. */
  private observers: readonly Subscription<RunEvent>[] = NOBODY;
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
    const leave = (left: Subscription<RunEvent>): void => {
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
    const numbered: RunEvent = { seq: ++this.seq, at, agentId, execId, event: observedEvent(event) };
    // Frozen, so that no observer can change what another one gets. Not for a single one: it would take an eighth of the time of a delta.
    const { observers } = this;
    if (observers.length > 1 || (observers.length === 1 && this.listener !== undefined))
      Object.freeze(numbered);
    // The listener comes last: it may publish further events, which must come after this one for all observers.
    for (const observer of observers) observer.push(numbered);
    if (this.listener !== undefined) tellListener(this.listener, numbered, this.logger);
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
}
