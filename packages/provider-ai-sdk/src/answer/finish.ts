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

/** What servers say and their providers often have no word for. */
const RAW: readonly (readonly [RegExp, FinishReason | "error"])[] = [
  [/^(?:stop|eos|eos_token|end_turn|stop_sequence|complete)$/i, "stop"],
  [/^(?:tool_calls?|function_call|tool_use)$/i, "toolCalls"],
  [
    /^(?:(?:max_)?length|max_(?:output_|completion_)?tokens|model_length|model_context_window_exceeded)$/i,
    "length",
  ],
  [
    /^(?:content_filter(?:ed)?|(?:image_)?safety|recitation|prohibited_content|blocklist|spii|sensitive|guardrail_intervened)$/i,
    "filtered",
  ],
  [/^error$/i, "error"],
];

/** A word in v2, `{ unified, raw }` from v3 on. */
export function endingOf(value: unknown): Ending {
  const word = stringOr(value, undefined) ?? stringOr(field(value, "unified"), "unknown");
  const raw = stringOr(field(value, "raw"), undefined);
  const reason = Object.hasOwn(REASONS, word)
    ? REASONS[word]
    : RAW.find(([words]) => words.test(raw ?? ""))?.[1];
  if (reason === undefined)
    return { reason: "other", isSaid: typeof value === "string" ? word !== "unknown" : raw !== undefined };
  if (reason === "filtered" && /refus/i.test(raw ?? "")) return { reason: "refused", isSaid: true };
  return { reason, isSaid: true };
}

/** Providers that say `stop` beside tool calls mean the calls, and the other way round. */
export function finishReasonOf(reason: FinishReason, hasCalls: boolean): FinishReason {
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}
