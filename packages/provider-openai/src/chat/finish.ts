import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  /** As the server put it; undefined where it said nothing. */
  readonly said: string | undefined;
  readonly refused: boolean;
  readonly hasCalls: boolean;
}

/** Why the answer ended. Servers that say `stop` beside tool calls mean the calls. */
export function finishReasonOf({ said, refused, hasCalls }: Ending): FinishReason {
  const natural = hasCalls ? "toolCalls" : "stop";
  const reason = said === undefined ? natural : reasonMeantBy(said);
  if (reason === "filtered" || reason === "length") return reason;
  if (refused) return "refused";
  if (reason === "stop" || reason === "toolCalls") return natural;
  return reason ?? "other";
}
