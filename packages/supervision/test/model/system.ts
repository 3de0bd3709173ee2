import {
  AgentId,
  type Clock,
  type JsonValue,
  type Lease,
  type Priority,
  isRaviError,
  spawnBudget,
} from "@ravi/kernel";
import { RosterHeadcount } from "../../src/headcount/roster-headcount.ts";
import type { Roster, RosterOptions } from "../../src/headcount/roster.ts";
import { readSnapshot } from "../../src/headcount/parts/snapshot.ts";
import type { Answer, Budget } from "./reference.ts";

export const ROOT = "lead";
export const AGING_MS = 1000;
export const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"];

type RosterClass = new (options: RosterOptions) => Roster;
type Status = "pending" | "granted" | "rejected";

/** The real thing, with what a runtime around it would keep: leases, promises, signals. */
export class System {
  tracker: RosterHeadcount;
  readonly time = { now: 0 };
  readonly leases = new Map<string, Lease>();
  /** Leases of agents that have ended. */
  readonly stale: Lease[] = [];
  readonly queued = new Map<string, { abort: AbortController; status: Status }>();
  readonly parked = new Map<string, { status: Status }>();
  private readonly Kind: RosterClass;
  private readonly clock: Clock = { now: () => this.time.now };

  constructor(Kind: RosterClass, budget: Budget) {
    this.Kind = Kind;
    this.tracker = new RosterHeadcount(this.roster(budget, ROOT));
  }

  acquire(id: string, priority: Priority, parentId: string): Answer {
    try {
      this.leases.set(id, this.tracker.acquire(AgentId(id), priority, { parentId: AgentId(parentId) }));
      return "granted";
    } catch (error) {
      return answerOf(error);
    }
  }

  async queue(id: string, priority: Priority, parentId: string): Promise<Answer> {
    const abort = new AbortController();
    const entry = { abort, status: "pending" as Status };
    let answer: Answer = "queued";
    const options = { parentId: AgentId(parentId), onFull: "queue", signal: abort.signal } as const;
    const { tracker } = this;
    const asked = tracker.acquire(AgentId(id), priority, options).then(
      (lease) => {
        // What a tracker of an ended process grants reaches nobody.
        if (tracker !== this.tracker) return;
        entry.status = "granted";
        this.leases.set(id, lease);
        this.queued.delete(id);
        answer = "granted";
      },
      (error: unknown) => {
        entry.status = "rejected";
        answer = answerOf(error);
      },
    );
    await Promise.race([asked, flush()]);
    if (entry.status === "pending") this.queued.set(id, entry);
    return answer;
  }

  watch(id: string): void {
    const entry = { status: "pending" as Status };
    this.parked.set(id, entry);
    this.tracker.whenResumed(AgentId(id)).then(
      () => (entry.status = "granted"),
      () => (entry.status = "rejected"),
    );
  }

  /** The process ends; another one takes up the snapshot, and asks again for all whom it still wants. */
  async restart(queuedIds: readonly string[]): Promise<void> {
    const snapshot: JsonValue = JSON.parse(JSON.stringify(this.tracker.snapshot()));
    const state = readSnapshot(snapshot);
    const roster = this.roster(state.budget, state.root.id);
    roster.load(state);
    this.tracker = new RosterHeadcount(roster);
    this.stale.push(...this.leases.values());
    this.parked.clear();
    for (const id of this.leases.keys()) this.leases.set(id, this.tracker.acquire(AgentId(id)));
    this.queued.clear();
    for (const id of queuedIds) await this.queue(id, 2, ROOT);
  }

  private roster(budget: Budget, rootId: string): Roster {
    return new this.Kind({
      budget: spawnBudget({
        maxAgents: budget.maxAgents,
        allowPreempt: budget.allowPreempt,
        maxTotal: budget.maxTotal,
        maxDepth: budget.maxDepth,
      }),
      rootId: AgentId(rootId),
      clock: this.clock,
      agingMs: AGING_MS,
    });
  }
}

/** Long enough for a promise that is settled now to tell its listeners. */
export async function flush(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await Promise.resolve();
}

function answerOf(error: unknown): Answer {
  if (isRaviError(error, "BUDGET_EXHAUSTED")) {
    const { dimension } = error;
    if (dimension === "agents" || dimension === "totalAgents" || dimension === "depth") return dimension;
  }
  if (isRaviError(error, "INVALID_VALUE")) return "invalid";
  throw error;
}
