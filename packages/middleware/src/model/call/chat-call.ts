import {
  cancellationOf,
  type AbortSignalLike,
  type CallOptions,
  type ChatContext,
  type Clock,
  type Hooks,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  type StreamTransform,
  CancellationError,
  CancellationToken,
  classifyError,
  ErrorKind,
  ProviderError,
  RunMeta,
  textOf,
} from "@ravi/kernel";
import {
  answerProblem,
  withTextArguments,
  checkTransform,
  isStop,
  messageOf,
  refuseNoEvent,
  refuseNoStream,
} from "@ravi/kernel/loop";
import { discard, flush, through } from "./transforms.ts";

export interface ChatCallOptions {
  readonly client: LLMClient;
  readonly request: ModelRequest;
  readonly options: CallOptions;
  readonly agentName: string;
  readonly tenantId: string | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
}

/** Takes an event. If it returns a promise, wait for it before the next event. */
type Sink = (event: ModelEvent) => Promise<void> | undefined;

/** One model call without an agent: its context, and the call to the provider. */
export class ChatCall {
  readonly context: ChatContext;
  /** Whether any event has reached a sink. */
  hasStreamed = false;
  private readonly cancellation: CancellationToken;
  private readonly idempotencyKey: string | undefined;
  private readonly transforms: StreamTransform[] = [];
  /** The current attempt. An earlier one that a layer gave up may still be running; its events are ignored. */
  private streaming: object | undefined;
  /** The signal of the latest attempt. */
  private last: AbortSignalLike | undefined;

  constructor({ client, request, options, agentName, tenantId, hooks, clock }: ChatCallOptions) {
    const cancellation = new CancellationToken(options.signal);
    const meta = RunMeta.standalone({ cancellation, clock, tenantId });
    this.cancellation = cancellation;
    this.idempotencyKey = options.idempotencyKey;
    const context: ChatContext = {
      agentName,
      runId: meta.runId,
      meta,
      hooks,
      clock,
      signal: cancellation.signal,
      systemInstructions: systemTextOf(request),
      model: client,
      request,
      result: undefined,
      call: (model, asked) => model.generate(asked, { signal: context.signal }),
      addTransform: (transform) => void this.transforms.push(checkTransform(transform)),
    };
    this.context = context;
  }

  /** Calls the context's model once and sets the result. */
  async generate(): Promise<void> {
    const { model, request, signal } = this.context;
    if (signal.aborted) throw cancellationOf(signal);
    settle(this.context, signal, await model.generate(request, this.callOptions()));
  }

  /** Like `generate`, streamed. What has reached the sink cannot be taken back, so after that no attempt may follow. */
  async stream(sink: Sink): Promise<void> {
    const { model, request, signal } = this.context;
    if (this.hasStreamed) throw partly(model, whyAgain(this.last));
    this.last = signal;
    if (model.stream === undefined) return this.generate();
    if (signal.aborted) throw cancellationOf(signal);
    // What a transform holds back belongs to the previous attempt.
    if (this.streaming !== undefined) discard(this.transforms);
    const attempt = {};
    this.streaming = attempt;
    try {
      await this.readAll(model.stream(request, this.callOptions()), sink, signal, attempt);
    } catch (error) {
      if (this.streaming === attempt) discard(this.transforms);
      throw this.hasStreamed && !isStop(error) ? partly(model, error) : error;
    } finally {
      if (this.streaming === attempt) this.streaming = undefined;
    }
  }

  cancel(reason: string): void {
    this.cancellation.cancel(reason);
  }

  dispose(): void {
    this.cancellation.dispose();
  }

  private async readAll(
    events: AsyncIterable<ModelEvent>,
    sink: Sink,
    signal: AbortSignalLike,
    attempt: object,
  ): Promise<void> {
    const { context, transforms } = this;
    refuseNoStream(events);
    for await (const event of events) {
      refuseNoEvent(event);
      // A provider may be slow to notice the abort. What it still sends is dropped.
      if (signal.aborted) throw cancellationOf(signal);
      if (this.streaming !== attempt)
        throw new CancellationError({ reason: "a newer attempt of this call has started" });
      if (event.type === "finish") {
        await this.deliver(flush(transforms), sink);
        settle(context, signal, event.response);
        return;
      }
      await this.deliver(through(transforms, event), sink);
    }
    const { provider, model } = context.model.info;
    const message = "the stream ended before its finish event; the answer is incomplete";
    throw new ProviderError({ kind: ErrorKind.SERVER_ERROR, message, provider, model });
  }

  private async deliver(events: readonly ModelEvent[], sink: Sink): Promise<void> {
    for (const event of events) {
      this.hasStreamed = true;
      const room = sink(event);
      if (room !== undefined) await room;
    }
  }

  private callOptions(): CallOptions {
    return { signal: this.context.signal, idempotencyKey: this.idempotencyKey };
  }
}

/** An answer that arrives after its call was given up must not replace another one's. */
function settle(context: ChatContext, signal: AbortSignalLike, response: ModelResponse): void {
  if (signal.aborted) throw cancellationOf(signal);
  const problem = answerProblem(context.model, response);
  if (problem !== undefined) throw problem;
  context.result = withTextArguments(response);
}

/** The error for a failure in the middle of an answer. It is final, because a retry would deliver the beginning twice. */
function partly(model: LLMClient, cause: unknown): ProviderError {
  return new ProviderError({
    kind: classifyError(cause).kind,
    message: `${messageOf(cause)}; part of the answer was streamed already, so the call cannot be retried`,
    provider: model.info.provider,
    model: model.info.model,
    retryable: false,
    cause,
  });
}

/**
 * Why there is another attempt: a layer gave up the one before (because of a timeout, for example), or the reason is not known.
 */
function whyAgain(signal: AbortSignalLike | undefined): Error {
  return signal?.aborted === true ? cancellationOf(signal) : new Error("a layer repeated the call");
}

function systemTextOf({ messages }: ModelRequest): string {
  return messages
    .filter(({ role }) => role === "system")
    .map(textOf)
    .join("\n\n");
}
