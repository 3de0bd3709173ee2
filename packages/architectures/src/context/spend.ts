import { addUsage, type AgentSession, type ModelResponse, NO_USAGE, type Usage } from "@ravi/kernel";

/** Where what was used is added up. */
export interface Spend {
  readonly usage: Usage;
  add(usage: Usage): void;
  /** One model call of its own. */
  addCall(response: ModelResponse): void;
}

/** What one hired agent has used, itself and with all whom it hired. */
export function emptySpend(): Spend {
  let used = NO_USAGE;
  const spend: Spend = {
    get usage() {
      return used;
    },
    add: (usage) => void (used = addUsage(used, usage)),
    addCall: (response) => addPaid(spend, response),
  };
  return spend;
}

/** Kept where the session shows it. */
export function sessionSpend(session: AgentSession): Spend {
  const spend: Spend = {
    get usage() {
      return session.cumulativeUsage;
    },
    add: (usage) => void (session.cumulativeUsage = addUsage(session.cumulativeUsage, usage)),
    addCall(response) {
      session.turns++;
      addPaid(spend, response);
    },
  };
  return spend;
}

/** An answer from a cache was not paid for. */
function addPaid(spend: Spend, { usage, cached }: ModelResponse): void {
  if (usage !== undefined && cached !== true) spend.add(usage);
}
