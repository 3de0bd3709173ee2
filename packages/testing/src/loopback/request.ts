import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { AbortSignalLike, JsonObject, JsonValue } from "@ravi/kernel";

/** A request as it came. Keys and cookies are not kept: of a key only the last four characters. */
export interface LoopbackRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Undefined where there is none, or none that is JSON. */
  readonly body: JsonValue | undefined;
}

/** What a script learns about a call beside the request. */
export interface LoopbackCall extends LoopbackRequest {
  /** From 0, counting the calls that reached the script. */
  readonly index: number;
  readonly model: string;
  readonly stream: boolean;
  readonly body: JsonObject;
  /** Aborts when the client has gone. The call is charged all the same, as providers do. */
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

/** The key that a client sent, as OpenAI, Azure or Anthropic takes it. */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer ?? single(headers["api-key"]) ?? single(headers["x-api-key"]);
}

/** Enough to tell keys apart; nothing of a key so short that its end would be most of it. */
function endOfKey(key: string | undefined): string | undefined {
  if (key === undefined || key === "") return undefined;
  return key.length >= 2 * SHOWN_OF_KEY ? key.slice(-SHOWN_OF_KEY) : "****";
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
