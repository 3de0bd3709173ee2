import type { JsonValue } from "../core/json.ts";

/** What somebody answered who was asked to allow something. */
export interface Approval {
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

const YES: ReadonlySet<string> = new Set(["approve", "approved", "yes"]);

/** Only a clear yes is one: `true`, `{ approved: true }`, or one of the words for it. Anything else is no. */
export function readApproval(answer: JsonValue): Approval {
  if (answer === true) return { approved: true };
  if (typeof answer === "string") return { approved: YES.has(answer.trim().toLowerCase()) };
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return { approved: false };
  const { approved, reason } = answer as { readonly approved?: JsonValue; readonly reason?: JsonValue };
  return { approved: approved === true, reason: typeof reason === "string" ? reason : undefined };
}
