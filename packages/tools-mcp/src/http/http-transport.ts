import { type JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { field } from "@ravi/kernel/provider";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/**
 * The client's transport, with an end to all that belongs to a request that was cancelled: its connection, and the streams that were
 * opened again for it. The client only says to the server that it is cancelled, and goes on to ask for the answer.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  private readonly unanswered = new Map<unknown, AbortController>();

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    const method = field(message, "method");
    if (method === "notifications/cancelled") this.cancel(field(field(message, "params"), "requestId"));
    const id = field(message, "id");
    // What has no method is an answer to the server.
    if (method === undefined || id === undefined) return super.send(message, options);
    const controller = new AbortController();
    this.unanswered.set(id, controller);
    try {
      await super.send(message, { ...options, requestSignal: controller.signal });
    } catch (error) {
      this.unanswered.delete(id);
      throw error;
    }
  }

  /** To be told of each message of the server. */
  noteAnswer(message: unknown): void {
    if (field(message, "method") === undefined) this.unanswered.delete(field(message, "id"));
  }

  private cancel(id: unknown): void {
    this.unanswered.get(id)?.abort();
    this.unanswered.delete(id);
  }
}
