import {
  type AbortSignalLike,
  type ChatContext,
  type Effect,
  type EffectScope,
  errorFromJSON,
  type Estimate,
  type JsonObject,
  type LLMClient,
  type LlmLeaf,
  type MaybePromise,
  MiddlewareError,
  type ModelRequest,
  type ModelResponse,
  NO_USAGE,
  type Pipeline,
  type SerializedError,
  type StreamTransform,
  type Usage,
} from "@ravi/kernel";
import { checkTransform } from "@ravi/kernel/loop";
import { promised, rejected } from "../rejected.ts";
import { andThen } from "../and-then.ts";
import { attempt, type AttemptOptions, estimateOf } from "./attempt.ts";
import { Bill } from "./bill.ts";
import type { ChatCall } from "./chat-call.ts";
import type { Execution } from "./execution.ts";
import { layersAnswer } from "./layer-result.ts";
import { refuseLate } from "./level-call.ts";
import { asideOf } from "./noted.ts";
import { endSpan, isMeasured, startSpan } from "./observe.ts";
import { ownResponse } from "./own-response.ts";
import { type Sink, streamOut } from "./stream-out.ts";
import { tellCallEnd, tellCallStart, type ToldCall, type ToldEnd } from "./tell-call.ts";
import { writableResponse } from "./writable-response.ts";

/** What is on record of what a call took. */
type Recorded = { readonly usage: Usage; readonly cost: number; readonly priced: boolean };
type SentTo = { readonly provider: string; readonly model: string };

/** A model call that was asked for, from its begin to its end. */
export class ModelEffect implements Effect<ModelResponse>, ToldCall {
  readonly kind = "llm";
  /** A layer answered in its `admit`: nothing is made and nothing is recorded. */
  refused: ModelResponse | undefined;
  readonly key: string;
  readonly onDoubt = "retry";
  /** Where there are layers. */
  context: ChatCall | undefined;
  readonly exec: Execution;
  private readonly leaf: LlmLeaf;
  transforms: StreamTransform[] | undefined;
  sink: Sink | undefined;
  private readonly bill = new Bill();
  private scope: EffectScope | undefined;
  private started = 0;
  endedAt: number | undefined;
  isRecordGiven = false;
  /** A copy of the answer, for the record. */
  private own: ModelResponse | undefined;
  private span: ReturnType<typeof startSpan>;
  private begunModel: LLMClient | undefined;
  private begunRequest: ModelRequest | undefined;
  sentTo: ToldCall["sentTo"];
  /** The try whose answer is streamed. */
  private answering: AttemptOptions | undefined;
  /** Of what it was begun with; the first attempt goes by it too, where no layer has changed the call. */
  estimate: Estimate | undefined;
  /** What its begin has set aside. For the first of its tries: where the ledger refused that, it was never there. */
  begun: Estimate | undefined;

  constructor(exec: Execution, key: string, leaf: LlmLeaf) {
    this.exec = exec;
    this.key = key;
    this.leaf = leaf;
  }

  get what(): string {
    return `the call of ${this.leaf.model.id}`;
  }

  fingerprint(): string {
    return this.exec.requests.fingerprint(this.leaf.model.id, this.context?.request ?? this.leaf.request);
  }

  /** With what a crash in the middle would leave charged. */
  begin(): MaybePromise<JsonObject> {
    const { exec, leaf } = this;
    const messages = leaf.request.messages.length;
    if (!exec.engine.isMetered) return { messages, fingerprint: undefined };
    const { model, request } = this.context ?? leaf;
    this.begunModel = model;
    this.begunRequest = request;
    return andThen(estimateOf(exec, model, request), reserve, this, messages);
  }

  // Not asynchronous itself: what it needs at its end is kept with the call, and not once more with a frame of it.
  run(scope: EffectScope): Promise<ModelResponse> {
    const { exec } = this;
    this.scope = scope;
    try {
      this.started = exec.ports.clock.now();
      tellCallStart(exec, this, this.started);
      this.span = startModelSpan(exec, this);
    } catch (error) {
      return rejected(error);
    }
    return this.through();
  }

