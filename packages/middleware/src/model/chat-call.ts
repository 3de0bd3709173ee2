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

/** Takes an event; a promise asks to wait before the next. */
type Sink = (event: ModelEvent) => Promise<void> | undefined;

/** One model call without an agent: its context, and the way to the provider. */
export interface ChatCall {
  readonly context: ChatContext;
  /** Calls the context's model once and sets the result. */
  generate(): Promise<void>;
  /** The same, streamed. What has reached the sink cannot be taken back, so after that no attempt is repeated. */
  stream(sink: Sink): Promise<void>;
  /** Whether anything has reached a sink. */
  readonly hasStreamed: boolean;
  cancel(reason: string): void;
  dispose(): void;
}

export function chatCall(call: ChatCallOptions): ChatCall {
  const { options, clock } = call;
  const cancellation = new CancellationToken(options.signal);
  const meta = RunMeta.standalone({ cancellation, clock, tenantId: call.tenantId });
  const transforms: StreamTransform[] = [];
  let hasStreamed = false;
  /** The newest attempt, while it is under way: one that a layer gave up before it may go on, and is not heard. */
  let streaming: object | undefined;
  /** Of the newest attempt that was begun. */
  let last: AbortSignalLike | undefined;
  const context: ChatContext = {
    agentName: call.agentName,
    runId: meta.runId,
    meta,
    hooks: call.hooks,
    clock,
    signal: cancellation.signal,
    systemInstructions: systemTextOf(call.request),
    model: call.client,
    request: call.request,
    result: undefined,
    call: (model, request) => model.generate(request, { signal: context.signal }),
    addTransform: (transform) => void transforms.push(checkTransform(transform)),
  };
  const callOptions = (): CallOptions => ({ signal: context.signal, idempotencyKey: options.idempotencyKey });

  const generate = async (): Promise<void> => {
    const { signal } = context;
    if (signal.aborted) throw cancellationOf(signal);
    settle(context, signal, await context.model.generate(context.request, callOptions()));
  };

  const deliver = async (events: readonly ModelEvent[], sink: Sink): Promise<void> => {
    for (const event of events) {
      hasStreamed = true;
      const room = sink(event);
      if (room !== undefined) await room;
    }
  };

  const readAll = async (
    events: AsyncIterable<ModelEvent>,
    signal: AbortSignalLike,
    sink: Sink,
    attempt: object,
  ): Promise<void> => {
    refuseNoStream(events);
    for await (const event of events) {
      refuseNoEvent(event);
      // A provider may be slow to notice; what it still sends is for nobody.
      if (signal.aborted) throw cancellationOf(signal);
      if (streaming !== attempt) throw new CancellationError({ reason: "another attempt has begun" });
      if (event.type === "finish") {
        await deliver(flush(transforms), sink);
        settle(context, signal, event.response);
        return;
      }
      await deliver(through(transforms, event), sink);
    }
    throw failure(
      context.model,
      ErrorKind.SERVER_ERROR,
      "the stream ended before its finish event; the answer is incomplete",
    );
  };

  return {
    context,
    generate,
    async stream(sink) {
      const { model, signal } = context;
      if (hasStreamed) throw partly(model, whyAgain(last));
      last = signal;
      if (model.stream === undefined) return generate();
      if (signal.aborted) throw cancellationOf(signal);
      // What a transform held back belongs to its attempt, and not to the next.
      if (streaming !== undefined) discard(transforms);
      const attempt = {};
      streaming = attempt;
      try {
        await readAll(model.stream(context.request, callOptions()), signal, sink, attempt);
      } catch (error) {
        if (streaming === attempt) discard(transforms);
        throw hasStreamed && !isStop(error) ? partly(model, error) : error;
      } finally {
        if (streaming === attempt) streaming = undefined;
      }
      return undefined;
    },
    get hasStreamed() {
      return hasStreamed;
    },
    cancel: (reason) => cancellation.cancel(reason),
    dispose: () => cancellation.dispose(),
  };
}

/** An answer that comes after its call was given up must not take the place of another's. */
function settle(context: ChatContext, signal: AbortSignalLike, response: ModelResponse): void {
  if (signal.aborted) throw cancellationOf(signal);
  const problem = answerProblem(context.model, response);
  if (problem !== undefined) throw problem;
  context.result = response;
}

function failure(model: LLMClient, kind: ErrorKind, message: string): ProviderError {
  return new ProviderError({ kind, message, provider: model.info.provider, model: model.info.model });
}

/** A failure in the middle of an answer. It is final: a repeat would say the beginning twice. */
function partly(model: LLMClient, cause: unknown): ProviderError {
  return new ProviderError({
    kind: classifyError(cause).kind,
    message: `${messageOf(cause)}; part of the answer was streamed before, so the call cannot be repeated`,
    provider: model.info.provider,
    model: model.info.model,
    retryable: false,
    cause,
  });
}

/** Why there is another attempt: a layer gave up the one before (its time was up, perhaps), or does not say. */
function whyAgain(signal: AbortSignalLike | undefined): Error {
  return signal?.aborted === true ? cancellationOf(signal) : new Error("the answer was asked for again");
}

function systemTextOf({ messages }: ModelRequest): string {
  return messages
    .filter(({ role }) => role === "system")
    .map(textOf)
    .join("\n\n");
}
