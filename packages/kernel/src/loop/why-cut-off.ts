import type { AgentAccount } from "../agent/handle.ts";
import type { HireOutcome } from "../agent/leaves.ts";

/** What the account of an agent says of why it was cut off. */
export type CutOff = Pick<AgentAccount, "stopReason" | "stoppedBy">;

/** Why an agent was cut off; undefined if it was not. */
export function cutOffOf(outcome: HireOutcome): CutOff | undefined {
  if (outcome.status !== "partial") return undefined;
  const { stopReason } = outcome.result;
  const { stoppedBy } = outcome;
  return stoppedBy === undefined ? { stopReason } : { stopReason, stoppedBy };
}
