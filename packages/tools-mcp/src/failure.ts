import { type AbortSignalLike, cancellationOf, isRaviError, ToolError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { causeChain, field } from "@ravi/kernel/provider";
import { isCutOff } from "./http/cut-off.ts";

const MAX_CHARS = 1_000;
/** The answer of a server may be of any length. */
const MAX_READ_CHARS = 100_000;

/** Of whom an error speaks, and what its text must not show. */
export interface FailureContext {
  readonly toolName: string;
  /** As errors name it. */
  readonly server: string;
  readonly timeoutS: number;
  readonly isIdempotent: boolean;
  readonly clean: (text: string) => string;
  /** Why the connection was lost, if it is known. */
  readonly lost: string | undefined;
}

/**
 * What a failed call throws: a cancellation if that is why, else a `ToolError` for the model. The client's own errors are not kept, not
 * even as a cause: they hold what was sent and what a server answered.
 */
export function failureOf(error: unknown, signal: AbortSignalLike, context: FailureContext): Error {
  if (signal.aborted) return cancellationOf(signal);
  if (isRaviError(error, "TOOL_ERROR")) return error;
  const { toolName, clean, isIdempotent } = context;
  return new ToolError({ toolName, message: clean(explain(error, context)), retryable: isIdempotent });
}

function explain(error: unknown, { server, timeoutS, lost, isIdempotent, clean }: FailureContext): string {
  const code = field(error, "code");
  const said = saidBy(error, clean);
  // It may have been carried out: the model must not simply repeat it.
  const doubt = isIdempotent || wasRefused(error) ? "" : "; the call may have been carried out";
  if (code === "REQUEST_TIMEOUT") return `${server} did not answer within ${timeoutS} s${doubt}`;
  if (code === "CONNECTION_CLOSED" || code === "NOT_CONNECTED" || said === "Not connected")
    return `the connection to ${server} was lost${lost === undefined ? "" : ` (${lost})`}${doubt}`;
  if (code === "INVALID_RESULT") return `${server} sent a result that is none${doubt}`;
  // Codes of JSON-RPC are numbers: it is the server that refuses.
  if (typeof code === "number" && !isCutOff(error)) return `${server} refused the call: ${said} (${code})`;
  return `${server} could not be called: ${said}${doubt}`;
}

/** Over HTTP: statuses of a server that has not looked at what it was asked for. */
const REFUSALS: readonly unknown[] = [401, 403, 404, 405, 406, 413, 415, 429];
/** As the client names what it throws after a 401 or a 403. */
const REFUSED = ["UnauthorizedError", "InsufficientScopeError"];

function wasRefused(error: unknown): boolean {
  // Of our own, only what is wrong with the token gets here, without which nothing is sent.
  if (isRaviError(error, "INVALID_VALUE")) return true;
  return REFUSALS.includes(statusOf(error)) || REFUSED.includes(String(field(error, "name")));
}

/** The status of an HTTP response; undefined if the error is none of the transport. */
export function statusOf(error: unknown): unknown {
  // A number is a code of JSON-RPC: then the data are the tool's own words, whatever they look like.
  if (typeof field(error, "code") !== "string") return undefined;
  return field(field(error, "data"), "status");
}

/** Why a server cannot be used, as far as it is known. */
export function whyNot(
  error: unknown,
  lost: string | undefined,
  timeoutS: number,
  clean: (text: string) => string,
): string {
  // Whoever gave up waiting has then closed the connection.
  if (field(error, "code") === "REQUEST_TIMEOUT") return `it did not answer within ${timeoutS} s`;
  return clean(lost ?? saidBy(error, clean));
}

/** "fetch failed" alone says nothing; the code of its cause does. Nor does the page of a proxy; its status does. */
function saidBy(error: unknown, clean: (text: string) => string): string {
  const codes = causeChain(error)
    .slice(1)
    .map((cause) => field(cause, "code"))
    .filter((code) => typeof code === "string");
  const status = statusOf(error);
  const code = typeof status === "number" ? `HTTP ${status}` : codes.find((text) => /^\w{1,60}$/.test(text));
  return `${short(messageOf(error), clean)}${code === undefined ? "" : ` (${code})`}`;
}

/** Cleaned before it is cut: half of a secret would not be recognised. */
export function short(text: string, clean: (text: string) => string): string {
  const cleaned = clean(text.slice(0, MAX_READ_CHARS));
  return cleaned.length <= MAX_CHARS ? cleaned : `${cleaned.slice(0, MAX_CHARS)}...`;
}
