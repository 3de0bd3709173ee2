import { addUsage, NO_USAGE, type Usage } from "@ravi/kernel";
import type { UsedSoFar } from "./messages.ts";
import { addCost } from "./spend.ts";
import type { OpenReservation } from "./state.ts";

/** Model calls whose outcome nobody will ever know. What was set aside for them counts as spent, and their execution cannot say so. */
export type Lost = Pick<UsedSoFar, "usage" | "costUsd" | "modelCalls">;

const NOTHING_LOST: Lost = Object.freeze({ usage: NO_USAGE, costUsd: 0, modelCalls: 0 });

/** `isMadeAgain`: its execution tells of the call, and of its tries. */
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

/** What an execution has told, with what was lost of it. */
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
