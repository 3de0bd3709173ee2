import type { FinishReason } from "@ravi/kernel";

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  tool_calls: "toolCalls",
  tool_call: "toolCalls",
  function_call: "toolCalls",
  tool_use: "toolCalls",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "filtered",
  safety: "filtered",
  refusal: "refused",
};

export interface Ending {
  /** As the server put it; undefined where it said nothing. */
  readonly said: string | undefined;
  readonly refused: boolean;
  readonly hasCalls: boolean;
}

/** Why the answer ended. Servers that say `stop` beside tool calls mean the calls. */
export function finishReasonOf({ said, refused, hasCalls }: Ending): FinishReason {
  const natural = hasCalls ? "toolCalls" : "stop";
  const reason = said === undefined ? natural : Object.hasOwn(REASONS, said) ? REASONS[said] : undefined;
  if (reason === "filtered" || reason === "length") return reason;
  if (refused) return "refused";
  if (reason === "stop" || reason === "toolCalls") return natural;
  return reason ?? "other";
}
