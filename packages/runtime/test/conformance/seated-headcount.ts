import {
  type AgentId,
  BudgetExhaustedError,
  type Headcount,
  type Lease,
  Priority,
  type Supervision,
} from "@ravi/kernel";

interface Waiting {
  readonly id: AgentId;
  readonly priority: Priority;
  readonly go: () => void;
}

/** The rules of a headcount in the fewest words: seats, one queue for the paused and the waiting, and a victim for the urgent. */
export class SeatedHeadcount implements Headcount {
  private readonly most: number;
  private readonly seats = new Map<AgentId, Priority>();
  private queue: Waiting[] = [];

  constructor(root: Supervision) {
    this.most = root.spawnBudget.maxAgents;
    this.seats.set(root.agentId, Priority.CRITICAL);
  }

  acquire: Headcount["acquire"] = (
    id: AgentId,
    priority: Priority = Priority.NORMAL,
    options?: { readonly onFull?: "deny" | "queue" | undefined },
  ) => {
    const lease: Lease = {
      agentId: id,
      release: () => this.release(id),
      [Symbol.dispose]: () => this.release(id),
    };
    if (this.seats.size < this.most) {
      this.seats.set(id, priority);
      return Promise.resolve(lease);
    }
    const victim = [...this.seats]
      .toReversed()
      .find(([, held]) => held < priority && priority > Priority.NORMAL);
    if (victim !== undefined) {
      this.seats.delete(victim[0]);
      this.queue.push({ id: victim[0], priority: victim[1], go: () => {} });
      this.seats.set(id, priority);
      return Promise.resolve(lease);
    }
    if (options?.onFull === "queue") {
      return new Promise<Lease>((resolve) => this.queue.push({ id, priority, go: () => resolve(lease) }));
    }
    throw new BudgetExhaustedError({
      dimension: "agents",
      used: this.seats.size,
      limit: this.most,
      scope: "tree",
    });
  };

  release(leaseOrId: Lease | AgentId): void {
    const id = typeof leaseOrId === "string" ? leaseOrId : leaseOrId.agentId;
    this.queue = this.queue.filter((waiting) => waiting.id !== id);
    if (!this.seats.delete(id)) return;
    const next = this.queue.toSorted((a, b) => b.priority - a.priority)[0];
    if (next === undefined) return;
    this.queue = this.queue.filter((waiting) => waiting !== next);
    this.seats.set(next.id, next.priority);
    next.go();
  }

  isPaused(id: AgentId): boolean {
    return !this.seats.has(id);
  }

  async whenResumed(id: AgentId): Promise<void> {
    while (this.isPaused(id)) await new Promise((resolve) => setImmediate(resolve));
  }

  reprioritize(id: AgentId, priority: Priority): void {
    if (this.seats.has(id)) this.seats.set(id, priority);
  }

  snapshot() {
    return {};
  }
}
