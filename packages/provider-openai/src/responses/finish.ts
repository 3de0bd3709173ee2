import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  readonly status: string | undefined;
  /** Of `incomplete_details`. */
  readonly reason: string | undefined;
  readonly refused: boolean;
  readonly hasCalls: boolean;
  /** An item says of itself that it is not whole. */
  readonly isCut: boolean;
}

/** Why the answer ended. A call that may not be whole must not be run, so an answer that was cut with calls in it is `length`. */
export function finishReasonOf({ status, reason, refused, hasCalls, isCut }: Ending): FinishReason {
  const meant = reason === undefined ? undefined : reasonMeantBy(reason);
  if (meant === "filtered") return meant;
  // Where no reason is given, it was cut off all the same.
  if (status === "incomplete")
    return hasCalls || reason === undefined || meant === "length" ? "length" : "other";
  if (isCut) return "length";
  if (refused) return "refused";
  return hasCalls ? "toolCalls" : "stop";
}
