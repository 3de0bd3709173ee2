import type { FinishReason } from "@ravi/kernel";
import { field, stringOr } from "@ravi/kernel/provider";

/** How the model ended, before what it said is looked at. */
export interface Ending {
  readonly reason: FinishReason | "error";
  /** Whether anybody said so. A provider whose server broke off politely fills in `other`, with nothing behind it. */
  readonly isSaid: boolean;
}

const REASONS: Readonly<Record<string, FinishReason | "error">> = {
  stop: "stop",
  length: "length",
  "content-filter": "filtered",
  "tool-calls": "toolCalls",
  error: "error",
};

/** A word in v2, `{ unified, raw }` from v3 on. */
export function endingOf(value: unknown): Ending {
  const word = stringOr(value, undefined) ?? stringOr(field(value, "unified"), "unknown");
  const raw = stringOr(field(value, "raw"), undefined);
  const reason = Object.hasOwn(REASONS, word) ? REASONS[word] : undefined;
  if (reason === undefined)
    return { reason: "other", isSaid: typeof value === "string" ? word !== "unknown" : raw !== undefined };
  if (reason === "filtered" && /refus/i.test(raw ?? "")) return { reason: "refused", isSaid: true };
  return { reason, isSaid: true };
}

/** Providers that say `stop` beside tool calls mean the calls, and the other way round. */
export function finishReasonOf(reason: FinishReason, hasCalls: boolean): FinishReason {
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}
