import {
  addUsage,
  type AgentAccount,
  type ExecId,
  NO_USAGE,
  type Spent,
  type Supervision,
  type Usage,
  type Used,
} from "@ravi/kernel";
import type { UsedSoFar } from "../root/messages.ts";

/** One payment, as it is recorded with its call. */
export type Paid = {
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly toolCalls?: number | undefined;
  readonly isWaste?: boolean | undefined;
  readonly isNested?: boolean | undefined;
};

/** What one execution has used, computed from the record, so a replay counts the same. */
export class UsedAccount implements Used {
  usage: Usage = NO_USAGE;
  private modelCalls = 0;
  private toolCalls = 0;
  private retries = 0;
  private unpriced = 0;
  private nano = 0;
  private wasteNano = 0;

  get costUsd(): number | null {
    return this.unpriced > 0 ? null : this.nano / 1e9;
  }

  /** All counters, as they are sent to the root. */
  get total(): UsedSoFar {
    const { usage, costUsd, modelCalls, toolCalls, retries, wasteNano } = this;
    return { usage, costUsd, modelCalls, toolCalls, retries, wasteUsd: wasteNano / 1e9 };
  }

  /** Adds what a failed call has cost that is made again, and how often it was tried again: it counts as a call then. */
  addFailed(paid: readonly Paid[]): void {
    let tries = 0;
    for (const { usage, costUsd, toolCalls, isWaste, isNested } of paid) {
      if (toolCalls !== undefined) continue;
      if (isNested !== true && ++tries > 1) this.retries++;
      this.usage = addUsage(this.usage, usage);
      const nano = Math.round((costUsd ?? 0) * 1e9);
      if (costUsd === null) this.unpriced++;
      this.nano += nano;
      if (isWaste === true) this.wasteNano += nano;
    }
  }

  /** Adds everything that one call has cost. `attempt` is the number of the recorded attempt at it. */
  add(paid: readonly Paid[], attempt: number): void {
    let tries = 0;
    for (const { usage, costUsd, toolCalls, isWaste, isNested } of paid) {
      if (toolCalls !== undefined) {
        this.toolCalls += toolCalls;
        if (attempt > 1) this.retries++;
        continue;
      }
      this.usage = addUsage(this.usage, usage);
      const nano = Math.round((costUsd ?? 0) * 1e9);
      if (costUsd === null) this.unpriced++;
      this.nano += nano;
      if (isWaste === true) this.wasteNano += nano;
      if (isNested === true) continue;
      if (++tries === 1) this.modelCalls++;
      if (tries > 1 || attempt > 1) this.retries++;
    }
  }

  toJSON(
    { agentId, parentId, priority }: Supervision,
    execId: ExecId,
    status: AgentAccount["status"],
  ): AgentAccount {
    const { total, nano } = this;
    // If an agent failed or was cancelled, everything that it paid is waste: its parent got nothing for it.
    const isLost = status === "cancelled" || status === "failed";
    return {
      ...total,
      wasteUsd: isLost ? nano / 1e9 : total.wasteUsd,
      execId,
      agentId,
      parent: parentId,
      priority,
      status,
    };
  }
}

export function paidOf({ usage, costUsd, toolCalls, isWaste, isNested }: Spent): Paid {
  return { usage, costUsd, toolCalls, isWaste, isNested };
}