  /** Through the layers. */
  private through(): Promise<ModelResponse> {
    const { leaf, context } = this;
    const { chat } = this.exec.plan;
    if (chat !== undefined && context !== undefined) return this.throughLayers(chat, context);
    return this.streamed(leaf.model, leaf.request, undefined).then(
      (response) => this.succeeded(response),
      (error: unknown) => this.broken(error),
    );
  }

  private throughLayers(chat: Pipeline<ChatContext>, context: ChatCall): Promise<ModelResponse> {
    return promised(() => chat.run(context, () => this.innermost(context))).then(
      () => this.answeredBy(context),
      (error: unknown) => this.broken(error),
    );
  }

  private answeredBy(context: ChatCall): ModelResponse {
    let response: ModelResponse;
    try {
      response = layersAnswer(context);
    } catch (error) {
      return this.broken(error);
    }
    return this.succeeded(response);
  }

  private succeeded(given: ModelResponse): ModelResponse {
    let response = given;
    if (this.exec.engine.isDurable) {
      this.own = ownResponse(given);
      try {
        if (this.own === undefined)
          response = writableResponse(this.context?.model ?? this.leaf.model, given);
      } catch (error) {
        return this.broken(error);
      }
    }
    this.bill.isClosed = true;
    endSpan(this.exec, this.span);
    this.tellEnd("ok", response);
    return response;
  }

  private broken(error: unknown): never {
    this.bill.isClosed = true;
    endSpan(this.exec, this.span, error);
    this.tellEnd("error", undefined, error);
    throw error;
  }

  record(response: ModelResponse): JsonObject {
    const { bill } = this;
    const { costUsd } = bill;
    const own = bill.estimated ? undefined : this.own;
    this.isRecordGiven = own !== undefined;
    const sentTo = this.elsewhere();
    if (own !== undefined && sentTo === undefined) return { response: own, spend: bill.toJSON(), costUsd };
    const body = { response: own ?? response, spend: bill.toJSON(), costUsd };
    return { ...body, ...(bill.estimated && { estimated: true }), ...(sentTo !== undefined && { sentTo }) };
  }

  /** Who answered, where it was not the agent's model: whoever listens to a replay is told the same. */
  private elsewhere(): SentTo | undefined {
    const { sentTo, leaf } = this;
    if (sentTo === undefined || sentTo === leaf.model) return undefined;
    const { provider, model } = sentTo.info;
    return { provider, model };
  }

  restore(body: JsonObject): ModelResponse {
    return body["response"] as ModelResponse;
  }

  spend(): JsonObject | undefined {
    return this.bill.isEmpty ? undefined : this.bill.toJSON();
  }

  failureNote(): JsonObject {
    const sentTo = this.elsewhere();
    return { ...(this.bill.estimated && { estimated: true }), ...(sentTo !== undefined && { sentTo }) };
  }

  isSettled(): boolean {
    return this.bill.isSettled;
  }

  /** A model call of a layer's own. A time limit around that layer stops it too. */
  nested(model: LLMClient, request: ModelRequest): Promise<ModelResponse> {
    return this.attempt(model, request, this.context?.ownSignal, undefined, true);
  }

  addTransform(transform: StreamTransform): void {
    (this.transforms ??= []).push(checkTransform(transform));
  }

  private innermost(context: ChatCall): Promise<void> {
    const { ownSignal } = context;
    context.newestSignal = ownSignal;
    return this.streamed(context.model, context.request, ownSignal).then((result) => {
      refuseLate(context, ownSignal);
      context.result = result;
    });
  }

