import type { ErrorCode } from "../errors/base.ts";
import { isRaviError } from "../errors/is.ts";
import { messageOf } from "../errors/message-of.ts";
import type { AuditEntry } from "../ports/services.ts";

/** A rule has refused it, or somebody has stopped it. */
const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "BUDGET_EXHAUSTED",
  "MIDDLEWARE_TERMINATION",
  "LANE_VIOLATION",
]);

/** It goes on later. */
const WAITS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["PAUSED", "SUSPENDED"]);

/** What an audit log says of something that has thrown `error`. A run that waits, as for an approval, has not failed. */
export function auditedFailure(error: unknown) {
  const code = isRaviError(error) ? error.code : undefined;
  return { outcome: outcomeOf(code), details: { error: messageOf(error), code } };
}

function outcomeOf(code: ErrorCode | undefined): AuditEntry["outcome"] {
  if (code === undefined) return "error";
  if (WAITS.has(code)) return "ok";
  return DENIALS.has(code) ? "denied" : "error";
}
