import { abortable } from "@ravi/kernel/loop";
import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import { unblockWhileWaiting } from "../unblock.ts";
import type { Answer, Message, MessageName, NamedMessage } from "../root/decide.ts";
import { knownAnswer } from "../root/unknown-run.ts";

interface PendingMessage extends NamedMessage {
  readonly signal: AbortSignal;
  readonly answer: PromiseWithResolvers<unknown>;
}

const MOST_AT_ONCE = 64;

/**
 * Carries the messages of one worker's executions to the roots of their trees. Only one request per root is in flight; messages
 * that come meanwhile go together in the next one. So the object of a large tree is entered once for many messages.
 */
export class MessageBatcher {
  private readonly ingress: Ingress;
  private readonly open: (runId: string) => void;
  private readonly waiting = new Map<string, PendingMessage[]>();

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
    const queue = this.waiting.get(runId);
    const pending = { name, message, signal, answer };
    if (queue === undefined) void this.drain(runId, [pending]);
    else queue.push(pending);
    return (await abortable(answer.promise, signal, () => signal.reason as Error)) as Answer<N>;
  }

  private async drain(runId: string, queue: PendingMessage[]): Promise<void> {
    this.waiting.set(runId, queue);
    while (queue.length > 0) {
      const batch = queue.splice(0, MOST_AT_ONCE).filter(({ signal }) => !signal.aborted);
      if (batch.length > 0) await this.deliver(runId, batch);
    }
    this.waiting.delete(runId);
  }

  private async deliver(runId: string, batch: readonly PendingMessage[]): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return this.deliverOne(runId, only);
    const needed = new AbortController();
    let open = batch.length;
    const leave = (): void => {
      if (--open === 0) needed.abort();
    };
    for (const { signal } of batch) signal.addEventListener("abort", leave, { once: true });
    const said = batch.map(({ name, message }) => ({ name, message }));
    try {
      const target = { service: ROOT, key: runId, handler: "several" };
      const asked = this.ingress.call<readonly unknown[]>(target, { said }, needed.signal);
      const answers = await unblockWhileWaiting(asked, () => this.open(runId));
      for (const [at, { answer }] of batch.entries()) answer.resolve(knownAnswer(answers[at], runId));
    } catch {
      // One of them may have been refused. Each is sent on its own.
      for (const pending of batch) await this.deliverOne(runId, pending);
    }
    for (const { signal } of batch) signal.removeEventListener("abort", leave);
  }

  private async deliverOne(runId: string, { name, message, signal, answer }: PendingMessage): Promise<void> {
    try {
      const target = { service: ROOT, key: runId, handler: name };
      const asked = this.ingress.call(target, message, signal);
      answer.resolve(knownAnswer(await unblockWhileWaiting(asked, () => this.open(runId)), runId));
    } catch (error) {
      answer.reject(error);
    }
  }
}
