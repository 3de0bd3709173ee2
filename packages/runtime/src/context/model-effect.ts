import {
  type AbortSignalLike,
  type Effect,
  type EffectScope,
  type Estimate,
  type JsonObject,
  type LLMClient,
  type LlmLeaf,
  type MaybePromise,
  MiddlewareError,
  type ModelRequest,
  type ModelResponse,
  type Span,
  type StreamTransform,
} from "@ravi/kernel";
import { checkTransform } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { promised } from "../promises/rejected.ts";
import type { ChatCall } from "./chat-call.ts";
import type { Execution } from "./execution.ts";
import { layersAnswer } from "./layer-result.ts";
import { refuseLate } from "./level-call.ts";
import {
  modelRecord,
  recordNote,
  replayedBill,
  replayedEnd,
  type Substitute,
  substituteIn,
} from "./model-record.ts";
import { asItIs, Attempt } from "./money/attempt.ts";
import { Bill } from "./money/bill.ts";
import { estimateOf, reserveRecord } from "./money/estimate.ts";
import { endModelSpan, startModelSpan } from "./model-span.ts";
import { isMeasured, within } from "./observe.ts";
import { copyResponse } from "./copy-response.ts";
import { restartAnswer, type Sink, streamOut, tellAnswer, type Told } from "./stream-out.ts";
import { reportCallEnd, reportCallStart, type ReportedCall } from "./report-call.ts";
import { writableResponse } from "./writable-response.ts";

/** A model, and what it is asked. */
type RequestedCall = Pick<LlmLeaf, "model" | "request">;

/**
 * One model call of an agent, from its begin entry to its end entry. On its way through the chat layers it makes attempts (usually
 * one), and layers may make calls of their own inside of it: all are charged to its bill.
 */
export class ModelEffect implements Effect<ModelResponse>, ReportedCall {
  readonly kind = "llm";
  readonly onDoubt = "retry";
  readonly key: string;
  readonly exec: Execution;
  private readonly leaf: LlmLeaf;
  /** Present if there are layers. */
  context: ChatCall | undefined;
  /** The answer, if a layer gave one in its `admit`. Then nothing is sent and nothing is recorded. */
  refused: ModelResponse | undefined;
  private readonly bill = new Bill();
  private scope: EffectScope | undefined;
  private span: Span | undefined;
  private startedAt = 0;
  endedAt: number | undefined;
  /** The model that the last attempt was sent to. */
  sentTo: ReportedCall["sentTo"];
  /** A copy of the answer, for the record. */
  private ownCopy: ModelResponse | undefined;
  isRecordGiven = false;

  /** The call that the begin entry is about, and the estimate that it reserves. */
  private begunModel: LLMClient | undefined;
  private begunRequest: ModelRequest | undefined;
  recordedEstimate: Estimate | undefined;
  /** The same estimate, while no other call has been made since: later, prices or messages may have changed. */
  freshEstimate: Estimate | undefined;

  transforms: StreamTransform[] | undefined;
  sink: Sink | undefined;
  told: Told | undefined;

  constructor(exec: Execution, key: string, leaf: LlmLeaf) {
    this.exec = exec;
    this.key = key;
    this.leaf = leaf;
  }

  get model(): LLMClient {
    return this.leaf.model;
  }

  get request(): ModelRequest {
    return this.leaf.request;
  }

  /** Whether anybody is told what the answer says. */
  get isHeard(): boolean {
    return this.exec.engine.isWatched && !this.isQuiet;
  }

  get isQuiet(): boolean {
    return this.leaf.quiet === true;
  }

  /** Whether the agent itself makes a failed call again. */
  get isRetried(): boolean {
    return this.leaf.retried === true;
  }

  get what(): string {
    return `the call to ${this.leaf.model.id}`;
  }

  fingerprint(): string {
    return this.exec.requests.fingerprint(this.leaf.model.id, this.context?.request ?? this.leaf.request);
  }

