import { Priority } from "@ravi/kernel";

/** The rules once more, written to be obviously right and not fast: one list, every question answered by looking at all. */

const LADDER: readonly Priority[] = [
  Priority.BACKGROUND,
  Priority.LOW,
  Priority.NORMAL,
  Priority.HIGH,
  Priority.CRITICAL,
];

export interface Budget {
  readonly maxAgents: number;
  readonly allowPreempt: boolean;
  readonly maxTotal: number | null;
  readonly maxDepth: number | null;
}

export interface Agent {
  readonly id: string;
  /** Kept for ever, also when the parent has ended. */
  readonly parent: Agent | undefined;
  priority: Priority;
  state: "holding" | "paused" | "queued" | "gone";
  since: number;
  place: number;
}

export type Answer = "granted" | "queued" | "agents" | "totalAgents" | "depth" | "invalid";

export class Reference {
  /** Who is there, in the order of hiring. */
  everybody: Agent[];
  now = 0;
  private total = 1;
  private places = 0;
  readonly budget: Budget;
  private readonly agingMs: number;

  constructor(budget: Budget, rootId: string, agingMs: number) {
    this.budget = budget;
    this.agingMs = agingMs;
    this.everybody = [
      { id: rootId, parent: undefined, priority: Priority.NORMAL, state: "holding", since: 0, place: 0 },
    ];
  }

  get totalSpawned(): number {
    return this.total;
  }

  get holding(): Agent[] {
    return this.everybody.filter(({ state }) => state === "holding");
  }

  /** In the order they began to wait. */
  get waiting(): Agent[] {
    return this.everybody
      .filter(({ state }) => state === "paused" || state === "queued")
      .toSorted((a, b) => a.place - b.place);
  }

  find(id: string): Agent | undefined {
    return this.everybody.find((agent) => agent.id === id);
  }

  acquire(id: string, priority: Priority, parentId: string, mode: "deny" | "queue"): Answer {
    const parent = this.find(parentId);
    if (this.find(id) !== undefined || parent === undefined || parent.state === "queued") return "invalid";
    if (parent.state === "paused") return "agents";
    const { maxAgents, maxDepth, maxTotal, allowPreempt } = this.budget;
    const agent: Agent = { id, parent, priority, state: "holding", since: 0, place: 0 };
    if (maxDepth !== null && ancestors(agent).length > maxDepth) return "depth";
    if (maxTotal !== null && this.total >= maxTotal) return "totalAgents";
    if (this.holding.length >= maxAgents) {
      const victim = allowPreempt ? this.victim(agent) : undefined;
      if (victim !== undefined) {
        this.park(victim, "paused");
      } else {
        if (mode === "deny") return "agents";
        this.everybody.push(agent);
        this.park(agent, "queued");
        if (!this.canGoOn()) {
          this.everybody.pop();
          return "agents";
        }
        this.total++;
        return "queued";
      }
    }
    this.everybody.push(agent);
    this.total++;
    return "granted";
  }

  release(agent: Agent): void {
    if (agent.parent === undefined) return;
    if (agent.state === "queued") this.total--;
    agent.state = "gone";
    this.everybody = this.everybody.filter((other) => other !== agent);
    this.fill();
  }

  reprioritize(agent: Agent, priority: Priority): void {
    const was = agent.priority;
    agent.priority = priority;
    if (agent.parent === undefined) return;
    const full = this.holding.length === this.budget.maxAgents;
    if (agent.state === "holding" && priority < was && priority < Priority.NORMAL && full) {
      if (this.waiting.length === 0) return;
      this.park(agent, "paused");
      this.fill();
    } else if (agent.state !== "holding" && priority > was && this.budget.allowPreempt) {
      const victim = this.victim(agent);
      if (victim === undefined) return;
      const before = { waiter: agent.state, place: victim.place, since: victim.since };
      this.park(victim, "paused");
      agent.state = "holding";
      if (this.canGoOn()) return;
      agent.state = before.waiter;
      Object.assign(victim, { state: "holding", place: before.place, since: before.since });
    }
  }

  /** Nobody waits, or some holder awaits nobody who does. */
  canGoOn(): boolean {
    const { waiting } = this;
    return (
      waiting.length === 0 ||
      this.holding.some((holder) => !waiting.some((waiter) => ancestors(waiter).includes(holder)))
    );
  }

  private victim(asker: Agent): Agent | undefined {
    if (asker.priority <= Priority.NORMAL) return undefined;
    const above = ancestors(asker);
    return this.everybody
      .filter(({ state, priority }) => state === "holding" && priority < asker.priority)
      .filter((agent) => agent.parent !== undefined && !above.includes(agent))
      .toReversed()
      .toSorted((a, b) => a.priority - b.priority)[0];
  }

  private fill(): void {
    while (this.waiting.length > 0 && this.holding.length < this.budget.maxAgents) {
      const order = this.waiting.toSorted((a, b) => this.level(b) - this.level(a) || a.place - b.place);
      const next = order.find((agent) => {
        const { state } = agent;
        agent.state = "holding";
        const fine = this.canGoOn();
        agent.state = state;
        return fine;
      });
      if (next === undefined) throw new Error("nobody can be given the slot");
      next.state = "holding";
    }
  }

  private level(agent: Agent): number {
    const steps = Math.floor((this.now - agent.since) / this.agingMs);
    return Math.min(LADDER.length - 1, LADDER.indexOf(agent.priority) + steps);
  }

  private park(agent: Agent, state: "paused" | "queued"): void {
    Object.assign(agent, { state, since: this.now, place: ++this.places });
  }
}

/** Nearest first; the root is last. */
export function ancestors(agent: Agent): Agent[] {
  const above: Agent[] = [];
  for (let next = agent.parent; next !== undefined; next = next.parent) above.push(next);
  return above;
}
