import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  /** The server's stop reason; undefined if it gave none. */
  readonly stopReason: string | undefined;
  readonly hasCalls: boolean;
}

/**
 * Why the answer ended. Compatible servers also use the words of OpenAI and Google, in upper or lower case; they are understood.
 */
export function finishReasonOf({ stopReason, hasCalls }: Ending): FinishReason {
  const reason = stopReason === undefined ? "stop" : finishReasonFor(stopReason);
  // `stop` and `toolCalls` depend only on whether there are calls, whatever the server reported.
  return reason === "stop" || reason === "toolCalls" ? (hasCalls ? "toolCalls" : "stop") : reason;
}

/** A paused turn is not complete. It continues if it is sent back unchanged, also after a compaction. */
function finishReasonFor(stopReason: string): FinishReason {
  return /^(?:pause_turn|compaction)$/i.test(stopReason) ? "length" : (reasonMeantBy(stopReason) ?? "other");
}
