import {
  type Actual,
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  defineTool,
  type ExecutionBudgetOptions,
  type Headcount,
  type JournalRecord,
  type Lease,
  type Ledger,
  type Reservation,
  RunId,
  type Spend,
} from "@ravi/kernel";
import type { Runtime } from "@ravi/runtime";
import type { VirtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";

export const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
export const ask = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;

export function agent<T = unknown>(name: string, run: Agent<T>["run"]): Agent<T> {
  return { id: AgentId(name), run };
}

/** Its tool pays, and never says so: whoever stops it leaves a call in doubt. */
export function hangingPayer(onPaid: () => void): Agent {
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    execute: () => {
      onPaid();
      return new Promise<string>(() => {});
    },
  });
  return agent("payer", async (ctx) => {
    await ctx.tool({ id: "1", name: "pay", arguments: "{}" }, pay);
    return done("paid");
  });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Closes a runtime of which something does not stop by itself before its clock has gone on. */
export async function closed(runtime: Runtime, clock: VirtualClock, afterMs = 100): Promise<void> {
  const closing = runtime.close();
  await clock.advance(afterMs);
  await closing;
}

export async function turns(count = 20): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

export async function until(condition: () => boolean): Promise<void> {
  for (let n = 0; !condition(); n++) {
    if (n > 1_000) throw new Error("it never came to that");
    await turn();
  }
}

/** What a promise came to within a while; "pending" when it did not. */
export async function within<T>(promise: Promise<T>): Promise<T | "pending"> {
  return Promise.race([promise, turns(200).then(() => "pending" as const)]);
}

/** A journal as a crash right after those entries leaves it. */
export function cut(runId: string, records: readonly JournalRecord[]): MemoryJournal {
  const journal = new MemoryJournal();
  const claim = journal.claim(RunId(runId), "crashed", 1);
  if (claim === null) throw new Error("a fresh journal is not free");
  journal.append(
    RunId(runId),
    claim.epoch,
    records.map(({ exec, key, attempt, phase, at, body }) => ({ exec, key, attempt, phase, at, body })),
  );
  journal.release(RunId(runId), claim.epoch);
  return journal;
}

const NOTHING = { warnings: [], exceeded: [] } as const;
const DIMENSIONS = ["tokens", "cost", "turns", "toolCalls"] as const;

/** Nested limits, nothing else. */
export class FakeLedger implements Ledger {
  readonly limits: { readonly [D in keyof Spend]: number | null };
  readonly used: { -readonly [D in keyof Spend]: number } = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  reserved = 0;
  private readonly parent: FakeLedger | undefined;

  constructor(budget: ExecutionBudgetOptions = {}, parent?: FakeLedger) {
    this.parent = parent;
    this.limits = {
      tokens: budget.maxTokens ?? null,
      cost: budget.maxCostUsd ?? null,
      turns: budget.maxTurns ?? null,
      toolCalls: budget.maxToolCalls ?? null,
    };
  }

  private get chain(): FakeLedger[] {
    return this.parent === undefined ? [this] : [this, ...this.parent.chain];
  }

  reserve(estimate: Partial<Spend>): Reservation {
    for (const ledger of this.chain) {
      for (const dimension of DIMENSIONS) {
        const limit = ledger.limits[dimension];
        const after = ledger.used[dimension] + (estimate[dimension] ?? 0);
        if (limit !== null && after > limit)
          throw new BudgetExhaustedError({ dimension, used: after, limit, scope: "fake" });
      }
    }
    this.add(estimate, 1);
    for (const ledger of this.chain) ledger.reserved++;
    return {
      settle: (actual) => {
        this.add(estimate, -1);
        this.add({ ...estimate, ...actual }, 1);
        return NOTHING;
      },
      cancel: () => this.add(estimate, -1),
    };
  }

  isBelow(other: Ledger): boolean {
    return this.chain.some((ledger) => ledger !== this && ledger === other);
  }

  charge(spent: Actual): typeof NOTHING {
    this.add(spent, 1);
    return NOTHING;
  }

  child(budget: ExecutionBudgetOptions): Ledger {
    return new FakeLedger(budget, this);
  }

  remaining() {
    const left = (dimension: keyof Spend): number | null => {
      const all = this.chain.flatMap(({ limits, used }) => {
        const limit = limits[dimension];
        return limit === null ? [] : [limit - used[dimension]];
      });
      return all.length === 0 ? null : Math.min(...all);
    };
    return { tokens: left("tokens"), cost: left("cost"), turns: left("turns"), toolCalls: left("toolCalls") };
  }

  snapshot() {
    return {};
  }

  private add(spend: Partial<Spend>, sign: 1 | -1): void {
    for (const ledger of this.chain)
      for (const dimension of DIMENSIONS) ledger.used[dimension] += sign * (spend[dimension] ?? 0);
  }
}

/** So many seats beside the root's; who is paused is what the test says. */
export class FakeHeadcount implements Headcount {
  readonly holders = new Set<string>();
  readonly paused = new Map<string, PromiseWithResolvers<void>>();
  private readonly seats: number;

  constructor(seats = Infinity) {
    this.seats = seats;
  }

  pause(id: string): void {
    this.paused.set(id, Promise.withResolvers());
  }

  unpause(id: string): void {
    this.paused.get(id)?.resolve();
    this.paused.delete(id);
  }

  acquire: Headcount["acquire"] = (id: AgentId) => {
    if (this.holders.size >= this.seats) {
      throw new BudgetExhaustedError({
        dimension: "agents",
        used: this.holders.size,
        limit: this.seats,
        scope: "fake",
      });
    }
    this.holders.add(id);
    const release = (): void => void this.holders.delete(id);
    const lease: Lease = { agentId: id, release, [Symbol.dispose]: release };
    return Promise.resolve(lease);
  };

  release(leaseOrId: Lease | AgentId): void {
    this.holders.delete(typeof leaseOrId === "string" ? leaseOrId : leaseOrId.agentId);
  }

  isPaused(id: AgentId): boolean {
    return this.paused.has(id);
  }

  whenResumed(id: AgentId): Promise<void> {
    return this.paused.get(id)?.promise ?? Promise.resolve();
  }

  reprioritize(): void {}

  snapshot() {
    return {};
  }
}
