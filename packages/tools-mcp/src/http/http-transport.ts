import { type JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { field } from "@ravi/kernel/provider";
import { CUT_OFF } from "./cut-off.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/**
 * The client's transport, with an end to each request. When one is cancelled, the client only says so to the server and goes on to ask for
 * the answer: here its connection ends, and those that were opened again for it. When its stream ends without an answer, the client would
 * wait until the time is up: here it is told.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  private readonly unanswered = new Map<number, AbortController>();

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !("method" in message)) return super.send(message, options);
    if (!("id" in message)) {
      if (message.method === "notifications/cancelled") this.cancel(message.params?.["requestId"]);
      return super.send(message, options);
    }
    const { id } = message;
    const controller = new AbortController();
    this.unanswered.set(Number(id), controller);
    const onRequestStreamEnd = (): void => {
      if (this.unanswered.has(Number(id))) this.onmessage?.({ jsonrpc: "2.0", id, error: CUT_OFF });
    };
    try {
      await super.send(message, { ...options, requestSignal: controller.signal, onRequestStreamEnd });
    } catch (error) {
      this.unanswered.delete(Number(id));
      throw error;
    }
  }

  /** To be told of each message of the server. */
  noteAnswer(message: unknown): void {
    if (field(message, "method") === undefined) this.unanswered.delete(Number(field(message, "id")));
  }

  private cancel(id: unknown): void {
    this.unanswered.get(Number(id))?.abort();
    this.unanswered.delete(Number(id));
  }
}
