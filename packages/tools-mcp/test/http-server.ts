import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { type McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  readonly server: Server;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A server on loopback. */
export async function httpServer(handle: Handler): Promise<HttpServer> {
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    server,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** For handlers that are written for the platform's `fetch`. */
export function fetched(handle: (request: Request) => Promise<Response>): Handler {
  return async (incoming, outgoing) => {
    const text = await bodyOf(incoming);
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const { method = "GET", url = "/" } = incoming;
    const body = text === "" ? {} : { body: text };
    const response = await handle(
      new Request(new URL(url, "http://127.0.0.1"), { method, headers, ...body }),
    );
    outgoing.writeHead(response.status, [...response.headers].flat());
    if (response.body === null) outgoing.end();
    else
      Readable.fromWeb(response.body)
        .on("error", () => {})
        .pipe(outgoing);
  };
}

export interface Sessions {
  readonly handle: Handler;
  /** The ids of the sessions that are open. */
  readonly open: Map<string, McpServer>;
  /** Until a client listens to notifications. */
  readonly listening: Promise<void>;
}

/** A real server that keeps a session for each client. */
export function sessions(
  make: () => McpServer,
  unknown = (): Response => new Response("no such session", { status: 404 }),
): Sessions {
  const open = new Map<string, McpServer>();
  const listening = Promise.withResolvers<void>();
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const handle = fetched(async (request) => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null && !open.has(id)) return unknown();
    const known = transports.get(id ?? "");
    if (known !== undefined) {
      const response = await known.handleRequest(request);
      if (request.method === "GET") listening.resolve();
      return response;
    }
    const server = make();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (made) => {
        open.set(made, server);
        transports.set(made, transport);
      },
      onsessionclosed: (ended) => void open.delete(ended),
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  });
  return { handle, open, listening: listening.promise };
}

export interface RawCall {
  readonly id: number;
  readonly name: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A server written by hand, which answers everything but calls. Notices what is cancelled. */
export function rawHttp(
  call: (call: RawCall) => unknown,
  onCancelled: (id: number) => void = () => {},
  tools: () => readonly object[] = () => [{ name: "read", inputSchema: { type: "object" } }],
): Handler {
  return async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (method === "notifications/cancelled") onCancelled(params.requestId);
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/call") return call({ id, name: params.name, request, response });
    const serverInfo = { name: "raw", version: "1" };
    const result =
      method === "initialize"
        ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
        : { tools: tools() };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
}

export function events(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}

export function answer({ id, response }: RawCall, text: string): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } }));
}
