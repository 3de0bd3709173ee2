import type { FinishReason } from "@ravi/kernel";

export interface Ending {
  /** As the server put it; undefined where it said nothing. */
  readonly said: string | undefined;
  readonly hasCalls: boolean;
}

/** Why the answer ended. */
export function finishReasonOf({ said, hasCalls }: Ending): FinishReason {
  switch (said) {
    case undefined:
    case "end_turn":
    case "stop_sequence":
    case "tool_use":
      // Beside calls, whatever it says, it means the calls; without any it has come to its end.
      return hasCalls ? "toolCalls" : "stop";
    // Each of these breaks off what is not whole. A paused turn goes on when it is sent back as it is.
    case "max_tokens":
    case "model_context_window_exceeded":
    case "pause_turn":
      return "length";
    case "refusal":
      return "refused";
    default:
      return "other";
  }
}
