import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  /** As the server put it; undefined where it said nothing. */
  readonly said: string | undefined;
  readonly hasCalls: boolean;
}

/** Why the answer ended. Servers that only speak the protocol also use the words of OpenAI's and Google's, in their own letters. */
export function finishReasonOf({ said, hasCalls }: Ending): FinishReason {
  const reason = said === undefined ? "stop" : meantBy(said);
  // Beside calls, whatever it says, it means the calls; without any it has come to its end.
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}

/** A paused turn is not whole. It goes on when it is sent back as it is. */
function meantBy(said: string): FinishReason {
  return said.toLowerCase() === "pause_turn" ? "length" : (reasonMeantBy(said) ?? "other");
}
