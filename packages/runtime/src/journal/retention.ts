import {
  checkFields,
  checkInteger,
  checkOneOf,
  InvalidValueError,
  type RunStatus,
  type RunSummary,
} from "@ravi/kernel";
import { STATUSES } from "./facts/run-facts.ts";

/** Which runs `prune` deletes. */
export interface PruneOptions {
  /** Milliseconds since a run's last entry. */
  readonly olderThanMs: number;
  /** The statuses of runs that may be deleted. Default: those of runs that have ended. */
  readonly statuses?: readonly RunStatus[] | undefined;
}

const ENDED: readonly RunStatus[] = ["completed", "partial", "failed", "cancelled"];

export function isEnded(status: RunStatus): boolean {
  return ENDED.includes(status);
}

export interface PrunePlan {
  readonly before: number;
  readonly statuses: readonly RunStatus[];
}

export function prunePlan(options: PruneOptions, now: number): PrunePlan {
  checkFields("prune", options, ["olderThanMs", "statuses"]);
  const { statuses = ENDED } = options;
  if (!Array.isArray(statuses)) {
    throw new InvalidValueError({
      field: "prune.statuses",
      value: statuses,
      expected: "a list of run statuses",
    });
  }
  // One that is misspelt would match nothing, and nothing would ever be pruned.
  statuses.forEach((status, at) => checkOneOf(`prune.statuses[${at}]`, status, STATUSES));
  return { before: now - checkInteger("olderThanMs", options.olderThanMs, 0), statuses };
}

export function isPrunable(run: RunSummary, plan: PrunePlan): boolean {
  return run.updatedAt <= plan.before && plan.statuses.includes(run.status);
}
