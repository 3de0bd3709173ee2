import type { FinishReason } from "@ravi/kernel";
import { reasonMeantBy } from "@ravi/kernel/provider";

export interface Ending {
  readonly status: string | undefined;
  /** The `reason` of `incomplete_details`. */
  readonly reason: string | undefined;
  readonly refused: boolean;
  readonly hasCalls: boolean;
  /** Whether an item has the status `incomplete`. */
  readonly isCut: boolean;
}

/**
 * Why the answer ended. An incomplete answer with calls ends with `length`, since a call that may be incomplete must not be run.
 */
export function finishReasonOf({ status, reason, refused, hasCalls, isCut }: Ending): FinishReason {
  const meant = reason === undefined ? undefined : reasonMeantBy(reason);
  if (meant === "filtered") return meant;
  // An incomplete answer without a reason counts as cut off.
  if (status === "incomplete")
    return hasCalls || reason === undefined || meant === "length" ? "length" : "other";
  if (isCut) return "length";
  if (refused) return "refused";
  return hasCalls ? "toolCalls" : "stop";
}