  private attempt(
    model: LLMClient,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
    sink: Sink | undefined,
    isNested = false,
  ): Promise<ModelResponse> {
    const { exec, bill, scope, leaf } = this;
    if (scope === undefined) {
      // Before the call is begun nothing is on record that it could be paid under.
      const problem = "call() was used in admit, where nothing may be paid; it belongs to process";
      return Promise.reject(new MiddlewareError({ layer: "chat", problem }));
    }
    const { idempotencyKey } = scope;
    const wrapUp = leaf.wrapUp ?? false;
    const isSame = this.begunModel === model && this.begunRequest === request && !isNested;
    const estimate = isSame ? this.estimate : undefined;
    // For one attempt: another may come after the prices, or the messages, have changed.
    this.estimate = undefined;
    const begun = !isNested && this.begunModel === model ? this.begun : undefined;
    if (!isNested) {
      this.begun = undefined;
      this.sentTo = model;
    }
    const options: AttemptOptions = {
      model,
      request,
      signal,
      idempotencyKey,
      wrapUp,
      bill,
      sink,
      scope,
      isNested,
      estimate,
      begun,
      call: 0,
      tokens: 0,
    };
    if (sink !== undefined) this.beginAnswer(options);
    return attempt(exec, options);
  }

  /** Whoever shows an answer while it comes has shown a part of one that is not going on. */
  private beginAnswer(options: AttemptOptions): void {
    if (this.answering?.hasStreamed === true)
      this.exec.emit({ type: "progress", name: "answerRestarted", data: { key: this.key } });
    this.answering = options;
  }

  private streamed(
    model: LLMClient,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
  ): Promise<ModelResponse> {
    if (!this.exec.engine.isWatched) return this.attempt(model, request, signal, undefined);
    return streamOut(this, signal, (sink) => this.attempt(model, request, signal, sink));
  }

  /** What is on record is told again, marked as such, with what it cost then. */
  replayed(body: JsonObject): void {
    const { exec } = this;
    const started = exec.ports.clock.now();
    tellCallStart(exec, this, started, true);
    if (body["sentTo"] !== undefined) this.sentTo = { info: body["sentTo"] as SentTo };
    const response = body["response"] as ModelResponse | undefined;
    const spend = body["spend"] as Partial<Recorded> | undefined;
    const { usage = NO_USAGE, cost = 0, priced = true } = spend ?? {};
    const costUsd = priced ? cost : null;
    const then = { started, replayed: true, usage, costUsd, estimated: body["estimated"] === true } as const;
    if (response === undefined) tellCallEnd(exec, this, { status: "error", error: errorIn(body), ...then });
    else tellCallEnd(exec, this, { status: "ok", response, ...then });
  }

  private tellEnd(status: ToldEnd["status"], response: ModelResponse | undefined, error?: unknown): void {
    const { started } = this;
    const { usage, costUsd, estimated } = this.bill;
    this.endedAt = tellCallEnd(this.exec, this, {
      status,
      response,
      error,
      started,
      replayed: false,
      usage,
      costUsd,
      estimated,
    });
  }

  get model(): LLMClient {
    return this.leaf.model;
  }

  get request(): ModelRequest {
    return this.leaf.request;
  }
}

/** Undefined where it was withdrawn. */
function errorIn(body: JsonObject): unknown {
  const error = body["error"];
  return error === undefined ? undefined : errorFromJSON(error as SerializedError);
}

/** Keeps the estimate for the first attempt, and says in the entry of the begin what that sets aside. */
function reserve(estimate: Estimate, call: ModelEffect, messages: number): JsonObject {
  call.estimate = estimate;
  call.begun = estimate;
  const aside = asideOf(estimate);
  // It may wait in a long line, and is on record once more when it is sent.
  if (call.exec.ports.limiter !== undefined)
    return { messages, reserve: aside, fingerprint: undefined, inLine: true };
  // With room for what the recorder adds: a field that an object was not made with takes 40 bytes more.
  return { messages, reserve: aside, fingerprint: undefined };
}

function startModelSpan(exec: Execution, { key, model }: ToldCall): ReturnType<typeof startSpan> {
  return isMeasured(exec)
    ? startSpan(exec, "ravi.llm", { key, provider: model.info.provider, model: model.info.model })
    : undefined;
}
