import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AgentId, type Lease, Priority, isRaviError, spawnBudget } from "@ravi/kernel";
import { RosterHeadcount } from "../src/headcount/roster-headcount.ts";
import { Roster } from "../src/headcount/roster.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;

/** A piece of work: who does it hires others for its parts, all at once, and waits for them. */
interface Task {
  readonly priority: Priority;
  readonly mode: "deny" | "queue";
  readonly effort: number;
  readonly parts: readonly Task[];
}

const task: fc.Memo<Task> = fc.memo((depth): fc.Arbitrary<Task> =>
  fc.record({
    priority: fc.constantFrom(...Object.values(Priority)),
    mode: fc.constantFrom<"deny" | "queue">("queue", "queue", "deny"),
    effort: fc.nat(3),
    parts: depth <= 1 ? fc.constant([]) : fc.array(task(), { maxLength: 3 }),
  }),
);

function chain(depth: number): Task {
  const parts = depth === 0 ? [] : [chain(depth - 1), chain(depth - 1)];
  return { priority: Priority.NORMAL, mode: "queue", effort: 1, parts };
}

/** Runs a tree of agents that keep the rules: wait while paused, and do the work oneself where a hire is denied. */
async function work(tracker: RosterHeadcount, root: AgentId, whole: Task): Promise<string[]> {
  const done: string[] = [];
  let hired = 0;

  const perform = async (self: AgentId, name: string, { effort, parts }: Task): Promise<void> => {
    for (let step = 0; step < effort; step++) {
      await tracker.whenResumed(self);
      await Promise.resolve();
    }
    await tracker.whenResumed(self);
    const left: (() => Promise<void>)[] = [];
    await Promise.all(
      parts.map(async (part, at) => {
        const partName = `${name}.${at}`;
        try {
          using lease = await hire(self, part);
          await perform(lease.agentId, partName, part);
        } catch (error) {
          if (!isRaviError(error, "BUDGET_EXHAUSTED")) throw error;
          left.push(() => perform(self, partName, part));
        }
      }),
    );
    for (const part of left) await part();
    await tracker.whenResumed(self);
    done.push(name);
  };

  const hire = async (parentId: AgentId, { priority, mode }: Task): Promise<Lease> => {
    const id = AgentId("agent", hired++);
    return mode === "deny"
      ? tracker.acquire(id, priority, { parentId })
      : tracker.acquire(id, priority, { parentId, onFull: "queue" });
  };

  await perform(root, "all", whole);
  return done;
}

function count({ parts }: Task): number {
  return parts.reduce((sum, part) => sum + count(part), 1);
}

/** Whether it ends is seen by running dry: nothing here waits for anything but promises. */
async function finishes(maxAgents: number, whole: Task, Kind = Roster): Promise<string[] | "stuck"> {
  const root = AgentId("lead");
  const clock = { now: () => 0 };
  const budget = spawnBudget({ maxAgents });
  const tracker = new RosterHeadcount(new Kind({ budget, rootId: root, clock, agingMs: 60_000 }));
  const working = work(tracker, root, whole);
  const dry = new Promise<"stuck">((resolve) => setImmediate(resolve, "stuck"));
  const outcome = await Promise.race([working, dry]);
  if (outcome !== "stuck") expect([tracker.held, tracker.paused]).toEqual([1, []]);
  return outcome;
}

class QueuesWithoutEnd extends Roster {
  protected override isDeadlocked(): boolean {
    return false;
  }
}

describe("T3: nothing deadlocks", () => {
  test("R14: a deadlock would be noticed", async () => {
    expect(await finishes(1, chain(1), QueuesWithoutEnd)).toBe("stuck");
    expect(await finishes(3, chain(5), QueuesWithoutEnd)).toBe("stuck");
  });

  test.each([1, 2, 3, 4, 5])("R14: at limit 1 a tree of depth %i is done", async (depth) => {
    const whole = chain(depth);
    expect(await finishes(1, whole)).toHaveLength(count(whole));
  });

  test.each([2, 3, 4, 5])("R14: at limit %i a tree of depth 5 is done", async (limit) => {
    const whole = chain(5);
    expect(await finishes(limit, whole)).toHaveLength(count(whole));
  });

  test(
    `R14, R15: ${RUNS} random trees with preemption and limits of 1 to 5 are done`,
    { timeout: 600_000 },
    async () => {
      const property = fc.asyncProperty(fc.integer({ min: 1, max: 5 }), task(6), async (limit, whole) => {
        const done = await finishes(limit, whole);
        expect(done).toHaveLength(count(whole));
      });
      await fc.assert(property, { numRuns: RUNS });
    },
  );
});
