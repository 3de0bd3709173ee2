import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2";

/** For a server of your own. It is written out here because the SDK's declarations do not hold under every setting. */
export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface ListenOptions {
  /** 9080 unless given; 0 for any that is free. */
  readonly port?: number | undefined;
  /** All interfaces unless given. */
  readonly host?: string | undefined;
  /** Several workers of one machine on one port; the operating system spreads connections over them. Not on every platform. */
  readonly reusePort?: boolean | undefined;
}

export interface Listening {
  readonly port: number;
  /** Ends all connections: what was under way is tried again by another worker. */
  close(): Promise<void>;
}

export async function listenOn(
  handler: Http2Handler,
  { port = 9080, host, reusePort = false }: ListenOptions = {},
): Promise<Listening> {
  const server = createServer(handler);
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    // A server that is killed resets its connections; its attempts end, and that is all there is to it.
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
