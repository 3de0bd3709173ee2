import { AgentId, type Headcount, type Lease, Priority, type SpawnBudgetOptions } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, type SuiteCase } from "../case.ts";
import type { VirtualClock } from "../../virtual-clock.ts";

/** What `open` of `describeHeadcount` gets. The time stands still: no case waits for a place to rise by its age. */
export interface HeadcountSetup {
  readonly budget: SpawnBudgetOptions;
  readonly rootId: AgentId;
  readonly clock: VirtualClock;
}

/** What a case works with. */
export interface HeadcountStage {
  /** A new headcount, in which only the root holds a slot. */
  readonly open: (budget: SpawnBudgetOptions) => Promise<Headcount>;
  readonly second: (of: Headcount) => Promise<Headcount>;
  readonly restore: (from: Headcount) => Promise<Headcount>;
  /** Waits for a promise that must settle. Rejects if it takes too long. */
  readonly soon: <T>(what: string, promise: Promise<T>) => Promise<T>;
}

/** One test case. */
export type HeadcountCase = SuiteCase<HeadcountStage, "second" | "restore">;

export const ROOT = AgentId("lead");
export const [A, B, C, D, E] = ["a", "b", "c", "d", "e"].map((name) => AgentId(name)) as [
  AgentId,
  AgentId,
  AgentId,
  AgentId,
  AgentId,
];
export const NOBODY = AgentId("nobody");
export const DENIED = { code: "BUDGET_EXHAUSTED" };
export const FULL = { ...DENIED, dimension: "agents" };

/** Takes a slot now. */
export async function hire(
  headcount: Headcount,
  id: AgentId,
  priority: Priority = Priority.NORMAL,
  parentId: AgentId = ROOT,
): Promise<Lease> {
  return headcount.acquire(id, priority, { parentId });
}

/** A hire that may have to wait. */
export interface Queued {
  readonly lease: Promise<Lease>;
  /** Whether it has its slot, has failed or waits, as far as was heard. */
  readonly state: () => "waits" | "granted" | "failed";
}

export function queue(
  headcount: Headcount,
  id: AgentId,
  priority: Priority = Priority.NORMAL,
  { parentId = ROOT, signal }: { parentId?: AgentId; signal?: AbortSignal } = {},
): Queued {
  let state: "waits" | "granted" | "failed" = "waits";
  const lease = headcount.acquire(id, priority, { parentId, onFull: "queue", signal });
  lease.then(
    () => (state = "granted"),
    () => (state = "failed"),
  );
  return { lease, state: () => state };
}

/** The ids of those that are paused. */
export async function pausedOf(headcount: Headcount) {
  const paused: AgentId[] = [];
  for (const id of [ROOT, A, B, C, D, E]) if (await headcount.isPaused(id)) paused.push(id);
  return paused;
}

/** Fails unless all slots are taken: a hire that may take nobody's slot is denied. */
export async function expectFull(headcount: Headcount): Promise<void> {
  await expectDenied(attempt(() => hire(headcount, NOBODY)));
}

/** Fails unless it rejects because there is no slot. */
export async function expectDenied(asked: Promise<unknown>): Promise<void> {
  await expect(asked).rejects.toMatchObject(FULL);
}

/** Fails unless there is exactly one free slot. */
export async function expectOneFree(headcount: Headcount): Promise<void> {
  const lease = await hire(headcount, AgentId("probe"));
  await expectFull(headcount);
  await headcount.release(lease);
}
