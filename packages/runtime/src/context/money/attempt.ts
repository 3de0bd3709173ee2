import {
  type AbortSignalLike,
  type BudgetExhaustedError,
  type EffectScope,
  type Estimate,
  isPromiseLike,
  isRaviError,
  type LLMClient,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  type Permit,
  type ProviderError,
  type Reservation,
  type ReserveOptions,
  type Usage,
} from "@ravi/kernel";
import {
  answerProblem,
  type Linked,
  LinkedList,
  readStream,
  soundUsage,
  withTextArguments,
} from "@ravi/kernel/loop";
import { tryOrLog } from "../../promises/try-or-log.ts";
import { rejected } from "../../promises/rejected.ts";
import type { Execution } from "../execution.ts";
import { cancelReservation, refuseStopped, reservedInTime } from "../reserved.ts";
import type { Sink } from "../stream-out.ts";
import type { Bill } from "./bill.ts";
import { amountToReserve, closerEstimate, estimateOf } from "./estimate.ts";
import { isCoveredByRecord, noteInLine, noteReservation } from "./notes.ts";
import { chargeAsWaste, settle, settleFailure } from "./settlement.ts";

/** What an attempt at a model call is made with. */
export interface AttemptOptions<T> {
  readonly exec: Execution;
  readonly model: LLMClient;
  readonly request: ModelRequest;
  /** The signal of a layer or a tool. Default: the execution's signal. */
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string;
  /** Whether it may use what the ledger holds back for a last call. */
  readonly wrapUp: boolean;
  /** Where its charge is added up. */
  readonly bill: Bill;
  /** The effect that this is an attempt at or, if it is nested, that it is made inside of. */
  readonly scope: EffectScope;
  /** Whether a layer or a tool makes this call, inside of an effect that is about another one. */
  readonly isNested: boolean;
  /** What limits its time, if anything does: a layer around the call, or the tool that makes it. */
  readonly timed?: { standStill(): () => void; move(): (() => void) | undefined } | undefined;
  /** Receives the deltas of the answer; without it the answer comes in one piece. */
  readonly sink: Sink | undefined;
  /** Takes the answer when it is paid for, and returns what the attempt resolves with: doing so after that takes one more promise. */
  readonly accept: (answer: ModelResponse) => T;
  /** The estimate, if it was made already. */
  readonly knownEstimate?: Estimate | undefined;
  /** What the effect's begin entry has reserved for this attempt. Undefined if the entry is about another one. */
  readonly recordedEstimate?: Estimate | undefined;
}

/**
 * One attempt at a model call, with its money from the reservation to the settlement. In this order:
 *
 * 1. `begin`: estimate what the call may take at most.
 * 2. `waitInLine`: wait for a permit, if there is a limiter.
 * 3. `reserve`: set the estimate aside in the ledger, which may refuse, or let it wait for those under way. A permit is given back before
 *    that wait, and waited for again after it.
 * 4. `noteAndSend`: put the reservation on record, unless the effect's begin entry covers it (notes.ts).
 * 5. `send`: call the provider.
 * 6. `settle`: charge what the call took, or all that was set aside if that is not known (settlement.ts).
 *
 * If the agent ends between 5 and 6, the attempt is abandoned (abandoned.ts).
 *
 * Only the wait for a limiter, notes and the handling of failures are async functions: an async frame for every step would cost 1.5 kB a
 * call.
 */
export class Attempt<T = unknown> implements AttemptOptions<T>, Linked<Attempt> {
  /** Neighbours in `exec.openAttempts`. */
  before: Attempt | undefined;
  after: Attempt | undefined;
  readonly exec: Execution;
  readonly model: LLMClient;
  readonly request: ModelRequest;
  readonly signal: AbortSignalLike | undefined;
  readonly idempotencyKey: string;
  readonly wrapUp: boolean;
  readonly bill: Bill;
  readonly scope: EffectScope;
  readonly isNested: boolean;
  readonly timed: AttemptOptions<T>["timed"];
  readonly sink: Sink | undefined;
  readonly accept: (answer: ModelResponse) => T;
  readonly knownEstimate: Estimate | undefined;
  readonly recordedEstimate: Estimate | undefined;
  /** What the call may take at most. Undefined if there is neither a ledger nor a limiter. */
  estimate: Estimate | undefined;
  reservation: Reservation | undefined;
  private permit: Permit | undefined;
  /** Its number among the paid calls of its effect, given when it is about to be sent. 0: the effect was begun for this call. */
  number = 0;
  /** What it took, once it is settled. */
  tokens = 0;
  /** Whether the journal says that it waits, so that what `begin` has reserved is not charged. */
  isNotedInLine = false;
  /** Whether a part of the answer was passed to the sink. */
  hasStreamed = false;
  /** Whether its agent has ended and its money is settled: whatever the provider still answers changes nothing. */
  isAbandoned = false;

