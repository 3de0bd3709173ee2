import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import type { Answer, Message, MessageName } from "../root/decide.ts";
import type { Courier } from "./courier.ts";

/** What an execution says to its root from inside of a closure, where the engine's own calls are not to be had. */
export class Line {
  private readonly courier: Courier;
  private readonly ingress: Ingress;
  private readonly runId: string;

  constructor(courier: Courier, ingress: Ingress, runId: string) {
    this.courier = courier;
    this.ingress = ingress;
    this.runId = runId;
  }

  /** Tried until it is answered, or `signal` says that nobody needs the answer. */
  ask<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<Answer<N>> {
    return this.courier.ask(this.runId, name, message, signal);
  }

  async tell<N extends MessageName>(name: N, message: Message<N>, signal: AbortSignal): Promise<void> {
    await this.ingress.tell({ service: ROOT, key: this.runId, handler: name }, message, signal);
  }
}
