import type { JsonValue } from "../core/json.ts";

/** The answer to a request for approval. */
export interface Approval {
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

const YES: ReadonlySet<string> = new Set(["approve", "approved", "yes"]);

/** Only a clear yes approves: `true`, `{ approved: true }`, or "approve", "approved" or "yes". Anything else denies. */
export function readApproval(answer: JsonValue): Approval {
  if (answer === true) return { approved: true };
  if (typeof answer === "string") return { approved: YES.has(answer.trim().toLowerCase()) };
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return { approved: false };
  const { approved, reason } = answer as { readonly approved?: JsonValue; readonly reason?: JsonValue };
  return { approved: approved === true, reason: typeof reason === "string" ? reason : undefined };
}