  constructor(options: AttemptOptions<T>) {
    this.exec = options.exec;
    this.model = options.model;
    this.request = options.request;
    this.signal = options.signal;
    this.idempotencyKey = options.idempotencyKey;
    this.wrapUp = options.wrapUp;
    this.bill = options.bill;
    this.scope = options.scope;
    this.isNested = options.isNested;
    this.timed = options.timed;
    this.sink = options.sink;
    this.accept = options.accept;
    this.knownEstimate = options.knownEstimate;
    this.recordedEstimate = options.recordedEstimate;
  }

  /** Makes the attempt. Never throws: a failure is a rejected promise. */
  run(): Promise<T> {
    try {
      return this.begin();
    } catch (error) {
      return rejected(error);
    }
  }

  private begin(): Promise<T> {
    const { exec, scope } = this;
    const { limiter } = exec.ports;
    // For example, a tool that still runs after its agent's end must not pay for anything more.
    refuseStopped(exec, this.signal);
    if (scope.ledger === undefined && limiter === undefined) return this.noteAndSend();
    const estimate = this.knownEstimate ?? estimateOf(exec, this.model, this.request);
    return limiter !== undefined || isPromiseLike(estimate)
      ? this.waitInLine(estimate)
      : this.reserve(estimate);
  }

  private async waitInLine(estimated: MaybePromise<Estimate>): Promise<T> {
    const estimate = await estimated;
    await this.acquirePermit(estimate);
    try {
      // The run may have been stopped while the attempt waited in line.
      refuseStopped(this.exec, this.signal);
      return await this.reserve(estimate);
    } finally {
      this.releasePermit();
    }
  }

  private async acquirePermit({ inputTokens, maxOutputTokens }: Estimate): Promise<void> {
    const { exec, signal = exec.signal } = this;
    const { priority } = exec.supervision;
    exec.inLine++;
    try {
      const tokens = inputTokens + maxOutputTokens;
      this.permit = await exec.ports.limiter?.acquire({ priority, tokens, signal });
    } finally {
      exec.inLine--;
    }
  }

  /** A failure of the limiter is only logged: it must not cost the caller an answer that is paid for. */
  private releasePermit(sent = true): void {
    const { exec, permit, tokens } = this;
    if (permit === undefined) return;
    this.permit = undefined;
    const release = (): void => permit.release({ tokens, sent });
    void tryOrLog(exec, "warn", "the limiter failed to release a permit", release);
  }

  private reserve(estimate: Estimate): Promise<T> {
    let reserved: MaybePromise<Reservation> | undefined;
    try {
      reserved = this.setAside(estimate);
    } catch (refusal) {
      return this.reserveLater(estimate, refusal).then(() => this.noteAndSend());
    }
    if (!isPromiseLike(reserved)) {
      this.reservation = reserved;
      return this.noteAndSend();
    }
    return this.inTime(reserved)
      .catch((refusal: unknown) => this.reserveLater(estimate, refusal))
      .then(() => this.noteAndSend());
  }

  private setAside(estimate: Estimate, line?: LineOptions): MaybePromise<Reservation> | undefined {
    const { provider, model } = this.model.info;
    this.estimate = estimate;
    const options = { wrapUp: this.wrapUp, what: nameOf(provider, model), ...line };
    return this.scope.ledger?.reserve(amountToReserve(estimate), options);
  }

  private async inTime(reserving: PromiseLike<Reservation>): Promise<void> {
    const { exec, signal } = this;
    this.reservation = await reservedInTime(exec, reserving, () => refuseStopped(exec, signal));
  }

