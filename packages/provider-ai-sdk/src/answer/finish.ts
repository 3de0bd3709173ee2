import type { FinishReason } from "@ravi/kernel";
import { field, reasonMeantBy, stringOr } from "@ravi/kernel/provider";

/** How the model ended. */
export interface Ending {
  readonly reason: FinishReason | "error";
  /**
   * Whether the server really gave a reason. If the server's stream ends too early, many providers fill in `other` without a raw
   * reason.
   */
  readonly isSaid: boolean;
}

/** Reads the finish reason: a string in v2, `{ unified, raw }` from v3 on. */
export function endingOf(value: unknown): Ending {
  const word = stringOr(value, undefined) ?? stringOr(field(value, "unified"), "unknown");
  const raw = stringOr(field(value, "raw"), undefined);
  // Providers often map a server's reason to `other`; the raw one may still be known.
  const reason = meantBy(word) ?? (raw === undefined ? undefined : meantBy(raw));
  if (reason === undefined)
    return { reason: "other", isSaid: typeof value === "string" ? word !== "unknown" : raw !== undefined };
  if (reason === "filtered" && /refus/i.test(raw ?? "")) return { reason: "refused", isSaid: true };
  return { reason, isSaid: true };
}

function meantBy(word: string): FinishReason | "error" | undefined {
  return word.toLowerCase() === "error" ? "error" : reasonMeantBy(word);
}

/** `stop` and `toolCalls` depend only on whether there are calls, whatever the provider said. */
export function finishReasonOf(reason: FinishReason, hasCalls: boolean): FinishReason {
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}
