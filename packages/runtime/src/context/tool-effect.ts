import {
  type AbortSignalLike,
  callWantsApproval,
  type Effect,
  type EffectScope,
  errorToJSON,
  type FunctionContext,
  isPromiseLike,
  isRaviError,
  type JsonObject,
  type MaybePromise,
  NO_USAGE,
  type Pipeline,
  type Reservation,
  type SerializedError,
  type Span,
  textOf,
  type Tool,
  type ToolCall,
  type ToolContext,
  ToolError,
  type ToolLeaf,
  type ToolResult,
} from "@ravi/kernel";
import {
  argumentsText,
  type Linked,
  LinkedList,
  messageOf,
  secretPatterns,
  toolFailure,
  truncateText,
} from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { Bill } from "./money/bill.ts";
import { reportWarnings } from "./money/settlement.ts";
import { nameOfCall } from "./call-name.ts";
import { executeTool } from "./execute-tool.ts";
import type { Execution } from "./execution.ts";
import type { FunctionCall } from "./function-call.ts";
import { layersResult } from "./layer-result.ts";
import { refuseLate } from "./level-call.ts";
import { addContent, isMeasured, startSpan, within } from "./observe.ts";
import { runLayers } from "./plan.ts";
import { refuseCancelled, reservedInTime } from "./reserved.ts";
import { reportReplayedTool, reportToolEnd, reportToolStart, type ReportedTool } from "./report-tool.ts";
import { Stillness } from "./stillness.ts";
import { ToolModels } from "./tool-models.ts";
import { publishProgress } from "./tool-progress.ts";
import { withinTime } from "./tool-time.ts";
import { formOf, valueIn } from "./tool-value.ts";

/** How much of a tool's failure observers are told. The model is told all of it. */
const MAX_TOLD_CHARS = 2_000;
const SECRETS = secretPatterns("[redacted]");

/** The tool call that the agent has asked for. */
export type RequestedTool = Pick<ToolLeaf, "call" | "tool" | "validator" | "onResult">;

const NOTHING_BUT_THE_CALL: JsonObject = Object.freeze({ ...new Bill().toJSON(), toolCalls: 1 });
const ONE_TOOL_CALL = Object.freeze({ toolCalls: 1 });
const ONE_CALL = Object.freeze({ usage: NO_USAGE, costUsd: 0, toolCalls: 1 });

/** One tool call of an agent, from its begin entry to its end entry. */
export class ToolEffect implements Effect<ToolResult>, ReportedTool, Linked<ToolEffect> {
  /** Neighbours in `exec.openTools`. */
  before: ToolEffect | undefined;
  after: ToolEffect | undefined;
  readonly kind = "tool";
  /** The result if the call is not made: its arguments are invalid, it was denied, or a layer answered in its `admit`. */
  refused: ToolResult | undefined;
  readonly key: string;
  readonly onDoubt: "retry" | "ask";
  readonly exec: Execution;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** Removed when it is called. */
  private onResult: ToolLeaf["onResult"];
  private models: ToolModels | undefined;
  /** The arguments as the schema has parsed them. */
  args: unknown;
  /** Whether the budget has allowed the call, so that it counts: a call that was refused costs nothing. */
  isCounted = false;
  /** Present if there are layers. */
  context: FunctionCall | undefined;
  startedAt = 0;
  endedAt: number | undefined;
  isRecordGiven = false;
  span: Span | undefined;
  reservation: Reservation | undefined;
  /** Present while the call is in `exec.openTools`. */
  scope: EffectScope | undefined;

  constructor(exec: Execution, key: string, { call, tool, onResult }: RequestedTool) {
    this.onResult = onResult;
    this.exec = exec;
    this.key = key;
    this.call = call;
    this.tool = tool;
    this.onDoubt = tool.idempotent === true ? "retry" : "ask";
  }

  get what(): string {
    return `the call to ${this.tool.name}`;
  }

  fingerprint(): string {
    return nameOfCall(this);
  }

  begin(): JsonObject {
    const tool = this.tool.name;
    // Set by the recorder. It is there from the start, because a field that is added later takes 40 bytes more.
    const fingerprint = undefined;
    return this.onDoubt === "ask" ? { tool, ask: true, fingerprint } : { tool, fingerprint };
  }

  // Not async: what it needs at its end is kept in fields, and an async frame would keep it once more.
  run(scope: EffectScope): MaybePromise<ToolResult> {
    // The run may have been cancelled during the wait for a permission, an approval or the begin entry. Nobody was told of the start yet.
    refuseCancelled(this.exec);
    let made: MaybePromise<ToolResult>;
    try {
      made = this.begun(scope);
    } catch (error) {
      return this.failed(error);
    }
    if (!isPromiseLike(made)) return this.succeeded(made);
    return Promise.resolve(made).then(
      (result) => this.succeeded(result),
      (error: unknown) => this.failed(error),
    );
  }

  record(result: ToolResult): JsonObject {
    const { content, isError } = result;
    // A layer in plain JavaScript may set anything.
    this.isRecordGiven = typeof content === "string" && typeof isError === "boolean";
    const spend = this.spentSoFar();
    const form = formOf(result, this.context !== undefined);
    return form === undefined ? { content, isError, spend } : { content, isError, value: form, spend };
  }

