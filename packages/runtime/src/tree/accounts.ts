import {
  addUsage,
  type AgentAccount,
  type AgentId,
  type ExecId,
  type HireUsage,
  NO_USAGE,
  type Priority,
  type Supervision,
  type Tally,
  type Usage,
  type Used,
} from "@ravi/kernel";
import { addCost, type CutOff } from "@ravi/kernel/loop";

const LIVING: ReadonlySet<AgentAccount["status"]> = new Set(["pending", "running", "suspended"]);

/** What one execution has used so far, without its children; `total` includes them. */
export class Account implements Tally, Used {
  readonly agentId: AgentId;
  readonly execId: ExecId;
  parent: AgentId | null = null;
  priority: Priority;
  status: AgentAccount["status"] = "pending";
  /** Why it was cut off, if it was. */
  cutOff: CutOff | undefined;
  usage: Usage = NO_USAGE;
  modelCalls = 0;
  toolCalls = 0;
  retries = 0;
  /** Calls without a known price. */
  private unpriced = 0;
  /** Whole nano-dollars, so that many small amounts add up without rounding errors. */
  private nano = 0;
  private wasteNano = 0;
  /** What its hires, and everyone below them, have used. Added when a hire is over. */
  private belowUsage: Usage = NO_USAGE;
  private belowNano = 0;
  private isBelowUnpriced = false;

  constructor(agentId: AgentId, execId: ExecId, priority: Priority) {
    this.agentId = agentId;
    this.execId = execId;
    this.priority = priority;
  }

  /** Sets its parent and priority. They are known when it starts, but not if only its spend is on record. */
  describe({ parentId, priority }: Supervision): this {
    this.parent = parentId;
    this.priority = priority;
    return this;
  }

  charge(usage: Usage, costUsd: number | null, wasteUsd = 0): void {
    this.usage = addUsage(this.usage, usage);
    if (costUsd === null) this.unpriced++;
    else this.nano += Math.round(costUsd * 1e9);
    this.wasteNano += Math.round(wasteUsd * 1e9);
  }

  /** Counts one model call of a bare execution. */
  model(usage: Usage | undefined, isNested: boolean): void {
    if (!isNested) this.modelCalls++;
    if (usage === undefined) this.unpriced++;
    else this.charge(usage, null);
  }

  tool(): void {
    this.toolCalls++;
  }

  /** Dollars; null if the price of a call is not known. */
  get costUsd(): number | null {
    return this.unpriced > 0 ? null : this.nano / 1e9;
  }

  /** Whether it has not ended yet. */
  get isLiving(): boolean {
    return LIVING.has(this.status);
  }

  /** Adds what a hire that is over has used, with everyone below it. */
  addBelow({ usage = NO_USAGE, costUsd = 0 }: HireUsage): void {
    this.belowUsage = addUsage(this.belowUsage, usage);
    if (costUsd === null) this.isBelowUnpriced = true;
    else this.belowNano += Math.round(costUsd * 1e9);
  }

  /** What it has used, together with everyone below it. */
  get total(): HireUsage {
    const isUnpriced = this.unpriced > 0 || this.isBelowUnpriced;
    return {
      usage: addUsage(this.usage, this.belowUsage),
      costUsd: isUnpriced ? null : (this.nano + this.belowNano) / 1e9,
    };
  }

  toJSON(): AgentAccount {
    const { execId, agentId, parent, priority, status, usage, costUsd, modelCalls, toolCalls, retries } =
      this;
    // Everything that a failed or cancelled agent has paid is waste, because its parent got nothing for it.
    const isLost = status === "cancelled" || status === "failed";
    const wasteUsd = (isLost ? this.nano : this.wasteNano) / 1e9;
    const account = {
      execId,
      agentId,
      parent,
      priority,
      status,
      usage,
      costUsd,
      modelCalls,
      toolCalls,
      retries,
      wasteUsd,
    };
    return this.cutOff === undefined ? account : { ...account, ...this.cutOff };
  }
}

const NONE: Account[] = [];

/** The accounts of all executions of a run. A finished execution leaves nothing else in memory. */
export class Accounts {
  private all: Account[] = NONE;
  /** Only in a resumed run: in any other nobody asks for an account by its id, and no id has to be hashed. */
  private readonly index: Map<ExecId, Account> | undefined;

  constructor(isResumed: boolean) {
    this.index = isResumed ? new Map() : undefined;
  }

  /** The account of that execution: in a resumed run the one from before, otherwise a new one. */
  open(agentId: AgentId, execId: ExecId, priority: Priority): Account {
    const known = this.find(execId);
    if (known !== undefined) return known;
    const account = new Account(agentId, execId, priority);
    // Most runs have one, and the first push onto an empty array allocates room for 17 elements.
    if (this.all === NONE) this.all = [account];
    else this.all.push(account);
    this.index?.set(execId, account);
    return account;
  }

  /** Undefined in a run that was not resumed. */
  find(execId: ExecId): Account | undefined {
    return this.index?.get(execId);
  }

  /** Marks every execution that has not ended as suspended. */
  suspend(): void {
    for (const account of this.all) if (account.status === "running") account.status = "suspended";
  }

  /**
   * Called when the root has ended: all others end with it. They may have been suspended for a restart that did not come, or be the hire of
   * an agent that was given up while the journal, a policy or the headcount had not answered.
   */
  cancelLiving(): void {
    for (const account of this.all) if (account.isLiving) account.status = "cancelled";
  }

  get list(): readonly Account[] {
    return this.all;
  }
}

/** What all of them have used together. The cost is null if the price of a call is not known. */
export function totalOf(accounts: readonly Account[]): {
  readonly usage: Usage;
  readonly cost: number | null;
} {
  let usage = NO_USAGE;
  let cost: number | null = 0;
  for (const account of accounts) {
    usage = usage === NO_USAGE ? account.usage : addUsage(usage, account.usage);
    cost = addCost(cost, account.costUsd);
  }
  return { usage, cost };
}
