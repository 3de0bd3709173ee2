import { addUsage, type AgentSession, type ModelResponse, type Usage } from "@ravi/kernel";

/** Sums what was used. */
export interface SpendCounter {
  add(usage: Usage): void;
  /** Adds one model call of the strategy itself. */
  addCall(response: ModelResponse): void;
}

/** Sums into the session's `cumulativeUsage` and `turns`. */
export function sessionSpend(session: AgentSession): SpendCounter {
  const add = (usage: Usage): void =>
    void (session.cumulativeUsage = addUsage(session.cumulativeUsage, usage));
  return {
    add,
    addCall({ usage, cached }) {
      session.turns++;
      // An answer from a cache was not paid for.
      if (usage !== undefined && cached !== true) add(usage);
    },
  };
}
