import { type Gate, isPromiseLike, type JsonValue, type MaybePromise, type WaitSpec } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

interface Pending {
  readonly spec: WaitSpec;
  readonly answer: PromiseWithResolvers<JsonValue>;
}

/** One admit under way: a call's layers, which may ask for an answer before anything is begun. */
class Admit<T> implements NamedGate {
  /** What came of it; undefined while it is under way. */
  result: PromiseSettledResult<T> | undefined;
  private readonly gates: Gates;
  private readonly key: string;
  over: Promise<void> | undefined;
  private parked: PromiseWithResolvers<void> | undefined;

  constructor(gates: Gates, key: string) {
    this.gates = gates;
    this.key = key;
  }

  /** No promise where nobody has to be waited for, which is most of the time. */
  start(act: (gate: NamedGate) => MaybePromise<T>): MaybePromise<void> {
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

  async require(name: string, question: JsonValue, tell?: () => void): Promise<JsonValue> {
    const answer = this.gates.ask(name, this.key, question, tell);
    this.wait().resolve();
    return answer;
  }

  /** Until it is over, or waits. */
  async settle(): Promise<void> {
    if (this.over !== undefined) await Promise.race([this.over, this.wait().promise]);
  }

  goOn(): void {
    this.parked = undefined;
  }

  private wait(): PromiseWithResolvers<void> {
    return (this.parked ??= Promise.withResolvers<void>());
  }
}

interface AskedAdmit<T> {
  readonly key: string;
  readonly admit: (gate: NamedGate) => MaybePromise<T>;
}

/** A gate whose first asker may say how people hear of the question. */
export interface NamedGate extends Gate {
  require(name: string, question: JsonValue, tell?: () => void): Promise<JsonValue>;
}

/**
 * What layers ask for in their `admit`. The answer is a recorded fact of the execution, under the key of the call that it is
 * about: a replay gets it without asking anybody again, and so does whoever asks for the same call under the same name.
 */
export class Gates {
  private readonly exec: Execution;
  private readonly answers = new Map<string, Promise<JsonValue>>();
  private pending: Pending[] = [];

  constructor(exec: Execution) {
    this.exec = exec;
  }

  ask(name: string, key: string, question: JsonValue, tell: (() => void) | undefined): Promise<JsonValue> {
    const gate = `gate:${name}@${key}`;
    const known = this.answers.get(gate);
    if (known !== undefined) return known;
    const { exec } = this;
    const answer = Promise.withResolvers<JsonValue>();
    const onWait = (): void => {
      exec.emit({ type: "progress", name: "approvalRequested", data: { name, question } });
      tell?.();
    };
    this.pending.push({ spec: { kind: "wait", key: gate, name, onWait }, answer });
    this.answers.set(gate, answer.promise);
    return answer.promise;
  }

  /**
   * Runs the admits in the order given. One that waits for an answer does not keep the next from asking: when all are over or
   * wait, all waits are one operation of the engine, and so on until nobody waits.
   */
  admitAll<T>(calls: readonly AskedAdmit<T>[]): MaybePromise<PromiseSettledResult<T>[]> {
    const admits: Admit<T>[] = [];
    for (const call of calls) {
      const waiting = this.start(call, admits);
      if (isPromiseLike(waiting)) return this.admitRest(calls, admits, waiting);
    }
    return this.pending.length === 0 ? resultsOf(admits) : this.answerAll(admits);
  }

  private start<T>({ key, admit }: AskedAdmit<T>, admits: Admit<T>[]): MaybePromise<void> {
    const started = new Admit<T>(this, key);
    admits.push(started);
    return started.start(admit);
  }

  private async admitRest<T>(
    calls: readonly AskedAdmit<T>[],
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

  private async answerAll<T>(admits: readonly Admit<T>[]): Promise<PromiseSettledResult<T>[]> {
    while (this.pending.length > 0) {
      const round = this.pending;
      this.pending = [];
      await this.join(round, admits);
      for (const admit of admits) if (admit.result === undefined) await admit.settle();
    }
    // One that asked for what was answered before has waited for nothing, and is not over yet.
    for (const admit of admits) if (admit.result === undefined) await admit.over;
    return resultsOf(admits);
  }

  private async join(round: readonly Pending[], admits: readonly Admit<unknown>[]): Promise<void> {
    try {
      const settled = await this.exec.engine.all(round.map(({ spec }) => spec));
      for (const admit of admits) admit.goOn();
      for (const [at, { answer }] of round.entries()) {
        const outcome = settled[at];
        if (outcome?.ok === true) answer.resolve(outcome.value as JsonValue);
        else answer.reject(outcome?.error);
      }
    } catch (error) {
      for (const admit of admits) admit.goOn();
      for (const { answer } of round) answer.reject(error);
    }
  }
}

/** Of admits that are over. */
function resultsOf<T>(admits: readonly Admit<T>[]): PromiseSettledResult<T>[] {
  return admits.flatMap(({ result }) => (result === undefined ? [] : [result]));
}
