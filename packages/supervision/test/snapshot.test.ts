import { describe, expect, test } from "vitest";
import { AgentId, InvalidValueError, type JsonObject, Priority } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { SpawnTracker } from "@ravi/supervision";
import { denial } from "./denial.ts";

const { LOW, NORMAL, HIGH } = Priority;
const lead = AgentId("lead");
const id = (name: string): AgentId => AgentId(name);

/** Four slots: lead, a and two urgent ones; paused are c and b; "late" is queued. */
function busy(clock = virtualClock({ now: 5000 })): SpawnTracker {
  const tracker = new SpawnTracker(
    { maxAgents: 4, maxTotal: 9, maxDepth: 3 },
    { rootId: lead, clock, agingMs: 500 },
  );
  tracker.acquire(id("a"));
  tracker.acquire(id("b"), NORMAL, { parentId: id("a") });
  tracker.acquire(id("gone"), LOW).release();
  tracker.acquire(id("c"), LOW);
  tracker.acquire(id("urgent"), HIGH);
  tracker.acquire(id("urgenter"), HIGH);
  void tracker.acquire(id("late"), NORMAL, { onFull: "queue" });
  return tracker;
}

function overJson(tracker: SpawnTracker): JsonObject {
  return JSON.parse(JSON.stringify(tracker.snapshot()));
}