  /** Makes the begin entry, with the amount that stays charged after a crash in the middle of the call. */
  begin(): MaybePromise<JsonObject> {
    return this.isQuiet ? andThen(this.beginning(), quietly) : this.beginning();
  }

  private beginning(): MaybePromise<JsonObject> {
    const { exec, leaf } = this;
    const messages = leaf.request.messages.length;
    if (!exec.engine.isMetered) return { messages, fingerprint: undefined };
    const { model, request } = this.context ?? leaf;
    this.begunModel = model;
    this.begunRequest = request;
    return andThen(estimateOf(exec, model, request), beginEntry, this, messages);
  }

  run(scope: EffectScope): Promise<ModelResponse> {
    return promised(() => this.startRun(scope)).then(
      (answer) => this.finishRun(answer),
      (error: unknown) => {
        throw this.failRun(error);
      },
    );
  }

  // Not async: what it needs at its end is kept in fields, and an async frame would keep it once more.
  startRun(scope: EffectScope): Promise<ModelResponse | void> {
    const { exec } = this;
    this.scope = scope;
    this.startedAt = exec.ports.clock.now();
    reportCallStart(exec, this, this.startedAt);
    return isMeasured(exec) ? this.passMeasured() : this.passLayers();
  }

  private passMeasured(): Promise<ModelResponse | void> {
    const { exec, key, model } = this;
    const request = this.context?.request ?? this.leaf.request;
    const span = startModelSpan(exec, { key, model, request }, exec.span);
    this.span = span;
    return span === undefined ? this.passLayers() : within(exec, span, () => this.passLayers());
  }

  private passLayers(): Promise<ModelResponse | void> {
    const { exec, context, leaf } = this;
    const { chat } = exec.plan;
    if (chat === undefined || context === undefined) return this.answerOf(leaf, undefined, asItIs);
    return promised(() => chat.run(context, () => this.innermost(context)));
  }

  /** Called by the innermost layer, once or several times. */
  private innermost(context: ChatCall): Promise<void> {
    const { ownSignal } = context;
    context.newestSignal = ownSignal;
    return this.answerOf(context, ownSignal, (result) => {
      refuseLate(context, ownSignal);
      context.result = result;
    });
  }

  /** The answer of one attempt, streamed if somebody watches. */
  private answerOf<T>(
    call: RequestedCall,
    signal: AbortSignalLike | undefined,
    accept: (answer: ModelResponse) => T,
  ): Promise<T> {
    if (!this.isHeard) return this.attempt(call, signal, undefined, false, accept);
    return streamOut(this, signal, (sink) => this.attempt(call, signal, sink, false, asItIs)).then(accept);
  }

  /** A model call of a layer's own. A time limit around that layer stops it too. */
  nested(model: LLMClient, request: ModelRequest): Promise<ModelResponse> {
    return this.attempt({ model, request }, this.context?.ownSignal, undefined, true, asItIs);
  }

  private attempt<T>(
    { model, request }: RequestedCall,
    signal: AbortSignalLike | undefined,
    sink: Sink | undefined,
    isNested: boolean,
    accept: (answer: ModelResponse) => T,
  ): Promise<T> {
    const { exec, bill, scope, leaf } = this;
    if (scope === undefined) {
      // Nothing is on record yet that the call could be paid under.
      const problem = "call() cannot be used in admit, where nothing may be paid for; use it in process";
      return Promise.reject(new MiddlewareError({ layer: "chat", problem }));
    }
    const isAsBegun = !isNested && this.begunModel === model;
    const attempt = new Attempt({
      exec,
      model,
      request,
      signal,
      idempotencyKey: scope.idempotencyKey,
      wrapUp: leaf.wrapUp ?? false,
      bill,
      scope,
      isNested,
      timed: this.context,
      sink,
      accept,
      knownEstimate: isAsBegun && this.begunRequest === request ? this.freshEstimate : undefined,
      recordedEstimate: isAsBegun ? this.recordedEstimate : undefined,
    });
    this.freshEstimate = undefined;
    if (!isNested) {
      // The begin entry is about the first attempt only.
      this.recordedEstimate = undefined;
      if (this.sentTo !== undefined && this.sentTo !== model) this.tellFallback(this.sentTo, model);
      this.sentTo = model;
    }
    if (sink !== undefined) restartAnswer(this);
    return attempt.run();
  }

