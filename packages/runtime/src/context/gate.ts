import type { Gate, JsonValue, WaitSpec } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

interface Pending {
  readonly spec: WaitSpec;
  readonly answer: PromiseWithResolvers<JsonValue>;
}

/** One admit under way: a call's layers, which may ask for an answer before anything is begun. */
class Admit<T> implements Gate {
  readonly run: Promise<T>;
  isOver = false;
  private readonly gates: Gates;
  private readonly key: string;
  private readonly over: Promise<void>;
  private parked = Promise.withResolvers<void>();

  constructor(gates: Gates, key: string, act: (gate: NamedGate) => Promise<T>) {
    this.gates = gates;
    this.key = key;
    this.run = act(this);
    const end = (): void => void (this.isOver = true);
    this.over = this.run.then(end, end);
  }

  async require(name: string, question: JsonValue, tell?: () => void): Promise<JsonValue> {
    const answer = this.gates.ask(name, this.key, question, tell);
    this.parked.resolve();
    return answer;
  }

  /** Until it is over, or waits. */
  async settle(): Promise<void> {
    await Promise.race([this.over, this.parked.promise]);
  }

  goOn(): void {
    this.parked = Promise.withResolvers<void>();
  }
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
  async admitAll<T>(
    calls: readonly { readonly key: string; readonly admit: (gate: NamedGate) => Promise<T> }[],
  ): Promise<PromiseSettledResult<T>[]> {
    const admits: Admit<T>[] = [];
    for (const { key, admit } of calls) {
      const started = new Admit(this, key, admit);
      admits.push(started);
      await started.settle();
    }
    while (this.pending.length > 0) {
      const round = this.pending;
      this.pending = [];
      await this.join(round, admits);
      for (const admit of admits) if (!admit.isOver) await admit.settle();
    }
    return Promise.allSettled(admits.map(({ run }) => run));
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