  /**
   * A call that is refused may fit with a closer estimate than the quick one, or later: when those under way give back what they have not
   * used. Throws the refusal if neither is so.
   */
  private async reserveLater(estimate: Estimate, refusal: unknown): Promise<void> {
    if (!isRaviError(refusal, "BUDGET_EXHAUSTED")) throw refusal;
    const { exec, model, request, signal = exec.signal } = this;
    const closer = await closerEstimate(exec, model, request, estimate);
    if (closer === undefined && refusal.waitable !== true) throw refusal;
    refuseStopped(exec, this.signal);
    const reserved = this.setAside(closer ?? estimate, { onFull: "queue", signal });
    if (!isPromiseLike(reserved)) {
      this.reservation = reserved;
      return;
    }
    this.tellWait(refusal);
    // Nobody who waits for money keeps others waiting that have theirs, such as those of another run.
    this.releasePermit(false);
    const goes = [this.scope.standStill?.(), this.timed?.standStill()];
    const { clock } = exec.ports;
    const since = clock.now();
    exec.inLine++;
    try {
      await Promise.all([this.inTime(reserved), noteInLine(this)]);
    } finally {
      exec.inLine--;
      this.bill.waitedMs += Math.max(0, clock.now() - since);
      for (const go of goes) go?.();
    }
    if (exec.ports.limiter !== undefined) await this.acquireAgain(closer ?? estimate);
  }

  /** Waits once more for a permit, with its money in hand: those that have the permits have theirs, and will be sent. */
  private async acquireAgain(estimate: Estimate): Promise<void> {
    const { exec, signal, reservation } = this;
    try {
      await this.acquirePermit(estimate);
      refuseStopped(exec, signal);
    } catch (error) {
      if (reservation !== undefined) await cancelReservation(exec, reservation);
      throw error;
    }
  }

  /** So that whoever watches knows why nothing happens. */
  private tellWait({ dimension, limit, scope }: BudgetExhaustedError): void {
    const { provider, model } = this.model.info;
    const data = { model: nameOf(provider, model), dimension, limit, scope };
    this.exec.emit({ type: "progress", name: "waitsForBudget", data });
  }

  /**
   * Records what the call may cost before it is sent. Otherwise a crash in the middle of it would lose the cost, and the resumed run could
   * exceed its limit.
   */
  private noteAndSend(): Promise<T> {
    this.number = this.bill.open(this.isNested);
    return isCoveredByRecord(this)
      ? this.sendAndSettle()
      : noteReservation(this).then(() => this.sendAndSettle());
  }

  private sendAndSettle(): Promise<T> {
    const { exec } = this;
    (exec.openAttempts ??= new LinkedList()).add(this);
    const stop = this.timed?.move();
    return this.send().then(
      (response) => {
        stop?.();
        if (this.isAbandoned) return this.accept(response);
        let problem: ProviderError | undefined;
        let usage: Usage | undefined;
        let answer = response;
        try {
          usage = soundUsage(response?.usage);
          problem = answerProblem(this.model, response);
          if (problem === undefined) answer = withTextArguments(response);
        } catch (error) {
          // A getter of the answer threw. The answer was paid for nevertheless.
          return chargeAsWaste(this, undefined, error);
        }
        if (problem !== undefined) return chargeAsWaste(this, usage, problem);
        const settled = settle(this, usage, false);
        return isPromiseLike(settled) ? settled.then(() => this.accept(answer)) : this.accept(answer);
      },
      (error: unknown) => {
        stop?.();
        if (this.isAbandoned) throw error;
        return settleFailure(this, error);
      },
    );
  }

  /** Calls the provider. A model in plain JavaScript may throw synchronously, or return something that only looks like a promise. */
  private send(): Promise<ModelResponse> {
    const { exec, model, sink, idempotencyKey, signal = exec.signal } = this;
    try {
      // Plain fields and no getters, because a model that wraps another may spread them.
      const call = { signal, idempotencyKey };
      const request = this.boundedRequest();
      this.bill.countSent(this.isNested);
      if (sink === undefined || model.stream === undefined)
        return Promise.resolve(model.generate(request, call));
      return readStream(model.stream(request, call), (event) => {
        this.hasStreamed = true;
        sink(event);
      });
    } catch (error) {
      return rejected(error);
    }
  }

  /** Limits the answer to the number of tokens that was set aside for it. */
  private boundedRequest(): ModelRequest {
    const { request, estimate, reservation, exec } = this;
    if (estimate === undefined || reservation === undefined) return request;
    return exec.requests.bounded(request, estimate.maxOutputTokens);
  }
}

/** What a call is reserved with that may wait until it fits. */
type LineOptions = Required<Pick<ReserveOptions, "onFull" | "signal">>;

/** The name of the latest model, which is usually the next one too. Only errors show it. */
let latest = { provider: "", model: "", name: "" };

function nameOf(provider: string, model: string): string {
  if (latest.provider !== provider || latest.model !== model)
    latest = { provider, model, name: `${provider}:${model}` };
  return latest.name;
}

/** For callers that take the answer from the promise. */
export function asItIs(answer: ModelResponse): ModelResponse {
  return answer;
}
