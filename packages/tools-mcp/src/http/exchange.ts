import { LIMITS } from "../limits.ts";
import { type FloodGate, TOO_LONG } from "../open/flood-gate.ts";
import { EventSize } from "./event-size.ts";

export interface ExchangeOptions {
  /** Whether it is the stream over which the server tells of changes. */
  readonly isForNotices: boolean;
  readonly gate: FloodGate;
  /** Called when the server sends too much. */
  readonly onFlood: (reason: string) => void;
}

/** What the server would have told since is not known: so the list of tools is read again before the next call. */
const MAYBE_CHANGED = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };

/** One request and its answer. */
export class Exchange {
  private readonly options: ExchangeOptions;
  private readonly controller = new AbortController();

  constructor(options: ExchangeOptions) {
    this.options = options;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.controller.abort(reason);
  }

  /** The same response with limits on its body. */
  guard(response: Response, whenOver: () => void): Response {
    const { body, status, statusText, headers } = response;
    if (body === null || status < 200 || status > 599) {
      whenOver();
      return response;
    }
    const isStream = /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
    const guarded = this.guardedBody(body, isStream, whenOver);
    return new Response(guarded, { status, statusText, headers });
  }

  private guardedBody(
    body: ReadableStream<Uint8Array>,
    isStream: boolean,
    whenOver: () => void,
  ): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const events = new EventSize();
    let size = 0;
    let isOver = false;
    const over = (): void => {
      isOver = true;
      whenOver();
    };
    const leave = (): void => void reader.cancel().catch(() => undefined);
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        let chunk: Uint8Array | undefined;
        let failure: unknown;
        try {
          chunk = (await reader.read()).value;
        } catch (error) {
          failure = error;
        }
        if (isOver) return;
        if (chunk === undefined) {
          over();
          if (isStream && this.options.isForNotices) finish(controller);
          else if (failure === undefined) controller.close();
          else controller.error(failure);
          return;
        }
        size += chunk.length;
        if (isStream) events.take(chunk);
        const pending = isStream ? events.bytes : size;
        const flood = this.options.gate.take({ bytes: chunk.length });
        if (flood === undefined && pending <= LIMITS.messageBytes) return controller.enqueue(chunk);
        over();
        leave();
        controller.error(new Error(flood ?? TOO_LONG));
        this.options.onFlood(flood ?? TOO_LONG);
      },
      cancel: () => {
        over();
        leave();
      },
    });
  }
}

/** Ends what was cut off in the middle first. */
function finish(controller: ReadableStreamDefaultController<Uint8Array>): void {
  controller.enqueue(new TextEncoder().encode(`\n\ndata: ${JSON.stringify(MAYBE_CHANGED)}\n\n`));
  controller.close();
}