  restore(body: JsonObject): ToolResult {
    const content = body["content"] as ToolResult["content"];
    const value = valueIn(content, body["value"]);
    const isError = body["isError"] === true;
    const result: ToolResult = value === undefined ? { content, isError } : { content, isError, value };
    this.notifyResult(result);
    return result;
  }

  /** Undefined if the call does not count: a call that was refused costs nothing. */
  spend(): JsonObject | undefined {
    return this.isCounted ? this.spentSoFar() : undefined;
  }

  private spentSoFar(): JsonObject {
    const { models } = this;
    return models === undefined ? NOTHING_BUT_THE_CALL : { ...models.bill.toJSON(), toolCalls: 1 };
  }

  skipped(): ToolResult {
    return toolFailure(
      `${this.tool.name} was interrupted by a crash and may or may not have run; it was not called again`,
    );
  }

  /** Reports the recorded call to hooks again, marked as `replayed`. */
  replayed(body: JsonObject): void {
    const content = body["content"] as ToolResult["content"];
    const failure = body["isError"] === true ? errorToJSON(this.failureIn({ content })) : undefined;
    reportReplayedTool(this, (body["error"] as SerializedError | undefined) ?? failure);
  }

  /** Calls `onResult` once only, since an engine may read back (`restore`) what it has just written. */
  private notifyResult(result: ToolResult): void {
    const { onResult } = this;
    this.onResult = undefined;
    onResult?.(result);
  }

  private begun(scope: EffectScope): MaybePromise<ToolResult> {
    const { exec } = this;
    this.startedAt = exec.ports.clock.now();
    reportToolStart(this);
    if (isMeasured(exec)) this.span = startToolSpan(this);
    const reserved = andThen(this.reserve(scope), counted, this, scope);
    return andThen(reserved, makeIt, this, scope);
  }

  /** Reserves one tool call in the budget. */
  private reserve({ ledger }: EffectScope): MaybePromise<Reservation | undefined> {
    const reserving = ledger?.reserve(ONE_TOOL_CALL);
    return isPromiseLike(reserving) ? this.reservedLater(reserving) : reserving;
  }

  private reservedLater(reserving: PromiseLike<Reservation>): Promise<Reservation> {
    const { exec } = this;
    return reservedInTime(exec, reserving, () => refuseCancelled(exec));
  }

  /** Does nothing if it was settled already: at its agent's end, if the tool does not stop. */
  settle(): MaybePromise<void> {
    const { reservation, exec } = this;
    if (reservation === undefined) return undefined;
    this.reservation = undefined;
    this.scope = undefined;
    exec.openTools?.delete(this);
    return andThen(reservation.settle(ONE_TOOL_CALL), reportWarnings, exec);
  }

  /**
   * Settles the reservation, then calls `next`. If the ledger fails, the call fails; its end is still reported to everyone who was told of
   * its start.
   */
  private whenSettled<T, R>(next: (call: ToolEffect, given: T) => R, given: T): MaybePromise<R> {
    let settled: MaybePromise<void>;
    try {
      settled = this.settle();
    } catch (error) {
      return this.failed(error);
    }
    return isPromiseLike(settled) ? this.settledLater(settled, next, given) : next(this, given);
  }

  private settledLater<T, R>(
    settled: PromiseLike<void>,
    next: (call: ToolEffect, given: T) => R,
    given: T,
  ): Promise<R> {
    return Promise.resolve(settled).then(
      () => next(this, given),
      (error: unknown) => this.failed(error),
    );
  }

  private succeeded(result: ToolResult): MaybePromise<ToolResult> {
    return this.whenSettled(endWell, result);
  }

  private failed(error: unknown): MaybePromise<never> {
    return this.whenSettled(endBadly, error);
  }

  /** Reports the end to everyone who was told of the start, and to the agent. */
  end(result: ToolResult): ToolResult {
    addContent(this.exec, this.span, () => ({ of: "result", text: textOf(result) }));
    this.endedAt = result.isError
      ? reportToolEnd(this, "error", this.failureIn(result))
      : reportToolEnd(this, "ok");
    this.notifyResult(result);
    return result;
  }

  /** What the model is told, as an error for observers: logs and traces are read by more people, so without what looks like a key. */
  private failureIn(result: Pick<ToolResult, "content">): ToolError {
    let said = textOf(result).replace(/^error: /, "");
    for (const [pattern, instead] of SECRETS) said = said.replaceAll(pattern, instead);
    const message = truncateText(said, MAX_TOLD_CHARS);
    return new ToolError({ toolName: this.tool.name, message });
  }

  /** An error of Ravi is thrown as it is; any other is wrapped, so that it has a code. */
  endWith(error: unknown): never {
    this.endedAt = reportToolEnd(this, "error", error);
    if (isRaviError(error)) throw error;
    throw new ToolError({ toolName: this.tool.name, message: messageOf(error), cause: error });
  }

