import { addUsage, type AgentSession, type ModelResponse, type Usage } from "@ravi/kernel";

/** Where what was used is added up. */
export interface Spend {
  add(usage: Usage): void;
  /** One model call of its own. */
  addCall(response: ModelResponse): void;
}

/** Kept where the session shows it. */
export function sessionSpend(session: AgentSession): Spend {
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
