/** Deeper than clients wrap what happened. */
const MOST_CAUSES = 8;

/** There was no connection yet. Others (`ECONNRESET`, `ETIMEDOUT`) also come when a request is on its way, or was read. */
const BEFORE_ANY: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether the request has certainly not left this machine, so that nobody can have charged for it. */
export function isUnsent(error: unknown): boolean {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < MOST_CAUSES; depth++) {
    if ("code" in at && BEFORE_ANY.has(at.code)) return true;
    at = at.cause;
  }
  return false;
}
