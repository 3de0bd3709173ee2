import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import { orOpened } from "../slow.ts";
import type { Answer, Message, MessageName, Said } from "../root/decide.ts";
import { knownAnswer } from "../root/unknown.ts";

interface Letter extends Said {
  readonly signal: AbortSignal;
  readonly answer: PromiseWithResolvers<unknown>;
}

const MOST_AT_ONCE = 64;

/**
 * Carries the messages of one worker's executions to the roots of their trees. Only one request per root is in flight; messages
 * that come meanwhile go together in the next one. So the object of a large tree is entered once for many messages.
 */
export class Courier {
  private readonly ingress: Ingress;
  private readonly open: (runId: string) => void;
  private readonly waiting = new Map<string, Letter[]>();

  /** `open` is called if a root does not answer: a deployment that is gone may block it. */
  constructor(ingress: Ingress, open: (runId: string) => void = () => {}) {
    this.ingress = ingress;
    this.open = open;
  }

  /** Sends a message. Tries until it is answered or `signal` aborts. */
  async ask<N extends MessageName>(
    runId: string,
    name: N,
    message: Message<N>,
    signal: AbortSignal,
  ): Promise<Answer<N>> {
    signal.throwIfAborted();
    const answer = Promise.withResolvers<unknown>();
    const giveUp = (): void => answer.reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    const line = this.waiting.get(runId);
    const letter = { name, message, signal, answer };
    if (line === undefined) void this.carry(runId, [letter]);
    else line.push(letter);
    try {
      return (await answer.promise) as Answer<N>;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  private async carry(runId: string, line: Letter[]): Promise<void> {
    this.waiting.set(runId, line);
    while (line.length > 0) {
      const parcel = line.splice(0, MOST_AT_ONCE).filter(({ signal }) => !signal.aborted);
      if (parcel.length > 0) await this.deliver(runId, parcel);
    }
    this.waiting.delete(runId);
  }

  private async deliver(runId: string, parcel: readonly Letter[]): Promise<void> {
    const [only] = parcel;
    if (parcel.length === 1 && only !== undefined) return this.deliverOne(runId, only);
    const needed = new AbortController();
    let open = parcel.length;
    const leave = (): void => {
      if (--open === 0) needed.abort();
    };
    for (const { signal } of parcel) signal.addEventListener("abort", leave, { once: true });
    const said = parcel.map(({ name, message }) => ({ name, message }));
    try {
      const target = { service: ROOT, key: runId, handler: "several" };
      const asked = this.ingress.call<readonly unknown[]>(target, { said }, needed.signal);
      const answers = await orOpened(asked, () => this.open(runId));
      for (const [at, { answer }] of parcel.entries()) answer.resolve(knownAnswer(answers[at], runId));
    } catch {
      // One of them may have been refused. Each is sent on its own.
      for (const letter of parcel) await this.deliverOne(runId, letter);
    }
    for (const { signal } of parcel) signal.removeEventListener("abort", leave);
  }

  private async deliverOne(runId: string, { name, message, signal, answer }: Letter): Promise<void> {
    try {
      const target = { service: ROOT, key: runId, handler: name };
      const asked = this.ingress.call(target, message, signal);
      answer.resolve(knownAnswer(await orOpened(asked, () => this.open(runId)), runId));
    } catch (error) {
      answer.reject(error);
    }
  }
}
