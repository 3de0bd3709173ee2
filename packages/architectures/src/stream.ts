import type { AgentEvent, AgentResult, RunContext } from "@ravi/kernel";
import { DelegatingContext } from "./context/delegating-context.ts";
import type { Driven } from "./drive.ts";

/** An event and its number in the run, from 1 and without gaps. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: AgentEvent;
}

/** Passes every emitted event on, and to a callback as well. */
class TapContext extends DelegatingContext {
  private readonly hear: (event: AgentEvent) => void;

  constructor(inner: RunContext, hear: (event: AgentEvent) => void) {
    super(inner);
    this.hear = hear;
  }

  override emit(event: AgentEvent): void {
    this.inner.emit(event);
    this.hear(event);
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
  private readonly begin: (tapped: RunContext) => Promise<Driven>;
  private readonly tapped: TapContext;
  private readonly queue: AgentEvent[] = [];
  private driven: Driven | undefined;
  /** The step in flight. It never rejects: a failure is kept in `end` for the next call of `next`. */
  private step: Promise<void> | undefined;
  private end: { readonly result: AgentResult } | { readonly error: unknown } | undefined;
  private isOver = false;
  private asked: Promise<unknown> = Promise.resolve();
  private wake: (() => void) | undefined;
  private seq = 0;

  constructor(ctx: RunContext, input: string, begin: (tapped: RunContext) => Promise<Driven>) {
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
    const asked = this.asked.then(() => this.take());
    this.asked = asked.catch(() => {});
    return asked;
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
    await this.breakOff("its reader went away");
    return { done: true, value: await value };
  }

  async throw(error: unknown): Promise<IteratorResult<NumberedEvent, AgentResult>> {
    await this.breakOff("its reader failed");
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.breakOff("its reader is done");
  }

  private async advance(): Promise<void> {
    try {
      this.driven ??= await this.begin(this.tapped);
      const { done, value } = await this.driven.next();
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

  private async breakOff(reason: string): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.queue.length = 0;
    if (this.end !== undefined) return;
    this.ctx.meta.cancellation.cancel(reason);
    await this.step;
    await this.driven?.return(CANCELLED);
  }

  private number(event: AgentEvent): IteratorResult<NumberedEvent, AgentResult> {
    return { done: false, value: { seq: ++this.seq, event } };
  }
}

/** Only for a reader who has left and asks again: there is no answer. A run that is cancelled throws a `CancellationError` to its reader. */
const CANCELLED: AgentResult = Object.freeze({ status: "partial", output: "", stopReason: "steps" });
