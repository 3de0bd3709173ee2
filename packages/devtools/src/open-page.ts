import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { checkBoolean, checkFields, checkInteger, InvalidValueError, isRaviError } from "@ravi/kernel";
import { checkPort, messageOf } from "@ravi/kernel/loop";
import { Access } from "./access.ts";
import { toJson } from "./answers.ts";
import { HEADERS, sendFile } from "./files.ts";
import { HttpError } from "./http-error.ts";
import { route } from "./routes.ts";
import type { WatchedRuns } from "./watched-runs.ts";

export interface PageOptions {
  /** Default: any that is free. */
  readonly port?: number | undefined;
  /** Whether the page has no buttons that answer or cancel runs. Default: false. */
  readonly readOnly?: boolean | undefined;
}

/** A page that is open. It keeps the process alive until it is closed. */
export interface OpenPage {
  /** The address with its key: whoever has it can see, answer and cancel all runs. */
  readonly url: string;
  readonly port: number;
  /** Ends all connections. A second call does nothing. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a page on these runs, on this machine only. Throws an `InvalidValueError` if an option is wrong or the port is taken.
 */
export async function openPage(runs: WatchedRuns, options: PageOptions = {}): Promise<OpenPage> {
  checkPort("runs", runs, ["list", "inspect", "recordedEvents", "deliver", "cancel"]);
  checkFields("options", options, ["port", "readOnly"]);
  const isReadOnly = checkBoolean("readOnly", options.readOnly ?? false);
  const server = createServer();
  const port = await listen(server, checkPortNumber(options.port ?? 0));
  const access = new Access(port);
  server.on("request", (request, response) => void handle({ runs, isReadOnly, access, request, response }));
  const close = (): Promise<void> => closed(server);
  const url = `http://127.0.0.1:${port}/#key=${access.token}`;
  return { url, port, close, [Symbol.asyncDispose]: close };
}

interface Exchange {
  readonly runs: WatchedRuns;
  readonly isReadOnly: boolean;
  readonly access: Access;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function handle({ runs, isReadOnly, access, request, response }: Exchange): Promise<void> {
  try {
    access.checkSite(request);
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    if (request.method === "GET" && (await sendFile(response, path))) return;
    access.checkToken(request);
    const asked = { runs, isReadOnly, request, query: new URLSearchParams(query) };
    sendJson(response, 200, await route(asked, path));
  } catch (error) {
    sendJson(response, statusOf(error), { error: messageOf(error) });
  }
}

/** A run that is not there, or does not wait for that, is no fault of the server. */
function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  return isRaviError(error, "INVALID_VALUE") ? 409 : 500;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  // Before anything is sent: it throws if there is something in it that JSON does not have.
  const body = toJson(value);
  response.writeHead(status, { ...HEADERS, "content-type": "application/json; charset=utf-8" }).end(body);
}

function checkPortNumber(value: number): number {
  const port = checkInteger("port", value, 0);
  if (port <= 65_535) return port;
  throw new InvalidValueError({ field: "port", value, expected: "at most 65535" });
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen({ port, host: "127.0.0.1" });
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw cause;
    const expected = `a port that is free, or 0 for any (${message})`;
    throw new InvalidValueError({ field: "port", value: port, expected, cause });
  }
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  const end = once(server, "close");
  server.close();
  server.closeAllConnections();
  await end;
}
