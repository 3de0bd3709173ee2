import {
  type Gate,
  isPromiseLike,
  type JsonValue,
  type MaybePromise,
  type Settled,
  type ToolLeaf,
  type WaitSpec,
} from "@ravi/kernel";
import { isWritable } from "../journal/parts/plain-json.ts";
import { nameOfCall } from "./call-name.ts";
import { Digest } from "./digest.ts";
import type { Execution } from "./execution.ts";
import { waitNameProblem } from "./wait-name.ts";

/** A question that is asked once, and the admits that wait for its answer. */
class Question {
  readonly spec: WaitSpec;
  readonly answer = Promise.withResolvers<JsonValue>();
  private askers: Admit<unknown>[] | undefined = [];

  constructor(spec: WaitSpec) {
    this.spec = spec;
    // Perhaps nobody waits for it any more when it fails: that must not be an unhandled rejection.
    this.answer.promise.catch(() => {});
  }

  /** The answer. If it is not there yet, the admit counts as waiting until it is. */
  askedBy(admit: Admit<unknown>): Promise<JsonValue> {
    if (this.askers !== undefined) {
      this.askers.push(admit);
      admit.park();
    }
    return this.answer.promise;
  }

  settle(outcome: Settled<JsonValue> | undefined): void {
    for (const admit of this.askers ?? []) admit.unpark();
    this.askers = undefined;
    if (outcome?.ok === true) this.answer.resolve(outcome.value);
    else this.answer.reject(outcome?.error);
  }
}

/** One running `admit` of a call's layers, which may ask for an answer before anything begins. */
class Admit<T> implements Gate {
  /** Its result; undefined while it is running. */
  result: PromiseSettledResult<T> | undefined;
  private readonly gates: Gates;
  private readonly key: string;
  private readonly tool: AdmitRequest<T>["tool"];
  private over: Promise<void> | undefined;
  /** How many of its questions are not answered yet. */
  private open = 0;
  private parked: PromiseWithResolvers<void> | undefined;

  constructor(gates: Gates, { key, tool }: AdmitRequest<T>) {
    this.gates = gates;
    this.key = key;
    this.tool = tool;
  }

  /** Starts it. Makes no promise if nobody has to be waited for, which is the usual case. */
  start(act: (gate: Gate) => MaybePromise<T>): MaybePromise<void> {
    try {
      const run = act(this);
      if (isPromiseLike(run)) {
        this.over = Promise.resolve(run).then(
          (value) => void (this.result = { status: "fulfilled", value }),
          (reason: unknown) => void (this.result = { status: "rejected", reason }),
        );
        return this.settle();
      }
      this.result = { status: "fulfilled", value: run };
    } catch (reason) {
      this.result = { status: "rejected", reason };
    }
    return undefined;
  }

  async require(name: string, question: JsonValue = null, onAsk?: () => void): Promise<JsonValue> {
    const { key, tool } = this;
    // Before anybody is asked.
    const problem = waitNameProblem("gate.require", name);
    if (problem !== undefined) throw problem;
    // Its name may be the text itself, with line ends in it.
    const about = tool === undefined ? key : `${key}:${new Digest().text(nameOfCall(tool)).name()}`;
    return this.gates.ask({ name, about, callId: tool?.call.id, question, onAsk }).askedBy(this);
  }

  /** Resolves when it is over, or waits for an answer. */
  async settle(): Promise<void> {
    if (this.open > 0) return;
    this.parked ??= Promise.withResolvers<void>();
    await Promise.race([this.over, this.parked.promise]);
  }

  park(): void {
    this.open++;
    this.parked?.resolve();
  }

  unpark(): void {
    this.open--;
    this.parked = undefined;
  }
}

interface AdmitRequest<T> {
  readonly key: string;
  /** The call, if it is one of a tool: an answer on record counts for these arguments only. */
  readonly tool?: Pick<ToolLeaf, "tool" | "call"> | undefined;
  readonly admit: (gate: Gate) => MaybePromise<T>;
}

interface Asked {
  readonly name: string;
  /** The call that the answer counts for. */
  readonly about: string;
  /** The model's own id of that call, if it is one of a tool. */
  readonly callId: string | undefined;
  readonly question: JsonValue;
  readonly onAsk: (() => void) | undefined;
}

/**
 * The questions that layers ask in their `admit`. An answer is a recorded fact of the execution, under the key of the call that it is
 * about: a replay gets it without asking again, and so does everyone who asks under the same name about the same call.
 */
export class Gates {
  private readonly exec: Execution;
  private readonly questions = new Map<string, Question>();
  private pending: Question[] = [];

  constructor(exec: Execution) {
    this.exec = exec;
  }

  ask({ name, about, callId, question, onAsk }: Asked): Question {
    const gate = `gate:${name}@${about}`;
    const known = this.questions.get(gate);
    if (known !== undefined) return known;
    const { exec } = this;
    const onWait = (): void => {
      // An engine may store the event. Who asks something that is no JSON must get an answer all the same.
      const data = { name, question: isWritable(question) ? question : null };
      const event = { type: "progress", name: "approvalRequested", data } as const;
      exec.publish(callId === undefined ? event : { ...event, callId });
      onAsk?.();
    };
    const asked = new Question({ kind: "wait", key: gate, name, question, onWait });
    this.pending.push(asked);
    this.questions.set(gate, asked);
    return asked;
  }

  /**
   * Runs the admits in the order given. One that waits for an answer does not keep the next from asking: when all are over or waiting, all
   * waits become one operation of the engine, and so on until none is waiting.
   */
  admitAll<T>(calls: readonly AdmitRequest<T>[]): MaybePromise<PromiseSettledResult<T>[]> {
    const admits: Admit<T>[] = [];
    for (const call of calls) {
      const waiting = this.start(call, admits);
      if (isPromiseLike(waiting)) return this.admitRest(calls, admits, waiting);
    }
    return this.pending.length === 0 ? resultsOf(admits) : this.answerAll(admits);
  }

  private start<T>(call: AdmitRequest<T>, admits: Admit<T>[]): MaybePromise<void> {
    const started = new Admit<T>(this, call);
    admits.push(started);
    return started.start(call.admit);
  }

  private async admitRest<T>(
    calls: readonly AdmitRequest<T>[],
    admits: Admit<T>[],
    first: PromiseLike<void>,
  ): Promise<PromiseSettledResult<T>[]> {
    await first;
    for (const call of calls.slice(admits.length)) {
      const waiting = this.start(call, admits);
      if (isPromiseLike(waiting)) await waiting;
    }
    return this.answerAll(admits);
  }

  /** An admit that is not over when all have settled waits for a question that is pending. */
  private async answerAll<T>(admits: readonly Admit<T>[]): Promise<PromiseSettledResult<T>[]> {
    while (this.pending.length > 0) {
      const round = this.pending;
      this.pending = [];
      await this.join(round);
      for (const admit of admits) if (admit.result === undefined) await admit.settle();
    }
    return resultsOf(admits);
  }

  private async join(round: readonly Question[]): Promise<void> {
    let settled: readonly Settled<JsonValue>[];
    try {
      settled = (await this.exec.engine.all(round.map(({ spec }) => spec))) as readonly Settled<JsonValue>[];
    } catch (error) {
      settled = round.map(() => ({ ok: false, error }));
    }
    for (const [at, question] of round.entries()) question.settle(settled[at]);
  }
}

/** The results of admits that are all over. */
function resultsOf<T>(admits: readonly Admit<T>[]): PromiseSettledResult<T>[] {
  return admits.flatMap(({ result }) => (result === undefined ? [] : [result]));
}
