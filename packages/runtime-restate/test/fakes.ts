import {
  type Actual,
  type AgentId,
  BudgetExhaustedError,
  type Effect,
  type ExecutionBudgetOptions,
  type Headcount,
  type JsonObject,
  type Lease,
  type Ledger,
  type Reservation,
  type Spend,
  Supervision,
} from "@ravi/kernel";
import type { Launch } from "../src/root/messages.ts";

const NOTHING = { warnings: [], exceeded: [] } as const;

/** AdmissionOrder and nothing else, with limits that nest. */
export class TurnLedger implements Ledger {
  readonly used = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  private held = 0;
  private limit: number;
  private readonly parent: TurnLedger | undefined;

  constructor({ maxTurns }: ExecutionBudgetOptions, parent?: TurnLedger) {
    this.limit = maxTurns ?? Infinity;
    this.parent = parent;
  }

  reserve({ turns = 0 }: Partial<Spend>): Reservation {
    for (const at of this.chain) {
      if (at.used.turns + at.held + turns > at.limit) {
        throw new BudgetExhaustedError({
          dimension: "turns",
          used: at.used.turns,
          limit: at.limit,
          scope: "test",
        });
      }
    }
    this.each((at) => (at.held += turns));
    const letGo = (): void => this.each((at) => (at.held -= turns));
    return {
      settle: (actual) => {
        letGo();
        return this.charge({ turns, ...actual });
      },
      cancel: letGo,
    };
  }

  charge({ turns = 0 }: Actual): typeof NOTHING {
    this.each((at) => (at.used.turns += turns));
    return NOTHING;
  }

  raise({ turns = 0 }: Partial<Spend>): void {
    this.each((at) => (at.limit += turns));
  }

  child(budget: ExecutionBudgetOptions): TurnLedger {
    return new TurnLedger(budget, this);
  }

  remaining() {
    const turns = this.limit === Infinity ? null : this.limit - this.used.turns - this.held;
    return { tokens: null, cost: null, turns, toolCalls: null };
  }

  snapshot(): JsonObject {
    return {};
  }

  private get chain(): TurnLedger[] {
    return this.parent === undefined ? [this] : [this, ...this.parent.chain];
  }

  private each(act: (at: TurnLedger) => void): void {
    for (const at of this.chain) act(at);
  }
}

/** Seats, and a queue in the order of asking. */
export class QueueHeadcount implements Headcount {
  private readonly most: number;
  private held: string[];
  private line: string[];
  private readonly waiting = new Map<string, () => void>();

  constructor(root: Supervision, snapshot?: JsonObject) {
    this.most = root.spawnBudget.maxAgents;
    this.held = [...((snapshot?.["held"] as readonly string[] | undefined) ?? [root.agentId])];
    this.line = [...((snapshot?.["line"] as readonly string[] | undefined) ?? [])];
  }

  acquire: Headcount["acquire"] = (
    id: AgentId,
    _priority?: unknown,
    options?: { readonly onFull?: string | undefined },
  ) => {
    const release = (): void => this.release(id);
    const lease: Lease = { agentId: id, release, [Symbol.dispose]: release };
    if (this.held.includes(id)) return Promise.resolve(lease);
    if (!this.line.includes(id)) {
      if (this.held.length < this.most) {
        this.held.push(id);
        return Promise.resolve(lease);
      }
      if (options?.onFull !== "queue") {
        throw new BudgetExhaustedError({
          dimension: "agents",
          used: this.held.length,
          limit: this.most,
          scope: "test",
        });
      }
      this.line.push(id);
    }
    return new Promise((resolve) => this.waiting.set(id, () => resolve(lease)));
  };

  release(leaseOrId: Lease | AgentId): void {
    const id = typeof leaseOrId === "string" ? leaseOrId : leaseOrId.agentId;
    this.line = this.line.filter((one) => one !== id);
    this.held = this.held.filter((one) => one !== id);
    while (this.held.length < this.most && this.line.length > 0) {
      const next = this.line.shift() ?? "";
      this.held.push(next);
      this.waiting.get(next)?.();
    }
  }

  isPaused(): boolean {
    return false;
  }
  async whenResumed(): Promise<void> {}
  reprioritize(): void {}
  snapshot(): JsonObject {
    return { held: this.held, line: this.line };
  }
}

/** The root of a tree, as a client would start it. */
export function rootLaunch(options: { maxAgents?: number; maxTurns?: number } = {}): Launch {
  const { maxAgents = 50, maxTurns } = options;
  const root = Supervision.root("lead" as AgentId, {
    runId: "run",
    sessionId: "session",
    spawnBudget: { maxAgents },
    executionBudget: { maxTurns },
  });
  return launchOf("run", root);
}

export function childLaunch(parent: Launch, execId: string, agentId: string): Launch {
  const above = Supervision.fromJSON(parent.supervision);
  return launchOf(execId, above.spawnChild({ agentId: agentId as AgentId }));
}

function launchOf(execId: string, supervision: Supervision): Launch {
  return {
    runId: "run",
    execId,
    agent: "agent@1",
    supervision: supervision.toJSON(),
    input: "",
    tenantId: null,
    userId: null,
    metadata: {},
    deadline: null,
    onPreempt: "park",
  };
}

/** A call with the key "k" that has nothing to do. */
export function fakeEffect(kind: Effect["kind"]): Effect {
  return {
    kind,
    key: "k",
    what: "a call",
    onDoubt: "retry",
    fingerprint: () => "f",
    begin: () => ({}),
    run: () => null,
    record: () => ({}),
    restore: () => null,
    spend: () => undefined,
    skipped: () => null,
  };
}
