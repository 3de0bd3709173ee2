import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import type { Answer, Message, MessageName } from "../root/decide.ts";
import type { Courier } from "./courier.ts";

/** Messages of an execution to its root from inside a closure, where the context's own calls are not allowed. */
export class Line {
  private readonly courier: Courier;
  private readonly ingress: Ingress;
  private readonly runId: string;

  constructor(courier: Courier, ingress: Ingress, runId: string) {
    this.courier = courier;
    this.ingress = ingress;
    this.runId = runId;
  }

  /** Sends a message. Tries until it is answered or `signal` aborts. */
  ask<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<Answer<N>> {
    return this.courier.ask(this.runId, name, message, signal);
  }

  /** Sends a message without waiting for its answer. */
  async tell<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<void> {
    await this.ingress.tell({ service: ROOT, key: this.runId, handler: name }, message, signal);
  }
}
