import type { FinishReason } from "@ravi/kernel";
import { field, reasonMeantBy, stringOr } from "@ravi/kernel/provider";

/** How the model ended, before what it said is looked at. */
export interface Ending {
  readonly reason: FinishReason | "error";
  /** Whether anybody said so. A provider whose server broke off politely fills in `other`, with nothing behind it. */
  readonly isSaid: boolean;
}

/** A word in v2, `{ unified, raw }` from v3 on. */
export function endingOf(value: unknown): Ending {
  const word = stringOr(value, undefined) ?? stringOr(field(value, "unified"), "unknown");
  const raw = stringOr(field(value, "raw"), undefined);
  // Providers often have no word for what their servers say.
  const reason = meantBy(word) ?? (raw === undefined ? undefined : meantBy(raw));
  if (reason === undefined)
    return { reason: "other", isSaid: typeof value === "string" ? word !== "unknown" : raw !== undefined };
  if (reason === "filtered" && /refus/i.test(raw ?? "")) return { reason: "refused", isSaid: true };
  return { reason, isSaid: true };
}

function meantBy(word: string): FinishReason | "error" | undefined {
  return word.toLowerCase() === "error" ? "error" : reasonMeantBy(word);
}

/** Providers that say `stop` beside tool calls mean the calls, and the other way round. */
export function finishReasonOf(reason: FinishReason, hasCalls: boolean): FinishReason {
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}
