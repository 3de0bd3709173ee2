import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2";
import { checkBoolean, checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";

/**
 * The handler for an HTTP/2 server of your own. Declared here because the SDK's declarations do not compile under every setting.
 */
export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** Options of `listen`. */
export interface ListenOptions {
  /** Default: 9080. With 0 the system chooses a free one. */
  readonly port?: number | undefined;
  /** Default: all interfaces. */
  readonly host?: string | undefined;
  /**
   * Lets several workers on one machine share a port; the operating system distributes connections. Not available on every
   * platform. Default: false.
   */
  readonly reusePort?: boolean | undefined;
}

/** A worker that is being served. */
export interface Listening {
  /** The port in use. */
  readonly port: number;
  /** Closes all connections. What was under way is retried by another worker. */
  close(): Promise<void>;
}

/** Serves the handler. Rejects if the port cannot be opened. */
export async function listenOn(handler: Http2Handler, options: ListenOptions = {}): Promise<Listening> {
  const { port, host, reusePort } = checkListen(options);
  const server = createServer(handler);
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    // A server that is killed resets its connections. The attempts end, and nothing else needs to be done.
    session.on("error", () => {});
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host, reusePort }, resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    async close() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((done) => void server.close(() => done()));
    },
  };
}

/** A misspelt host would open the worker to all interfaces. */
function checkListen(options: ListenOptions): ListenOptions & { readonly port: number } {
  checkFields("listen options", options, ["port", "host", "reusePort"]);
  const { port = 9080, host, reusePort = false } = options;
  if (checkInteger("listen options.port", port, 0) > 65_535)
    throw new InvalidValueError({ field: "listen options.port", value: port, expected: "at most 65535" });
  if (host !== undefined && typeof host !== "string")
    throw new InvalidValueError({ field: "listen options.host", value: host, expected: "a host name" });
  return { port, host, reusePort: checkBoolean("listen options.reusePort", reusePort) };
}
