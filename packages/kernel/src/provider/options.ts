import { checkInteger, checkRecord } from "../core/check.ts";
import type { Clock } from "../core/clock.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkPorts } from "../loop/check-ports.ts";
import type { Logger } from "../ports/services.ts";
import { isObject } from "./json.ts";

/** Below the 300 s after which Node's own `fetch` gives up, so that it is this limit that is seen. */
const IDLE_TIMEOUT_MS = 240_000;
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** What has to be held in memory at once. */
const MAX_PIECE_BYTES = 32 * 1024 * 1024;

export interface WireLimits {
  /** How long the server may be silent, before its headers or in the middle of its answer. */
  readonly idleTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** An event of a stream, or an answer that is not streamed. */
  readonly maxPieceBytes: number;
}

export interface WireLimitsOptions {
  /** 240,000 */
  readonly idleTimeoutMs?: number | undefined;
  /** 256 MiB */
  readonly maxResponseBytes?: number | undefined;
}

/** The limits of a connection, checked, with the defaults that all providers share. */
export function wireLimits(options: WireLimitsOptions): WireLimits {
  const { idleTimeoutMs = IDLE_TIMEOUT_MS } = options;
  const { maxResponseBytes: given = MAX_RESPONSE_BYTES } = options;
  const maxResponseBytes = checkInteger("maxResponseBytes", given, 1);
  return {
    idleTimeoutMs: checkInteger("idleTimeoutMs", idleTimeoutMs, 1),
    maxResponseBytes,
    maxPieceBytes: Math.min(MAX_PIECE_BYTES, maxResponseBytes),
  };
}

/** Options to check the names of: the error about a wrong name shows its value, and that might be a key. */
export function namesOnly(options: unknown): unknown {
  // A promise, or a map, has no names: it is refused as it is, and not taken for options that say nothing.
  if (!isObject(options) || Object.keys(options).length === 0) return options;
  return Object.fromEntries(Object.keys(options).map((name) => [name, "(not shown)"]));
}

/** Refuses a header that is no text, and what has none that could be found, such as a `Headers`. */
export function checkHeaders(headers: Readonly<Record<string, unknown>> | undefined): void {
  if (headers === undefined) return;
  const given = checkRecord("headers", headers, 'a plain object of texts, such as { "x-team": "blue" }');
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "string") continue;
    throw new InvalidValueError({ field: `headers.${name}`, value, expected: "a string" });
  }
}

/** What clients of all providers may be given. */
export interface ClientParts {
  readonly apiKey?: string | null | undefined;
  readonly provider?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: unknown;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** Refuses what would be found out at the first call. A key is never shown. */
export function checkClientParts(what: string, options: ClientParts): void {
  const { apiKey, provider, headers, fetch, clock, logger } = options;
  if (apiKey === "" || (apiKey !== undefined && apiKey !== null && typeof apiKey !== "string")) {
    const expected = "a key, null for none, or nothing for the one of the environment";
    throw new InvalidValueError({
      field: "apiKey",
      value: apiKey === "" ? "" : "another value (not shown)",
      expected,
    });
  }
  if (provider !== undefined && (typeof provider !== "string" || provider === ""))
    throw new InvalidValueError({ field: "provider", value: provider, expected: "a text that is not empty" });
  if (fetch !== undefined && typeof fetch !== "function")
    throw new InvalidValueError({
      field: "fetch",
      value: fetch,
      expected: "a function, as the platform's fetch",
    });
  checkHeaders(headers);
  checkPorts(what, { clock, logger });
}

interface UrlParts {
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
}

/** Refuses a base URL that cannot be used; undefined stands for one that could not be parsed. It is never shown: it may carry a key. */
export function checkBaseURL<U extends UrlParts>(field: string, url: U | undefined): U {
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const expected = "a URL that begins with http:// or https://, such as http://127.0.0.1:11434/v1";
    throw new InvalidValueError({ field, value: "another value (not shown)", expected });
  }
  if (url.username !== "" || url.password !== "") {
    const expected = "a URL without user name and password; send them as a header: headers.authorization";
    throw new InvalidValueError({ field, value: "a URL with credentials (not shown)", expected });
  }
  return url;
}
