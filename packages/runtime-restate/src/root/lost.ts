import { addUsage, NO_USAGE, type Usage } from "@ravi/kernel";
import { addCost } from "@ravi/kernel/loop";
import type { UsedSoFar } from "./messages.ts";
import type { OpenReservation } from "./state.ts";

/**
 * Model calls whose outcome will never be known. What was reserved for them counts as spent, and their execution cannot report it.
 */
export type Lost = Pick<UsedSoFar, "usage" | "costUsd" | "modelCalls">;

const NOTHING_LOST: Lost = Object.freeze({ usage: NO_USAGE, costUsd: 0, modelCalls: 0 });

/** With `isMadeAgain` the execution itself counts the call and its retries. */
export function addLost(
  { usage, costUsd, modelCalls }: Lost = NOTHING_LOST,
  { spend, usage: told }: OpenReservation,
  isMadeAgain: boolean,
): Lost {
  const { tokens = 0, cost } = spend;
  const whole: Usage = told ?? { ...NO_USAGE, inputTokens: tokens };
  const isCall = told !== undefined && !isMadeAgain;
  return {
    usage: addUsage(usage, whole),
    costUsd: addCost(costUsd, cost ?? null),
    modelCalls: modelCalls + (isCall ? 1 : 0),
  };
}

/** What an execution has reported, plus its lost calls. */
export function withLost<U extends UsedSoFar>(used: U, lost: Lost | undefined): U {
  if (lost === undefined) return used;
  return {
    ...used,
    usage: addUsage(used.usage, lost.usage),
    costUsd: addCost(used.costUsd, lost.costUsd),
    modelCalls: used.modelCalls + lost.modelCalls,
    wasteUsd: addCost(used.wasteUsd, lost.costUsd ?? 0) ?? 0,
  };
}