  /** Calls the tool, through the layers if there are any. Makes no promise if neither a layer nor the tool makes one. */
  make(scope: EffectScope): MaybePromise<ToolResult> {
    const { exec, span } = this;
    return span === undefined ? this.passLayers(scope) : within(exec, span, () => this.passLayers(scope));
  }

  private passLayers(scope: EffectScope): MaybePromise<ToolResult> {
    const { context } = this;
    const layers = this.exec.plan.function;
    return layers === undefined || context === undefined
      ? this.execute(this.args, undefined, scope)
      : this.through(layers, context, scope);
  }

  private through(
    layers: Pipeline<FunctionContext>,
    context: FunctionCall,
    scope: EffectScope,
  ): MaybePromise<ToolResult> {
    const passed = runLayers(layers, context, () => this.innermost(context, scope));
    if (isPromiseLike(passed)) return andThen(passed, resultOf, context);
    context.isOver = true;
    return resultOf(undefined, context);
  }

  private innermost(context: FunctionCall, scope: EffectScope): MaybePromise<void> {
    const { ownSignal } = context;
    context.newestSignal = ownSignal;
    // The run may have been cancelled while a layer waited before it called `next`.
    refuseCancelled(this.exec);
    ownSignal?.throwIfAborted();
    // A layer that changes the arguments now does it too late for anybody to be asked.
    if (context.isUnasked && callWantsApproval(this.tool, context.arguments))
      return takeResult(toolFailure(approvedTooLate(this.tool)), context, ownSignal);
    return andThen(this.execute(context.arguments, ownSignal, scope), takeResult, context, ownSignal);
  }

  private execute(
    args: unknown,
    signal: AbortSignalLike | undefined,
    scope: EffectScope,
  ): MaybePromise<ToolResult> {
    const { timeoutS } = this.tool;
    if (timeoutS === undefined) return this.invoke(args, signal ?? this.exec.signal, scope);
    const { ports, token } = this.exec;
    const { clock } = ports;
    const stillness = new Stillness(clock);
    const { name } = this.tool;
    const limit = { name, timeoutS, clock, stillness, signal: signal ?? this.exec.signal, token };
    return withinTime(limit, async (own) => this.invoke(args, own, scope, stillness));
  }

  private invoke(
    args: unknown,
    signal: AbortSignalLike,
    scope: EffectScope,
    timed?: Stillness,
  ): MaybePromise<ToolResult> {
    return executeTool(this.exec, this.tool, args, this.toolContext(signal, scope, timed));
  }

  /** Plain fields and no getters, so that a tool may destructure or spread them. */
  private toolContext(
    signal: AbortSignalLike,
    effect: EffectScope,
    timed: Stillness | undefined,
  ): ToolContext {
    const { idempotencyKey } = effect;
    return {
      signal,
      scope: this.exec.scope,
      idempotencyKey,
      llm: (model, request) => {
        this.models ??= new ToolModels(this);
        return this.models.ask(model, request, signal, effect, timed);
      },
      progress: (name, data) => this.tellProgress(name, data, signal),
    };
  }

  private tellProgress(name: unknown, data: unknown, signal: AbortSignalLike): void {
    const { exec, call } = this;
    // If it was aborted for a reason of its own, it took too long, and its failure was reported.
    if (!signal.aborted || signal.reason === exec.signal.reason) publishProgress(exec, call.id, name, data);
  }
}

function approvedTooLate({ name }: Tool): string {
  return `${name} was not called: with the arguments that a layer has given it, it needs approval; a layer has to change them in its admit`;
}

function startToolSpan({ exec, key, tool, call }: ToolEffect): Span | undefined {
  const span = startSpan(exec, "ravi.tool", { key, tool: tool.name, callId: call.id }, exec.span);
  addContent(exec, span, () => ({ of: "arguments", text: argumentsText(call) }));
  return span;
}

function counted(
  reservation: Reservation | undefined,
  call: ToolEffect,
  scope: EffectScope,
): MaybePromise<void> {
  call.reservation = reservation;
  call.isCounted = true;
  const { exec } = call;
  // An engine without `leave` accounts for open calls by itself.
  if (reservation === undefined || scope.leave === undefined) return scope.spent(ONE_CALL);
  call.scope = scope;
  (exec.openTools ??= new LinkedList()).add(call);
  // In a suspended run a tool on record is still run after its agent has stopped, when nobody settles what is open any more.
  return exec.isOver ? andThen(call.settle(), countIt, scope) : scope.spent(ONE_CALL);
}

function countIt(_: void, scope: EffectScope): MaybePromise<void> {
  return scope.spent(ONE_CALL);
}

function makeIt(_: void, call: ToolEffect, scope: EffectScope): MaybePromise<ToolResult> {
  return call.make(scope);
}

function endWell(call: ToolEffect, result: ToolResult): ToolResult {
  return call.end(result);
}

function endBadly(call: ToolEffect, error: unknown): never {
  return call.endWith(error);
}

function takeResult(result: ToolResult, context: FunctionCall, own: AbortSignalLike | undefined): void {
  refuseLate(context, own);
  context.result = result;
}

function resultOf(_: void, context: FunctionCall): ToolResult {
  return layersResult(context);
}