  private tellFallback(from: Pick<LLMClient, "info">, to: LLMClient): void {
    const data = { key: this.key, from: nameOf(from), to: nameOf(to) };
    this.exec.emit({ type: "progress", name: "fallback", data });
  }

  addTransform(transform: StreamTransform): void {
    (this.transforms ??= []).push(checkTransform(transform));
  }

  /** The answer is that of the layers or, without any, the one that was awaited. */
  finishRun(awaited: ModelResponse | void): ModelResponse {
    const { exec, context, leaf } = this;
    let response: ModelResponse;
    try {
      response = context === undefined ? (awaited as ModelResponse) : layersAnswer(context);
      if (exec.engine.isDurable) {
        this.ownCopy = copyResponse(response);
        if (this.ownCopy === undefined) response = writableResponse(context?.model ?? leaf.model, response);
      }
      tellAnswer(this, response);
    } catch (error) {
      throw this.failRun(error);
    }
    this.bill.isClosed = true;
    this.endSpan(response);
    this.reportEnd(response);
    return response;
  }

  failRun(error: unknown): unknown {
    this.sink = undefined;
    this.bill.isClosed = true;
    this.endSpan(undefined, error);
    this.reportEnd(undefined, error);
    return error;
  }

  private endSpan(response: ModelResponse | undefined, error?: unknown): void {
    if (this.span !== undefined) endModelSpan(this.exec, this.span, this, { response, error }, this.bill);
  }

  private reportEnd(response: ModelResponse | undefined, error?: unknown): void {
    const end = { response, error, started: this.startedAt, replayed: false };
    this.endedAt = reportCallEnd(this.exec, this, end, this.bill);
  }

  record(response: ModelResponse): JsonObject {
    const ownCopy = this.bill.estimated ? undefined : this.ownCopy;
    this.isRecordGiven = ownCopy !== undefined;
    return modelRecord(ownCopy ?? response, this.bill, this.substitute());
  }

  failureNote(): JsonObject {
    return recordNote(this.bill, this.substitute());
  }

  spend(): JsonObject | undefined {
    return this.bill.isEmpty ? undefined : this.bill.toJSON();
  }

  isSettled(): boolean {
    return this.bill.isSettled;
  }

  private substitute(): Substitute | undefined {
    const { sentTo, leaf } = this;
    if (sentTo === undefined || sentTo === leaf.model) return undefined;
    const { provider, model } = sentTo.info;
    return { provider, model };
  }

  restore(body: JsonObject): ModelResponse {
    return body["response"] as ModelResponse;
  }

  replayed(body: JsonObject): void {
    const { exec } = this;
    const started = exec.ports.clock.now();
    reportCallStart(exec, this, started, true);
    const substitute = substituteIn(body);
    if (substitute !== undefined) this.sentTo = { info: substitute };
    reportCallEnd(exec, this, replayedEnd(body, started), replayedBill(body));
  }
}

function nameOf({ info }: Pick<LLMClient, "info">): string {
  return `${info.provider}:${info.model}`;
}

/** Keeps the estimate for the first attempt, and makes the begin entry with it. */
function beginEntry(estimate: Estimate, call: ModelEffect, messages: number): JsonObject {
  call.freshEstimate = estimate;
  call.recordedEstimate = estimate;
  const reserve = reserveRecord(estimate);
  // The call may wait in line for long, and is recorded once more when it is sent.
  if (call.exec.ports.limiter !== undefined)
    return { messages, reserve, fingerprint: undefined, inLine: true };
  // With the field that the recorder sets, because a field that is added later takes 40 bytes more.
  return { messages, reserve, fingerprint: undefined };
}

/** For whoever reads the record: the answer is not what the agent says. */
function quietly(begin: JsonObject): JsonObject {
  return { ...begin, quiet: true };
}
