import { type ClassifiedError, type ErrorKind, isRaviError } from "@ravi/kernel";

// What a failed call can have cost: only the turn, if the provider refused it or it was never sent.

/** Kinds of errors that a provider reports before it does any work. */
const UNPAID: ReadonlySet<ErrorKind> = new Set([
  "RATE_LIMIT",
  "AUTH",
  "AUTH_PERMANENT",
  "BILLING",
  "MODEL_NOT_FOUND",
  "CONTEXT_OVERFLOW",
]);

/**
 * Whether the provider refused the call before it did any work. Not every client reports the status; without it the kind of error decides.
 * An error in the middle of an answer came after work that may be charged for; if it has a status, a gateway has told it in its text.
 */
export function isRefusal(
  error: unknown,
  { status, kind }: Pick<ClassifiedError, "status" | "kind">,
  hasStreamed: boolean,
): boolean {
  if (hasStreamed) return false;
  if (status === undefined) return UNPAID.has(kind) || isUnsent(error);
  // A gateway that gave up waiting says nothing of the model behind it, which may work on.
  return status >= 300 && kind !== "TIMEOUT";
}

/**
 * Whether the error is a mistake in the program or a refusal by Ravi itself, so that nothing was sent. A `fetch failed` is a TypeError too,
 * but it has a cause.
 */
export function isProgramError(error: unknown): boolean {
  return (
    (error instanceof TypeError && error.cause === undefined) ||
    isRaviError(error, "INVALID_VALUE") ||
    isRaviError(error, "BUDGET_EXHAUSTED")
  );
}

/**
 * Codes of errors before there was a connection, or before its certificate was accepted, as with a proxy that nobody trusts yet. Others
 * (`ECONNRESET`, `ETIMEDOUT`) may also occur after the request was read.
 */
const BEFORE_CONNECTION: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_INVALID_URL",
]);

/** What Node's `fetch` says, without a code, if it refuses an address itself. */
const REFUSED_HERE = /^(?:bad port|unknown scheme)$/;

/** How many causes of an error are looked at. Clients nest them less deeply. */
const MAX_CAUSES = 8;

/** Whether the request has certainly not left this machine, or was only redirected, so that nobody can have charged for it. */
function isUnsent(error: unknown): boolean {
  let at = error;
  // Not `instanceof Error`: in Jest, errors of Node are of another realm.
  for (let depth = 0; typeof at === "object" && at !== null && depth < MAX_CAUSES; depth++) {
    const { name, code, message, cause } = at as Readonly<
      Record<"name" | "code" | "message" | "cause", unknown>
    >;
    // A browser does not say the status of a redirect.
    if (BEFORE_CONNECTION.has(code) || name === "RedirectedRequest") return true;
    if (typeof message === "string" && REFUSED_HERE.test(message)) return true;
    at = cause;
  }
  return false;
}
