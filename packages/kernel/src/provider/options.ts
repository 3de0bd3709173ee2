import { checkInteger, checkRecord, checkText } from "../core/check.ts";
import type { Clock } from "../core/clock.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkPort, checkPorts } from "../loop/check-ports.ts";
import type { Logger } from "../ports/services.ts";
import { isObject } from "./json.ts";

/** Below the 300 s after which Node's own `fetch` gives up, so that this limit applies first and its error is seen. */
const IDLE_TIMEOUT_MS = 240_000;
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** The maximum that has to be in memory at once. */
const MAX_PIECE_BYTES = 32 * 1024 * 1024;

/** The limits of a connection to a provider. */
export interface WireLimits {
  /** How long the server may be silent, in milliseconds, before its headers or during its answer. */
  readonly idleTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** The maximum size of one event of a stream, or of an answer that is not streamed. */
  readonly maxPieceBytes: number;
}

export interface WireLimitsOptions {
  /** Milliseconds. Default: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Default: 256 MiB. */
  readonly maxResponseBytes?: number | undefined;
}

/** Checks the limits of a connection and adds the defaults, which all providers share. */
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

/**
 * The options with their values hidden, to check only the names: the error for an unknown name shows its value, which might be a
 * key.
 */
export function namesOnly(options: unknown): unknown {
  // A promise or a `Map` has no keys. It is passed on, to be refused as such; otherwise it would look like empty options.
  if (!isObject(options) || Object.keys(options).length === 0) return options;
  return Object.fromEntries(Object.keys(options).map((name) => [name, "(not shown)"]));
}

/** Throws if a header is not a string, or if the headers are not a plain object (a `Headers` object has no keys of its own). */
export function checkHeaders(headers: Readonly<Record<string, unknown>> | undefined): void {
  if (headers === undefined) return;
  const given = checkRecord("headers", headers, 'a plain object of strings, such as { "x-team": "blue" }');
  for (const [name, value] of Object.entries(given)) checkText(`headers.${name}`, value);
}

/** The options that the clients of all providers share. */
export interface ClientParts {
  readonly apiKey?: string | null | undefined;
  readonly provider?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: unknown;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** Throws an `InvalidValueError` for options that would only fail at the first call. Never shows a key. */
export function checkClientParts(what: string, options: ClientParts): void {
  const { apiKey, provider, headers, fetch, clock, logger } = options;
  if (apiKey === "" || (apiKey !== undefined && apiKey !== null && typeof apiKey !== "string")) {
    const expected = "a non-empty string, null for no key, or undefined to read it from the environment";
    throw new InvalidValueError({
      field: "apiKey",
      value: apiKey === "" ? "" : "(not shown)",
      expected,
    });
  }
  if (provider !== undefined && (typeof provider !== "string" || provider === ""))
    throw new InvalidValueError({ field: "provider", value: provider, expected: "a non-empty string" });
  if (fetch !== undefined) checkPort("fetch", fetch, "a function like the platform's fetch");
  checkHeaders(headers);
  checkPorts(what, { clock, logger });
}

interface UrlParts {
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
}

/**
 * Throws if a base URL cannot be used. `undefined` stands for a URL that could not be parsed. The error never shows the URL,
 * because it may contain a key.
 */
export function checkBaseURL<U extends UrlParts>(field: string, url: U | undefined): U {
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const expected = "a URL that begins with http:// or https://, such as http://127.0.0.1:11434/v1";
    throw new InvalidValueError({ field, value: "(not shown)", expected });
  }
  if (url.username !== "" || url.password !== "") {
    const expected = "a URL without user name and password; send them as a header: headers.authorization";
    throw new InvalidValueError({ field, value: "(not shown)", expected });
  }
  return url;
}
