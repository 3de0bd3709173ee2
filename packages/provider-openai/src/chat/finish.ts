import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  /** The server's finish reason; undefined if it gave none. */
  readonly reported: string | undefined;
  readonly refused: boolean;
  readonly hasCalls: boolean;
}

/** Why the answer ended. If a server says `stop` although there are tool calls, the result is `toolCalls`. */
export function finishReasonOf({ reported, refused, hasCalls }: Ending): FinishReason {
  const natural = hasCalls ? "toolCalls" : "stop";
  const reason = reported === undefined ? natural : reasonMeantBy(reported);
  if (reason === "filtered" || reason === "length") return reason;
  if (refused) return "refused";
  if (reason === "stop" || reason === "toolCalls") return natural;
  return reason ?? "other";
}
