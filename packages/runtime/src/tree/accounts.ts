import { addUsage, type AgentId, type ExecId, NO_USAGE, type Usage } from "@ravi/kernel";

/** What one execution has used so far, itself and without its children. */
export interface Account {
  readonly agentId: AgentId;
  readonly execId: ExecId;
  usage: Usage;
  /** Dollars that have a known price. */
  costUsd: number;
  /** Calls without a known price. */
  unpriced: number;
}

/** Who used what. A finished execution leaves this and nothing else. */
export class Accounts {
  readonly list: Account[] = [];
  private readonly byExec = new Map<ExecId, Account>();

  /** The account of that execution; the one from before, where a run is resumed. */
  open(agentId: AgentId, execId: ExecId): Account {
    const known = this.byExec.get(execId);
    if (known !== undefined) return known;
    const account: Account = { agentId, execId, usage: NO_USAGE, costUsd: 0, unpriced: 0 };
    this.list.push(account);
    this.byExec.set(execId, account);
    return account;
  }

  get usage(): Usage {
    return this.list.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
  }

  /** Null when a call had no known price: a sum with a hole in it is not a sum. */
  get cost(): number | null {
    return costOf(this.list);
  }
}

export function costOf(accounts: readonly Account[]): number | null {
  if (accounts.some(({ unpriced }) => unpriced > 0)) return null;
  // In whole nano-dollars, so that many small sums add up to what they are.
  return accounts.reduce((sum, { costUsd }) => sum + Math.round(costUsd * 1e9), 0) / 1e9;
}

export function charge(account: Account, usage: Usage, costUsd: number | null): void {
  account.usage = addUsage(account.usage, usage);
  if (costUsd === null) account.unpriced++;
  else account.costUsd = (Math.round(account.costUsd * 1e9) + Math.round(costUsd * 1e9)) / 1e9;
}
