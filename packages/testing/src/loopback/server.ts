import { setMaxListeners } from "node:events";
import { createServer, type Server } from "node:http";
import { CancellationError, checkInteger, InvalidValueError, systemClock } from "@ravi/kernel";
import { ANTHROPIC } from "./anthropic-protocol.ts";
import { type Bill, makeBill } from "./bill.ts";
import { openBillFile } from "./bill-file.ts";
import { checkOptions, type LoopbackOptions, createContext } from "./server-context.ts";
import { OPENAI } from "./openai-protocol.ts";
import type { Protocol } from "./protocol.ts";
import type { BillSummary } from "./read-bill.ts";
import type { LoopbackRequest } from "./request.ts";
import { serve } from "./serve.ts";

/** A running loopback server. */
export interface LoopbackServer {
  /** The base URL for a client: with `/v1` for OpenAI, without it for Anthropic. */
  readonly url: string;
  readonly port: number;
  /** All requests that came, in order, including refused ones. */
  readonly requests: readonly LoopbackRequest[];
  /** What was charged so far. With a `billFile`, it is on the disk. */
  bill(): BillSummary;
  /** Ends every connection and closes the bill. Nothing is left that keeps the process alive. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a server on 127.0.0.1 that speaks OpenAI's protocol, answers from a script and keeps a bill. Rejects with an
 * `InvalidValueError` if an option is wrong or the port is taken.
 */
export function loopbackOpenAI(options: LoopbackOptions): Promise<LoopbackServer> {
  return startLoopback(options, OPENAI);
}

/**
 * Starts a server on 127.0.0.1 that speaks Anthropic's Messages API, answers from a script and keeps a bill. Rejects with an
 * `InvalidValueError` if an option is wrong or the port is taken.
 */
export function loopbackAnthropic(options: LoopbackOptions): Promise<LoopbackServer> {
  return startLoopback(options, ANTHROPIC);
}

async function startLoopback(options: LoopbackOptions, protocol: Protocol): Promise<LoopbackServer> {
  checkOptions(options);
  const { billFile, prices } = options;
  const disk = billFile === undefined ? undefined : await openBillFile(billFile);
  return serveLoopback(options, makeBill({ disk, prices, clock: options.clock ?? systemClock }), protocol);
}

/** Starts a server with the given bill, which is closed together with the server, or if that cannot start. */
export async function serveLoopback(
  options: LoopbackOptions,
  bill: Bill,
  protocol = OPENAI,
): Promise<LoopbackServer> {
  const closing = new AbortController();
  // Every call that waits for its script adds a listener.
  setMaxListeners(0, closing.signal);
  const underWay = new Set<Promise<void>>();
  try {
    const context = createContext(options, { bill, closing: closing.signal, protocol });
    const server = createServer((request, response) => {
      const served = serve(request, response, context).finally(() => underWay.delete(served));
      underWay.add(served);
    });
    // A test that keeps the process busy for five seconds would otherwise find its connection closed as it sends its next request.
    server.keepAliveTimeout = 0;
    const port = await listen(server, checkInteger("port", options.port ?? 0, 0));
    const close = async (): Promise<void> => {
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      closing.abort(new CancellationError({ reason: "the server closes" }));
      server.closeAllConnections();
      await Promise.all([ended, ...underWay]);
      await bill.close();
    };
    let closed: Promise<void> | undefined;
    const closeOnce = (): Promise<void> => (closed ??= close());
    return {
      url: `http://127.0.0.1:${port}${protocol.basePath}`,
      port,
      requests: context.requests,
      bill: () => bill.summary(),
      close: closeOnce,
      [Symbol.asyncDispose]: closeOnce,
    };
  } catch (error) {
    await bill.close();
    throw error;
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new InvalidValueError({ field: "port", value: port, expected: "a free port", cause }));
    });
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}
