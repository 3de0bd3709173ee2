import { Priority, checkOneOf } from "@ravi/kernel";

/** How many priority steps there are, from BACKGROUND (0) to CRITICAL (4). */
export const RANKS = 5;
const TOP = RANKS - 1;

/** The priority's step, from 0 to 4. The priorities themselves are weights (0, 1, 2, 4, 8) with gaps. */
export function rankOf(priority: Priority): number {
  return priority === Priority.CRITICAL ? 4 : priority === Priority.HIGH ? 3 : priority;
}

/** The step after waiting: each `agingMs` raises it by one, up to CRITICAL. */
export function agedRank(rank: number, waitedMs: number, agingMs: number): number {
  return Math.min(TOP, rank + Math.max(0, Math.floor(waitedMs / agingMs)));
}

export function checkPriority(field: string, value: unknown): Priority {
  // Called for every hire: the common case must not build a list.
  if (value === 0 || value === 1 || value === 2 || value === 4 || value === 8) return value;
  return checkOneOf(field, value, Priority);
}
