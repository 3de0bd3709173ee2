import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import type { Answer, Message, MessageName } from "../root/decide.ts";
import { terminalIfDeleted } from "./deleted-run.ts";
import type { MessageBatcher } from "./message-batcher.ts";

/** Messages of an execution to its root from inside a closure, where the context's own calls are not allowed. */
export class RootChannel {
  private readonly batcher: MessageBatcher;
  private readonly ingress: Ingress;
  private readonly runId: string;

  constructor(batcher: MessageBatcher, ingress: Ingress, runId: string) {
    this.batcher = batcher;
    this.ingress = ingress;
    this.runId = runId;
  }

  /** Sends a message. Tries until it is answered or `signal` aborts. Throws a `TerminalError` if the run was deleted. */
  async ask<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<Answer<N>> {
    try {
      return await this.batcher.ask(this.runId, name, message, signal);
    } catch (error) {
      throw terminalIfDeleted(this.runId, error);
    }
  }

  /** Sends a message without waiting for its answer. */
  async tell<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<void> {
    await this.ingress.tell({ service: ROOT, key: this.runId, handler: name }, message, signal);
  }
}
