import {
  type AbortSignalLike,
  type EffectScope,
  type Estimate,
  isPromiseLike,
  type LimiterRequest,
  type LLMClient,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  type Permit,
  type Reservation,
  type Spend,
} from "@ravi/kernel";
import { answerProblem, LinkedList, readStream, soundUsage } from "@ravi/kernel/loop";
import { orLog } from "../or-log.ts";
import { rejected } from "../rejected.ts";
import type { Bill } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { isOnRecord, noteBefore } from "./noted.ts";
import { refuseStopped, reservedInTime } from "./reserved.ts";
import { roughEstimate } from "./rough-estimate.ts";
import { SentCall } from "./sent-calls.ts";
import { lose, settle, settleFailure } from "./settlement.ts";
import type { Sink } from "./stream-out.ts";

export interface AttemptOptions {
  readonly model: LLMClient;
  readonly request: ModelRequest;
  /** A layer's or a tool's own; without it, the execution's. */
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string;
  readonly wrapUp: boolean;
  readonly bill: Bill;
  /** The effect that it is an attempt at, or that it is made inside of. */
  readonly scope: EffectScope;
  /** Made inside of an effect by a judge or by a tool. */
  readonly isNested: boolean;
  /** Gets what is streamed; without it the answer comes in one piece. */
  readonly sink: Sink | undefined;
  /** Where it is known already. */
  readonly estimate?: Estimate | undefined;
  /** What the begin of the effect has set aside, where this is the try that it speaks of. */
  readonly begun?: Estimate | undefined;
  /** Its number among the calls of its effect, from the moment on when it is to be sent; 0 is the first of its own. */
  call: number;
  /** What it took, once it is settled. */
  tokens: number;
  /** Whether a part of the answer has come; only said where it is streamed. */
  hasStreamed?: boolean;
}

/** One try at a model call: a place in the limiter's line, money set aside, the call, and the money settled. */
export function attempt(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  try {
    return begin(exec, options);
  } catch (error) {
    return rejected(error);
  }
}

// None of these is asynchronous but `inLine`, for those who need it, and what is for failures: a frame for all of them is 1.5 kB a
// call.

function begin(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  const { model, request, signal } = options;
  const { limiter } = exec.ports;
  // Whoever goes on after the end (a tool that was left behind, say) pays for nothing more.
  refuseStopped(exec, signal);
  if (options.scope.ledger === undefined && limiter === undefined)
    return sendNoted(exec, options, undefined, undefined);
  const estimated = options.estimate ?? estimateOf(exec, model, request);
  return limiter !== undefined || isPromiseLike(estimated)
    ? inLine(exec, options, estimated)
    : reserve(exec, options, estimated);
}

async function inLine(
  exec: Execution,
  options: AttemptOptions,
  estimated: MaybePromise<Estimate>,
): Promise<ModelResponse> {
  const { signal = exec.signal } = options;
  const estimate = await estimated;
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  const { priority } = exec.supervision;
  const permit = await placeInLine(exec, { priority, tokens, signal });
  try {
    // The line may have been long.
    refuseStopped(exec, options.signal);
    return await reserve(exec, options, estimate);
  } finally {
    if (permit !== undefined) release(exec, permit, options.tokens);
  }
}

/** What came of the call was paid for, whatever the limiter says to it. */
function release({ ports }: Execution, permit: Permit, tokens: number): void {
  void orLog(ports.logger, "warn", "the limiter did not take a place back", () => permit.release({ tokens }));
}

async function placeInLine(exec: Execution, request: LimiterRequest): Promise<Permit | undefined> {
  exec.inLine++;
  try {
    return await exec.ports.limiter?.acquire(request);
  } finally {
    exec.inLine--;
  }
}

function reserve(exec: Execution, options: AttemptOptions, estimate: Estimate): Promise<ModelResponse> {
  const { provider, model } = options.model.info;
  const { wrapUp, scope } = options;
  const reserved = scope.ledger?.reserve(wanted(estimate), { wrapUp, what: `${provider}:${model}` });
  return isPromiseLike(reserved)
    ? reservedInTime(exec, reserved, () => refuseStopped(exec, options.signal)).then((reservation) =>
        sendNoted(exec, options, estimate, reservation),
      )
    : sendNoted(exec, options, estimate, reserved);
}

/** Nothing is sent before what it may cost is on record. */
function sendNoted(
  exec: Execution,
  options: AttemptOptions,
  estimate: Estimate | undefined,
  reservation: Reservation | undefined,
): Promise<ModelResponse> {
  options.call = options.bill.take(options.isNested);
  const call = new SentCall(options, estimate, reservation);
  return isOnRecord(exec, call)
    ? sendReserved(exec, call)
    : noteBefore(exec, call).then(() => sendReserved(exec, call));
}

function sendReserved(exec: Execution, call: SentCall): Promise<ModelResponse> {
  const { options, estimate, reservation } = call;
  const bound = reservation === undefined ? undefined : estimate?.maxOutputTokens;
  (exec.sentCalls ??= new LinkedList()).add(call);
  return send(exec, options, bound).then(
    (response) => {
      if (call.isLeft) return response;
      exec.sentCalls?.delete(call);
      const problem = answerProblem(options.model, response);
      const usage = soundUsage(response?.usage);
      if (problem !== undefined) return lose(exec, call, usage, problem);
      const settled = settle(exec, call, usage, false);
      return isPromiseLike(settled) ? settled.then(() => response) : response;
    },
    (error: unknown) => {
      if (call.isLeft) throw error;
      exec.sentCalls?.delete(call);
      return settleFailure(exec, call, error);
    },
  );
}

export function estimateOf(exec: Execution, model: LLMClient, request: ModelRequest): MaybePromise<Estimate> {
  const { meter } = exec.ports;
  return meter === undefined ? roughEstimate(model.info, request) : meter.estimate(model.info, request);
}

/** A model that was not compiled may throw at once, or give something that only looks like a promise. */
function send(exec: Execution, options: AttemptOptions, bound: number | undefined): Promise<ModelResponse> {
  const { model, request, signal, idempotencyKey, sink, bill, isNested } = options;
  try {
    // Plain fields: a model that wraps another may well spread them.
    const call = { signal: signal ?? exec.signal, idempotencyKey };
    const sent = bound === undefined ? request : exec.requests.bounded(request, bound);
    bill.sent++;
    if (!isNested) bill.attempts++;
    if (sink === undefined || model.stream === undefined) return Promise.resolve(model.generate(sent, call));
    return readStream(model.stream(sent, call), (event) => {
      options.hasStreamed = true;
      sink(event);
    });
  } catch (error) {
    return rejected(error);
  }
}

/** What is set aside for one attempt. Without a known price it says no cost, and the ledger decides. */
function wanted({ inputTokens, maxOutputTokens, price }: Estimate): Partial<Spend> {
  const tokens = inputTokens + maxOutputTokens;
  return "unpriced" in price ? { tokens, turns: 1 } : { tokens, cost: price.usd, turns: 1 };
}
