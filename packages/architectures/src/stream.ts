import type { AgentEvent, AgentResult, RunContext } from "@ravi/kernel";
import { DelegatingContext } from "./context/delegating-context.ts";
import type { StrategyEvents } from "./drive.ts";

/** An event and its number in the run, from 1 and without gaps. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: AgentEvent;
}

/** Passes every emitted event on, and to a callback as well. */
class TapContext extends DelegatingContext {
  private readonly onEvent: (event: AgentEvent) => void;

  constructor(inner: RunContext, onEvent: (event: AgentEvent) => void) {
    super(inner);
    this.onEvent = onEvent;
  }

  override emit(event: AgentEvent): void {
    this.inner.emit(event);
    this.onEvent(event);
  }
}

/**
 * A run that is driven by its reader. Events of a tool loop arrive while the loop runs; the strategy itself does not go on beyond the event
 * that was asked for. It is not a plain generator, because the `return` of one waits for the step in flight, while breaking off must end
 * that step.
 */
export class StrategyStream implements AsyncGenerator<NumberedEvent, AgentResult, void> {
  private readonly ctx: RunContext;
  private readonly input: string;
  private readonly begin: (tapped: RunContext) => Promise<StrategyEvents>;
  private readonly tapped: TapContext;
  private readonly queue: AgentEvent[] = [];
  private events: StrategyEvents | undefined;
  /** The step in flight. It never rejects: a failure is kept in `end` for the next call of `next`. */
  private step: Promise<void> | undefined;
  private end: { readonly result: AgentResult } | { readonly error: unknown } | undefined;
  private isOver = false;
  private lastRead: Promise<unknown> = Promise.resolve();
  private wake: (() => void) | undefined;
  private seq = 0;

  constructor(ctx: RunContext, input: string, begin: (tapped: RunContext) => Promise<StrategyEvents>) {
    this.ctx = ctx;
    this.input = input;
    this.begin = begin;
    this.tapped = new TapContext(ctx, (event) => {
      this.queue.push(event);
      this.wake?.();
    });
  }

  /** If it is called again before an event has arrived, events are given out in the order of the calls. */
  next(): Promise<IteratorResult<NumberedEvent, AgentResult>> {
    const lastRead = this.lastRead.then(() => this.take());
    this.lastRead = lastRead.catch(() => {});
    return lastRead;
  }

  private async take(): Promise<IteratorResult<NumberedEvent, AgentResult>> {
    // The run starts when the first event is asked for, not before.
    if (this.seq === 0 && !this.isOver) return this.number({ type: "started", input: this.input });
    while (this.queue.length === 0 && this.end === undefined && !this.isOver) {
      this.step ??= this.advance();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await Promise.race([this.step, promise]);
      this.wake = undefined;
    }
    const event = this.queue.shift();
    if (event !== undefined) return this.number(event);
    return this.close();
  }

  /** The reader leaves: cancels what is in flight and waits until it has ended. */
  async return(
    value: AgentResult | PromiseLike<AgentResult>,
  ): Promise<IteratorResult<NumberedEvent, AgentResult>> {
    await this.cancelRun("the reader of its events stopped reading");
    return { done: true, value: await value };
  }

  async throw(error: unknown): Promise<IteratorResult<NumberedEvent, AgentResult>> {
    await this.cancelRun("the reader of its events threw an error");
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancelRun("its stream was disposed");
  }

  private async advance(): Promise<void> {
    try {
      this.events ??= await this.begin(this.tapped);
      const { done, value } = await this.events.next();
      if (done === true) this.end = { result: value };
      else this.tapped.emit(value);
    } catch (error) {
      this.end = { error };
    } finally {
      this.step = undefined;
    }
  }

  private close(): IteratorResult<NumberedEvent, AgentResult> {
    const { end } = this;
    if (this.isOver || end === undefined)
      return { done: true, value: end !== undefined && "result" in end ? end.result : CANCELLED };
    this.isOver = true;
    if ("error" in end) throw end.error;
    return this.number({ type: "completed", result: end.result });
  }

  private async cancelRun(reason: string): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.queue.length = 0;
    if (this.end !== undefined) return;
    this.ctx.meta.cancellation.cancel(reason);
    await this.step;
    await this.events?.return(CANCELLED);
  }

  private number(event: AgentEvent): IteratorResult<NumberedEvent, AgentResult> {
    return { done: false, value: { seq: ++this.seq, event } };
  }
}

/** Only for a reader who has left and asks again: there is no answer. A run that is cancelled throws a `CancellationError` to its reader. */
const CANCELLED: AgentResult = Object.freeze({ status: "partial", output: "", stopReason: "steps" });
