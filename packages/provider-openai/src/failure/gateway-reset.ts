import { field, textIn } from "@ravi/kernel/provider";

/** A time in milliseconds has so many digits since 2001. */
const EPOCH_MS = /^\d{13}$/;

/**
 * How long until the limit of OpenRouter is whole again, in milliseconds. It sends no Retry-After for its free models, but quotes a header in
 * the error: a minute is longer than a backoff, and a day too long to wait. Undefined if the error does not say it.
 */
export function gatewayResetMs(error: unknown, now: number): number | undefined {
  const headers = field(field(field(error, "error"), "metadata"), "headers");
  const at = textIn(field(headers, "X-RateLimit-Reset")) ?? "";
  return EPOCH_MS.test(at) ? Math.max(0, Number(at) - now) : undefined;
}
