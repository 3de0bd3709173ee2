import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

const MOST_BYTES = 1_000_000;

/** An error that the client is told of. */
export class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * The body of a request. Only JSON is taken: a form on another site could send anything else without being asked whether it may.
 */
export async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw new HttpError(415, "the content-type must be application/json");
  if (Number(request.headers["content-length"] ?? Infinity) > MOST_BYTES)
    throw new HttpError(413, `the body must have a content-length of at most ${MOST_BYTES} bytes`);
  try {
    const value: unknown = JSON.parse(await text(request));
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Said below.
  }
  throw new HttpError(400, "the body must be a JSON object");
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
}

/** How often something is sent where nothing happens, so that nobody in between takes the connection for dead. */
const KEEP_ALIVE_MS = 15_000;

/** Sends server-sent events, no faster than the client reads them. They stop when the client leaves; the run does not. */
export async function sendEvents(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  events: (left: AbortSignal) => AsyncIterable<string>,
): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  if (response.destroyed) left.abort();
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    // Some proxies would collect the events otherwise.
    "x-accel-buffering": "no",
    ...headers,
  });
  response.flushHeaders();
  const beat = setInterval(() => response.write(":\n\n"), KEEP_ALIVE_MS);
  try {
    for await (const event of events(left.signal))
      if (!response.write(event)) await once(response, "drain", { signal: left.signal });
  } catch (error) {
    if (!left.signal.aborted) throw error;
  } finally {
    clearInterval(beat);
    response.end();
  }
}
