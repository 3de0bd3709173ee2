import type { FinishReason } from "@ravi/kernel";

export interface Ending {
  /** As the server put it; undefined where it said nothing. */
  readonly said: string | undefined;
  readonly hasCalls: boolean;
}

/** Why the answer ended. Servers that only speak the protocol also use the words of OpenAI's and Google's, in their own letters. */
export function finishReasonOf({ said, hasCalls }: Ending): FinishReason {
  switch (said?.toLowerCase()) {
    case undefined:
    case "end_turn":
    case "stop":
    case "stop_sequence":
    case "tool_use":
    case "tool_calls":
      // Beside calls, whatever it says, it means the calls; without any it has come to its end.
      return hasCalls ? "toolCalls" : "stop";
    // Each of these breaks off what is not whole. A paused turn goes on when it is sent back as it is.
    case "max_tokens":
    case "max_output_tokens":
    case "length":
    case "model_context_window_exceeded":
    case "pause_turn":
      return "length";
    case "content_filter":
    case "content_filtered":
    case "safety":
    case "recitation":
    case "sensitive":
    case "guardrail_intervened":
      return "filtered";
    case "refusal":
      return "refused";
    default:
      return "other";
  }
}
