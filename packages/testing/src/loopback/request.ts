import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { AbortSignalLike, JsonObject, JsonValue } from "@ravi/kernel";

/** A request that the server received, without API keys and cookies. */
export interface LoopbackRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The last four characters of the API key. */
  readonly key: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Undefined if there is none, or if it is not JSON. */
  readonly body: JsonValue | undefined;
}

/** What a script function gets beside the request. */
export interface LoopbackCall extends LoopbackRequest {
  /** Counts from 0 the calls that reached the script. */
  readonly index: number;
  readonly model: string;
  readonly stream: boolean;
  readonly body: JsonObject;
  /** Aborts when the client has gone. The call is charged nevertheless, as providers do. */
  readonly signal: AbortSignalLike;
}

const SECRET_HEADERS = new Set(["authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"]);
const SHOWN_OF_KEY = 4;

export function describeIncoming(request: IncomingMessage, body: JsonValue | undefined): LoopbackRequest {
  const { headers } = request;
  return {
    method: request.method ?? "GET",
    path: (request.url ?? "/").split("?", 1)[0] ?? "/",
    headers: Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        value === undefined || SECRET_HEADERS.has(name) ? [] : [[name, String(value)]],
      ),
    ),
    key: endOfKey(keyOf(headers)),
    idempotencyKey: single(headers["idempotency-key"]),
    body,
  };
}

/** The API key that a client sent, in a header of OpenAI, Azure or Anthropic. */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer ?? single(headers["api-key"]) ?? single(headers["x-api-key"]);
}

/** The end of a key is enough to tell keys apart. A key that is too short for that is hidden completely. */
function endOfKey(key: string | undefined): string | undefined {
  if (key === undefined || key === "") return undefined;
  return key.length >= 2 * SHOWN_OF_KEY ? key.slice(-SHOWN_OF_KEY) : "****";
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