describe("R15: a headcount outlives its process", () => {
  test("R15: a snapshot is plain JSON with a version", () => {
    expect(overJson(busy())).toEqual({
      v: 1,
      budget: { v: 1, maxAgents: 4, allowPreempt: true, maxTotal: 9, maxDepth: 3 },
      agingMs: 500,
      now: 5000,
      total: 8,
      root: { id: "lead", priority: NORMAL },
      agents: [
        { id: "a", parentId: "lead", depth: 1, priority: NORMAL },
        { id: "b", parentId: "a", depth: 2, priority: NORMAL },
        { id: "c", parentId: "lead", depth: 1, priority: LOW },
        { id: "urgent", parentId: "lead", depth: 1, priority: HIGH },
        { id: "urgenter", parentId: "lead", depth: 1, priority: HIGH },
        { id: "late", parentId: "lead", depth: 1, priority: NORMAL },
      ],
      waiting: [
        { id: "c", as: "paused", since: 5000 },
        { id: "b", as: "paused", since: 5000 },
        { id: "late", as: "queued", since: 5000 },
      ],
    });
  });

  test("R15: holders, paused, queue, totals and ages come back", () => {
    const before = busy();
    const after = SpawnTracker.restore(overJson(before), { clock: virtualClock() });
    expect(after.snapshot()).toEqual(before.snapshot());
    expect([after.held, after.paused, after.totalSpawned]).toEqual([4, ["c", "b"], 8]);
    after.release(id("urgent"));
    expect(after.paused).toEqual(["c"]);
  });

  test("R15: the root comes back with the priority that it was given", () => {
    const before = busy();
    before.reprioritize(lead, HIGH);
    expect(SpawnTracker.restore(overJson(before)).priorityOf(lead)).toBe(HIGH);
  });

  test("R15: a run that has hired all it may can still be resumed", () => {
    const before = new SpawnTracker({ maxAgents: 4, maxTotal: 2 }, { rootId: lead });
    before.acquire(id("a"));
    const after = SpawnTracker.restore(overJson(before));
    expect(after.totalSpawned).toBe(2);
    expect(denial(() => after.acquire(id("b"))).dimension).toBe("totalAgents");
  });

  test("R15: a misspelt option of a restore is refused", () => {
    const misspelt = { aging: 5 } as never;
    expect(() => SpawnTracker.restore(overJson(busy()), misspelt)).toThrow(/aging/);
  });

  test.each([
    ["what was waited before counts afterwards", undefined, ["new"]],
    ["another aging may be given", 60_000, ["old"]],
    ["also the shortest", 1, ["new"]],
  ])("R15: %s", (_what, agingMs, stillWaiting) => {
    const before = new SpawnTracker({ maxAgents: 2 }, { rootId: lead, clock: virtualClock(), agingMs: 500 });
    before.acquire(id("old"), LOW);
    before.acquire(id("urgent"), HIGH);
    const after = SpawnTracker.restore(overJson(before), { clock: virtualClock({ now: 500 }), agingMs });
    void after.acquire(id("new"), NORMAL, { onFull: "queue" });
    after.release(id("urgent"));
    const waiting = after.snapshot()["waiting"] as JsonObject[];
    expect(waiting.map((place) => place["id"])).toEqual(stillWaiting);
  });

  test("R15: everybody can be acquired once more, which counts nothing again", async () => {
    const after = SpawnTracker.restore(overJson(busy()), { clock: virtualClock() });
    const lease = after.acquire(id("a"));
    expect(() => after.acquire(id("a"))).toThrow(InvalidValueError);
    expect(() => after.acquire(lead)).toThrow(InvalidValueError);
    expect(after.acquire(id("c")).agentId).toBe("c");
    expect(after.isPaused(id("c"))).toBe(true);
    expect(denial(() => after.acquire(id("late"))).dimension).toBe("agents");
    const late = after.acquire(id("late"), NORMAL, { onFull: "queue" });
    expect([after.held, after.totalSpawned, after.paused]).toEqual([4, 8, ["c", "b"]]);
    lease.release();
    after.release(id("urgent"));
    expect((await late).agentId).toBe("late");
    expect(after.paused).toEqual(["c"]);
  });

  test("R15: a queued hire whose slot came before it was asked for again has it", async () => {
    const after = SpawnTracker.restore(overJson(busy()), { clock: virtualClock() });
    for (const name of ["a", "urgent", "urgenter"]) after.release(id(name));
    expect([after.held, after.paused]).toEqual([4, []]);
    const lease = await after.acquire(id("late"), NORMAL, { onFull: "queue" });
    lease.release();
    expect(after.held).toBe(3);
  });

  test("R15: a queued hire that nobody wants any more is released by its id", () => {
    const after = SpawnTracker.restore(overJson(busy()));
    after.release(id("late"));
    expect(after.totalSpawned).toBe(7);
  });

  test("R14: ancestors and depth come back too", () => {
    const after = SpawnTracker.restore(overJson(busy()), { clock: virtualClock() });
    after.release(id("urgent"));
    expect(denial(() => after.acquire(id("d"), HIGH, { parentId: id("b") })).dimension).toBe("agents");
    after.release(id("urgenter"));
    after.acquire(id("d"), HIGH, { parentId: id("b") });
    expect(after.paused).toEqual(["c", "late"]);
    expect(denial(() => after.acquire(id("e"), HIGH, { parentId: id("d") })).dimension).toBe("depth");
  });

  const good = overJson(busy());
  const agents = good["agents"] as JsonObject[];
  const waiting = good["waiting"] as JsonObject[];
  test.each<[string, unknown, RegExp]>([
    ["nothing", null, /snapshot is null/],
    ["a text", "{}", /snapshot is/],
    ["an unknown version", { ...good, v: 2 }, /snapshot\.v is 2; expected 1/],
    ["no version", { ...good, v: undefined }, /snapshot\.v/],
    ["an unknown field", { ...good, extra: 1 }, /snapshot\.extra/],
    ["a hostile key", JSON.parse(`{"__proto__": {"v": 1}, "v": 1}`), /snapshot\.__proto__/],
    ["a hostile key inside", { ...good, root: JSON.parse(`{"__proto__": 1}`) }, /snapshot\.root\.__proto__/],
    ["a bad budget", { ...good, budget: { v: 1, maxAgents: 0 } }, /maxAgents/],
    ["a time without an end", { ...good, now: Infinity }, /snapshot\.now/],
    ["a bad time", { ...good, now: "today" }, /snapshot\.now/],
    ["agents that are no list", { ...good, agents: {} }, /snapshot\.agents/],
    ["an agent twice", { ...good, agents: [...agents, agents[0]] }, /agents\[6\]\.id/],
    ["the root as an agent", { ...good, agents: [{ ...agents[0], id: "lead" }] }, /agents\[0\]\.id/],
    ["an id with a control character", { ...good, agents: [{ ...agents[0], id: "a\n" }] }, /agentId/],
    ["a child before its parent", { ...good, agents: agents.toReversed() }, /parentId/],
    ["a depth above its parent's", { ...good, agents: [{ ...agents[0], depth: 0 }] }, /depth/],
    ["an unknown priority", { ...good, agents: [{ ...agents[0], priority: 3 }] }, /priority/],
    ["a stranger who waits", { ...good, waiting: [{ ...waiting[0], id: "x" }] }, /waiting\[0\]\.id/],
    ["somebody who waits twice", { ...good, waiting: [waiting[0], waiting[0]] }, /waiting\[1\]\.id/],
    [
      "waiting in an unknown way",
      { ...good, waiting: [{ ...waiting[0], as: "asleep" }] },
      /waiting\[0\]\.as/,
    ],
    ["more holders than slots", { ...good, waiting: [] }, /snapshot\.waiting/],
    [
      "somebody who waits beside a free slot, which nobody would give to him",
      { ...good, agents: [agents[0], agents[2]], waiting: [waiting[0]] },
      /snapshot\.waiting.*no fewer while others wait/,
    ],
    ["fewer hires than agents", { ...good, total: 6 }, /snapshot\.total/],
    ["more hires than allowed", { ...good, total: 10 }, /snapshot\.total/],
    [
      "nobody who could finish",
      {
        ...good,
        budget: { v: 1, maxAgents: 2, allowPreempt: true, maxTotal: null, maxDepth: null },
        agents: agents.slice(0, 2),
        waiting: [{ id: "b", as: "queued", since: 0 }],
      },
      /at least one agent that holds a slot/,
    ],
  ])("R15: %s is refused", (_what, snapshot, message) => {
    expect(() => SpawnTracker.restore(snapshot)).toThrow(InvalidValueError);
    expect(() => SpawnTracker.restore(snapshot)).toThrow(message);
  });
});
