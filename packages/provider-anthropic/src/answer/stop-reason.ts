import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  /** The server's stop reason; undefined if it gave none. */
  readonly said: string | undefined;
  readonly hasCalls: boolean;
}

/**
 * Why the answer ended. Compatible servers also use the words of OpenAI and Google, in upper or lower case; they are understood.
 */
export function finishReasonOf({ said, hasCalls }: Ending): FinishReason {
  const reason = said === undefined ? "stop" : meantBy(said);
  // `stop` and `toolCalls` depend only on whether there are calls, whatever the server said.
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}

/** A paused turn is not complete. It continues if it is sent back unchanged. */
function meantBy(said: string): FinishReason {
  return said.toLowerCase() === "pause_turn" ? "length" : (reasonMeantBy(said) ?? "other");
}
