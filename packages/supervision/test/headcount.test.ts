import { describe, expect, expectTypeOf, test } from "vitest";
import {
  AgentId,
  BudgetExhaustedError,
  type Headcount,
  type HireLeaf,
  InvalidValueError,
  type Lease,
  Priority,
  spawnBudget,
  Supervision,
} from "@ravi/kernel";
import { SpawnTracker } from "@ravi/supervision";
import { denial } from "./denial.ts";

const { BACKGROUND, LOW, NORMAL, HIGH, CRITICAL } = Priority;
const lead = AgentId("lead");
const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => AgentId(name)) as [
  AgentId,
  AgentId,
  AgentId,
  AgentId,
  AgentId,
];

function tracker(maxAgents: number, more: { allowPreempt?: boolean } = {}): SpawnTracker {
  return new SpawnTracker({ maxAgents, ...more }, { rootId: lead });
}

describe("R14: acquire", () => {
  test("R14: it is a kernel Headcount, and takes a budget or its options", () => {
    const headcount: Headcount = new SpawnTracker(spawnBudget({ maxAgents: 2 }), { rootId: lead });
    headcount.acquire(a);
    expect(denial(() => headcount.acquire(b))).toMatchObject({ used: 2, limit: 2 });
  });

  test("R5: without a budget there are the fifty of the defaults", () => {
    const headcount = new SpawnTracker();
    for (let hired = 1; hired < 50; hired++) headcount.acquire(AgentId("helper", hired));
    expect(denial(() => headcount.acquire(a))).toMatchObject({ used: 50, limit: 50 });
  });

  test("R14: the root counts from the start", () => {
    const one = tracker(1);
    expect(one.held).toBe(1);
    expect(one.totalSpawned).toBe(1);
    expect(one.priorityOf(lead)).toBe(NORMAL);
    expect(denial(() => one.acquire(a))).toMatchObject({
      dimension: "agents",
      used: 1,
      limit: 1,
      scope: "lead",
    });
  });

  test("R14: a budget is enough: the root is called `root` unless it is named", () => {
    const alone = new SpawnTracker(Supervision.root(lead, { spawnBudget: { maxAgents: 2 } }).spawnBudget);
    expect(alone.held).toBe(1);
    expect(alone.priorityOf(AgentId("root"))).toBe(NORMAL);
    alone.acquire(a);
    expect(denial(() => alone.acquire(b))).toMatchObject({ used: 2, limit: 2, scope: "root" });
    expect(new SpawnTracker({ maxAgents: 2 }, { agingMs: 5 }).priorityOf(AgentId("root"))).toBe(NORMAL);
  });

  test("R14: where there is room, anyone is granted", () => {
    const five = tracker(6);
    for (const [id, priority] of [
      [a, BACKGROUND],
      [b, LOW],
      [c, NORMAL],
      [d, HIGH],
      [e, CRITICAL],
    ] as const) {
      expect(five.acquire(id, priority).agentId).toBe(id);
      expect(five.priorityOf(id)).toBe(priority);
    }
    expect(five.held).toBe(6);
  });

  test.each([BACKGROUND, LOW, NORMAL])("R14: full and priority %i is denied", (priority) => {
    const two = tracker(2);
    two.acquire(a, BACKGROUND);
    expect(() => two.acquire(b, priority)).toThrow(BudgetExhaustedError);
    expect(two.isPaused(a)).toBe(false);
    expect(two.priorityOf(b)).toBeUndefined();
  });

  test.each([HIGH, CRITICAL])(
    "R14: full and priority %i takes the lowest slot, the count unchanged",
    (priority) => {
      const four = tracker(4);
      four.acquire(a, NORMAL);
      four.acquire(b, LOW);
      four.acquire(c, NORMAL);
      four.acquire(d, priority);
      expect(four.paused).toEqual([b]);
      expect(four.held).toBe(4);
      expect(four.isPaused(d)).toBe(false);
    },
  );

  test("R14: nobody strictly lower is denied", () => {
    const two = tracker(2);
    two.acquire(a, HIGH);
    expect(denial(() => two.acquire(b, HIGH)).dimension).toBe("agents");
    two.acquire(b, CRITICAL);
    expect(denial(() => two.acquire(c, CRITICAL)).dimension).toBe("agents");
  });

  test("R14: allowPreempt: false denies, and says so", () => {
    const two = tracker(2, { allowPreempt: false });
    two.acquire(a, BACKGROUND);
    expect(denial(() => two.acquire(b, CRITICAL)).message).toContain("allowPreempt is false");
    expect(two.paused).toEqual([]);
  });

  test("R14: a denial says why no slot could be taken", () => {
    const two = tracker(2);
    two.acquire(a, HIGH);
    expect(denial(() => two.acquire(b, NORMAL)).message).toContain("only HIGH and CRITICAL agents");
    expect(denial(() => two.acquire(b, HIGH)).message).toContain("no agent with a lower priority");
  });

  test("R14: a victim is no candidate again; cap 2 never admits 7", () => {
    const two = tracker(2);
    two.acquire(a, LOW);
    two.acquire(b, HIGH);
    const admitted = Array.from({ length: 5 }, (_, n) => {
      try {
        return two.acquire(AgentId("late", n), HIGH);
      } catch {
        return undefined;
      }
    });
    expect(admitted.filter((lease) => lease !== undefined)).toEqual([]);
    expect(two.held).toBe(2);
    expect(two.paused).toEqual([a]);
  });

  test("R15: a victim is draining until it waits for its slot, or is released", async () => {
    const three = tracker(3);
    three.acquire(a, LOW);
    three.acquire(b, LOW);
    three.acquire(c, HIGH);
    const urgent = three.acquire(d, CRITICAL);
    expect(three.draining).toEqual([b, a]);
    const again = three.whenResumed(b);
    expect(three.draining).toEqual([a]);
    expect(three.paused).toEqual([b, a]);
    three.release(a);
    expect(three.draining).toEqual([]);
    urgent.release();
    await again;
    expect(three.draining).toEqual([]);
    // It has a slot again and is in the middle of its next step.
    three.acquire(a, CRITICAL);
    expect([three.paused, three.draining]).toEqual([[b], [b]]);
  });

  test("R15: a queued hire, and a paused agent that was restored, drain nothing", () => {
    const two = tracker(2);
    two.acquire(a, LOW);
    two.acquire(b, HIGH);
    void two.acquire(c, NORMAL, { onFull: "queue" });
    expect(two.draining).toEqual([a]);
    const restored = SpawnTracker.restore(two.snapshot());
    expect(restored.paused).toEqual([a]);
    expect(restored.draining).toEqual([]);
  });

  test("R14: a victim's later release frees nothing", () => {
    const two = tracker(2);
    const victim = two.acquire(a, LOW);
    two.acquire(b, HIGH);
    victim.release();
    expect(two.held).toBe(2);
    expect(two.paused).toEqual([]);
    expect(() => two.acquire(c)).toThrow(BudgetExhaustedError);
  });

  test("R14: releases are by lease: an old one does not give back the slot of a later agent of the same id", () => {
    const two = tracker(2);
    const first = two.acquire(a);
    first.release();
    two.acquire(a);
    first.release();
    two.release(first);
    expect(two.held).toBe(2);
  });

  test("R14: a lease of another tracker is not this one's business", () => {
    const [mine, other] = [tracker(2), tracker(2)];
    mine.acquire(a);
    const foreign = other.acquire(a);
    mine.release(foreign);
    expect([mine.held, other.held]).toEqual([2, 2]);
  });

  test("R14: the same id twice is refused while it holds, is paused or is queued", async () => {
    const three = tracker(3);
    three.acquire(a, LOW);
    expect(() => three.acquire(a)).toThrow(/agent is already hired/);
    three.acquire(b, NORMAL);
    three.acquire(c, HIGH);
    expect(three.isPaused(a)).toBe(true);
    expect(() => three.acquire(a, CRITICAL)).toThrow(/agent is already paused/);
    const abort = new AbortController();
    const queued = three.acquire(d, NORMAL, { onFull: "queue", signal: abort.signal });
    expect(() => three.acquire(d)).toThrow(/agent is already queued/);
    await expect(three.acquire(d, NORMAL, { onFull: "queue" })).rejects.toThrow(InvalidValueError);
    expect(() => three.acquire(lead)).toThrow(InvalidValueError);
    abort.abort();
    await expect(queued).rejects.toThrow(/abort/);
    expect(three.totalSpawned).toBe(4);
  });

  test("R14: ties fall on the newest hire", () => {
    const four = tracker(4);
    for (const id of [a, b, c]) four.acquire(id);
    four.acquire(d, HIGH);
    expect(four.paused).toEqual([c]);
    four.acquire(e, HIGH);
    expect(four.paused).toEqual([c, b]);
  });

  test("R14: a rank changed later does not make an old hire new", () => {
    const three = tracker(3);
    three.acquire(a, HIGH);
    three.acquire(b, NORMAL);
    three.reprioritize(a, NORMAL);
    three.acquire(c, HIGH);
    expect(three.paused).toEqual([b]);
  });

  test("R14: never the asker's ancestor, however deep and however low", () => {
    const four = tracker(4);
    four.acquire(a, BACKGROUND);
    four.acquire(b, BACKGROUND, { parentId: a });
    four.acquire(c, NORMAL);
    four.acquire(d, CRITICAL, { parentId: b });
    expect(four.paused).toEqual([c]);
    expect(denial(() => four.acquire(e, CRITICAL, { parentId: d })).dimension).toBe("agents");
  });

  test("R14: an ancestor stays one when those between have ended", () => {
    const four = tracker(4);
    four.acquire(a, LOW);
    const between = four.acquire(b, LOW, { parentId: a });
    four.acquire(c, NORMAL, { parentId: b });
    between.release();
    four.acquire(d, NORMAL);
    four.acquire(e, HIGH, { parentId: c });
    expect(four.paused).toEqual([d]);
  });

  test("R14: one tracker for the root run, however deep the orchestrators nest", () => {
    const deep = tracker(4);
    deep.acquire(a, NORMAL, { parentId: lead });
    deep.acquire(b, NORMAL, { parentId: a });
    deep.acquire(c, NORMAL, { parentId: b });
    expect(denial(() => deep.acquire(d, NORMAL, { parentId: c }))).toMatchObject({ used: 4, scope: "lead" });
  });

  test("R14: a parent that is not in the tree is refused", () => {
    const two = tracker(2);
    expect(() => two.acquire(a, NORMAL, { parentId: b })).toThrow(/parentId is "b".*holds a slot/);
    expect(two.held).toBe(1);
    expect(() => two.acquire(a, NORMAL, { parentId: b })).toThrow(/the root, set by `rootId`, is lead/);
  });

  test("R14: a tracker that was not told its root takes the first parent that it does not know for it", () => {
    const unsaid = new SpawnTracker({ maxAgents: 3 });
    unsaid.acquire(a, NORMAL, { parentId: lead });
    unsaid.acquire(b, NORMAL, { parentId: a });
    expect(denial(() => unsaid.acquire(c, NORMAL, { parentId: lead }))).toMatchObject({ scope: "lead" });
    expect(unsaid.priorityOf(lead)).toBe(NORMAL);
    // From then on it has a name, and nobody else is taken for it.
    expect(() => unsaid.acquire(c, NORMAL, { parentId: d })).toThrow(/the root, set by `rootId`, is lead/);
    expect(SpawnTracker.restore(unsaid.snapshot()).nameRoot(d)).toBe(false);
  });

  test("R14: after the first hire nobody is taken for the root, and nobody ever hires itself", () => {
    const unsaid = new SpawnTracker({ maxAgents: 4, maxDepth: 1 });
    expect(() => unsaid.acquire(a, NORMAL, { parentId: a })).toThrow(/parentId is "a"/);
    unsaid.acquire(a);
    unsaid.acquire(b);
    unsaid.release(b);
    expect(() => unsaid.acquire(c, NORMAL, { parentId: b })).toThrow(/parentId is "b"/);
    unsaid.acquire(c, NORMAL, { parentId: AgentId("root") });
    expect(unsaid.held).toBe(3);
  });

  test("R14: an engine may say who the root is, once, if nobody has said it before", () => {
    const unsaid = new SpawnTracker({ maxAgents: 3 });
    unsaid.acquire(a);
    expect(unsaid.nameRoot(a)).toBe(false);
    expect(unsaid.nameRoot(lead)).toBe(true);
    expect(unsaid.nameRoot(lead)).toBe(true);
    expect(unsaid.nameRoot(d)).toBe(false);
    expect(unsaid.snapshot()).toMatchObject({
      root: { id: "lead" },
      agents: [{ id: "a", parentId: "lead" }],
    });
    expect(new SpawnTracker({}, { rootId: lead }).nameRoot(d)).toBe(false);
    expect(() => unsaid.nameRoot("" as never)).toThrow(InvalidValueError);
  });

  test("R14: maxTotal counts every hire of the run, the root and finished ones included", () => {
    const few = new SpawnTracker({ maxAgents: 2, maxTotal: 3 }, { rootId: lead });
    few.acquire(a).release();
    few.acquire(b).release();
    expect(few.totalSpawned).toBe(3);
    expect(denial(() => few.acquire(c))).toMatchObject({ dimension: "totalAgents", used: 3, limit: 3 });
    expect(few.held).toBe(1);
  });

  test("R14: maxDepth counts from the root, also through parents that have ended", () => {
    const flat = new SpawnTracker({ maxDepth: 2 }, { rootId: lead });
    const first = flat.acquire(a);
    flat.acquire(b, NORMAL, { parentId: a });
    first.release();
    expect(denial(() => flat.acquire(c, CRITICAL, { parentId: b }))).toMatchObject({
      dimension: "depth",
      used: 2,
      limit: 2,
    });
    expect(new SpawnTracker({ maxDepth: 0 }, { rootId: lead }).held).toBe(1);
  });

  test("R14: what to do when it is full may be known at run time only, as the `onFull` of a hire", async () => {
    const two = tracker(3);
    const ask = (id: AgentId, onFull: HireLeaf["onFull"]) => two.acquire(id, NORMAL, { onFull });
    expectTypeOf(ask).returns.toEqualTypeOf<Lease | Promise<Lease>>();
    expectTypeOf(two.acquire(a)).toEqualTypeOf<Lease>();
    expect(ask(b, undefined)).not.toHaveProperty("then");
    const waits = ask(c, "queue");
    two.release(a);
    expect((await waits).agentId).toBe(c);
  });

  test("R14: a denied hire leaves nothing behind", () => {
    const one = tracker(1);
    const before = one.snapshot();
    expect(() => one.acquire(a, CRITICAL)).toThrow(BudgetExhaustedError);
    expect(one.snapshot()).toEqual(before);
  });

  test("R14: a clock that fails leaves everybody where it was", () => {
    let isBroken = false;
    const now = (): number => {
      if (isBroken) throw new Error("no time");
      return 0;
    };
    const two = new SpawnTracker({ maxAgents: 2 }, { rootId: lead, clock: { now } });
    two.acquire(a, LOW);
    const before = two.snapshot();
    isBroken = true;
    expect(() => two.acquire(b, HIGH)).toThrow("no time");
    expect(() => two.reprioritize(a, BACKGROUND)).not.toThrow();
    two.reprioritize(a, LOW);
    expect([two.held, two.snapshot()]).toEqual([2, before]);
  });

  test.each([Infinity, NaN])("R15: a clock that says %d is not believed", (wrong) => {
    let time = 0;
    const two = new SpawnTracker({ maxAgents: 2 }, { rootId: lead, clock: { now: () => time } });
    two.acquire(a, LOW);
    time = wrong;
    two.acquire(b, HIGH);
    expect(two.snapshot()).toMatchObject({ now: 0, waiting: [{ id: a, since: 0 }] });
  });

  test("R15: a release while the clock fails gives the slot to who waits for it", () => {
    let isBroken = false;
    const now = (): number => {
      if (isBroken) throw new Error("no time");
      return 0;
    };
    const two = new SpawnTracker({ maxAgents: 2 }, { rootId: lead, clock: { now } });
    two.acquire(a, LOW);
    const lease = two.acquire(b, HIGH);
    expect(two.isPaused(a)).toBe(true);
    isBroken = true;
    lease.release();
    expect([two.held, two.isPaused(a)]).toEqual([2, false]);
  });

  test("R15: while the clock fails, the best of those who wait is still the first", () => {
    let isBroken = false;
    const now = (): number => {
      if (isBroken) throw new Error("no time");
      return 0;
    };
    const three = new SpawnTracker({ maxAgents: 3 }, { rootId: lead, clock: { now } });
    three.acquire(a, BACKGROUND);
    three.acquire(b, LOW);
    const lease = three.acquire(c, HIGH);
    three.acquire(d, HIGH);
    expect(three.paused).toEqual([a, b]);
    isBroken = true;
    lease.release();
    expect(three.paused).toEqual([a]);
  });

  test.each([
    ["no options", () => tracker(2).acquire(a, NORMAL, null as never)],
    ["a misspelt parent", () => tracker(2).acquire(a, NORMAL, { parent: lead } as never)],
    ["an empty id", () => tracker(2).acquire("" as AgentId)],
    ["an id that is no text", () => tracker(2).acquire(7 as never)],
    ["a priority between the steps", () => tracker(2).acquire(a, 3 as never)],
    ["an unknown answer to a full pool", () => tracker(2).acquire(a, NORMAL, { onFull: "wait" } as never)],
    ["an unknown option", () => new SpawnTracker({}, { rootId: lead, aging: 5 } as never)],
    ["a clock that is a function", () => new SpawnTracker({}, { rootId: lead, clock: Date.now as never })],
    ["an aging of 0", () => new SpawnTracker({}, { rootId: lead, agingMs: 0 })],
    ["a cap of 0", () => tracker(0)],
  ])("R14: %s is refused with the field's name", (_what, act) => {
    expect(act).toThrow(InvalidValueError);
  });
});

describe("R15: release, pause and reprioritize", () => {
  test("R15: a lease given back in a finally, by `using`, to the tracker or by id frees the slot", () => {
    const two = tracker(2);
    expect(() => {
      using lease = two.acquire(a);
      throw new Error(`${lease.agentId} crashed`);
    }).toThrow("a crashed");
    expect(two.held).toBe(1);
    two.release(two.acquire(c));
    expect(two.held).toBe(1);
    two.acquire(b);
    two.release(b);
    expect(two.held).toBe(1);
    expect(two.priorityOf(b)).toBeUndefined();
  });

  test("R15: never below the root", () => {
    const two = tracker(2);
    two.release(lead);
    two.release(lead);
    expect(two.held).toBe(1);
    two.acquire(a);
    expect(() => two.acquire(b)).toThrow(BudgetExhaustedError);
  });

  test("R15: unknown or double release does nothing", () => {
    const two = tracker(2);
    const lease = two.acquire(a);
    two.release(b);
    lease.release();
    lease.release();
    two.release(lease);
    two.release(a);
    expect(two.held).toBe(1);
  });

  test("R15: the root is never paused, whatever its rank", () => {
    const two = tracker(2);
    two.acquire(a, HIGH);
    two.reprioritize(lead, BACKGROUND);
    expect(two.priorityOf(lead)).toBe(BACKGROUND);
    expect(() => two.acquire(b, HIGH)).toThrow(BudgetExhaustedError);
    two.acquire(c, CRITICAL);
    expect(two.paused).toEqual([a]);
  });

  test("R15: a paused agent hires nobody, at once or queued, and is told why", async () => {
    const three = tracker(3);
    three.acquire(a, LOW);
    three.acquire(b);
    three.acquire(c, HIGH);
    expect(denial(() => three.acquire(d, CRITICAL, { parentId: a })).message).toContain(
      "a is paused and cannot hire",
    );
    await expect(three.acquire(d, NORMAL, { parentId: a, onFull: "queue" })).rejects.toThrow(/cannot hire/);
    expect(three.totalSpawned).toBe(4);
  });

  test("R15: a freed slot resumes the best waiting paused agent in the same tick", () => {
    const four = tracker(4);
    four.acquire(a, LOW);
    four.acquire(b, NORMAL);
    four.acquire(c, NORMAL);
    const urgent = [d, e, AgentId("f")].map((id) => four.acquire(id, HIGH));
    expect(four.paused).toEqual([a, c, b]);
    urgent[0]?.release();
    expect(four.paused).toEqual([a, b]);
    urgent[1]?.release();
    expect(four.paused).toEqual([a]);
    urgent[2]?.release();
    expect(four.paused).toEqual([]);
    expect(four.held).toBe(4);
  });

  test("R15: whenResumed resolves for all who await it, and at once for who is not paused", async () => {
    const two = tracker(2);
    two.acquire(a);
    await two.whenResumed(a);
    await two.whenResumed(AgentId("nobody"));
    const urgent = two.acquire(b, HIGH);
    const resumed: string[] = [];
    const both = [1, 2].map(async (n) => {
      await two.whenResumed(a);
      resumed.push(`${n}`);
    });
    expect(resumed).toEqual([]);
    urgent.release();
    await Promise.all(both);
    expect(resumed).toEqual(["1", "2"]);
  });

  test("R15: whenResumed ends with its signal, and leaves the agent in its place", async () => {
    const two = tracker(2);
    two.acquire(a);
    const urgent = two.acquire(b, HIGH);
    const abort = new AbortController();
    const waiting = two.whenResumed(a, abort.signal);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", reason: "enough" });
    await expect(two.whenResumed(a, abort.signal)).rejects.toMatchObject({ code: "CANCELLED" });
    expect(two.isPaused(a)).toBe(true);
    urgent.release();
    expect(two.isPaused(a)).toBe(false);
  });

  test("R15: when one of two who await the same agent gives up, the other is still told", async () => {
    const two = tracker(2);
    two.acquire(a);
    const urgent = two.acquire(b, HIGH);
    const abort = new AbortController();
    const [impatient, patient] = [two.whenResumed(a, abort.signal), two.whenResumed(a)];
    abort.abort();
    await expect(impatient).rejects.toMatchObject({ code: "CANCELLED" });
    urgent.release();
    await patient;
    expect(two.isPaused(a)).toBe(false);
  });

  test("R15: an agent that ends while it is paused is not resumed, and who awaits it is told", async () => {
    const two = tracker(2);
    const lease = two.acquire(a);
    two.acquire(b, HIGH);
    const waiting = two.whenResumed(a);
    lease.release();
    await expect(waiting).rejects.toThrow("a was released while it was paused");
    two.release(b);
    expect(two.held).toBe(1);
  });

  test("R15: demotion below NORMAL while full frees the slot to who waits", () => {
    const three = tracker(3);
    three.acquire(a);
    three.acquire(b);
    three.acquire(c, HIGH);
    expect(three.paused).toEqual([b]);
    three.reprioritize(c, LOW);
    expect(three.paused).toEqual([c]);
    expect(three.priorityOf(c)).toBe(LOW);
    expect(three.held).toBe(3);
  });

  test("R15: demotion pauses nobody where nobody waits, or only somebody lower", () => {
    const two = tracker(2);
    two.acquire(a);
    two.reprioritize(a, BACKGROUND);
    expect(two.paused).toEqual([]);
    two.acquire(b, HIGH);
    two.reprioritize(b, LOW);
    expect(two.paused).toEqual([a]);
    two.reprioritize(b, BACKGROUND);
    expect(two.paused).toEqual([b]);
  });

  test("R15: demotion to NORMAL keeps the slot", () => {
    const two = tracker(2);
    two.acquire(a);
    two.acquire(b, CRITICAL);
    two.reprioritize(b, NORMAL);
    expect(two.paused).toEqual([a]);
  });

  test("R15: promotion of a paused agent waits for a slot, ahead of the others", () => {
    const three = tracker(3);
    three.acquire(a);
    three.acquire(b);
    three.acquire(c, HIGH);
    const last = three.acquire(d, HIGH);
    expect(three.paused).toEqual([b, a]);
    three.reprioritize(a, HIGH);
    expect(three.isPaused(a)).toBe(true);
    last.release();
    expect(three.paused).toEqual([b]);
  });

  test("R15: promotion preempts where it now may", async () => {
    const three = tracker(3);
    three.acquire(a);
    three.acquire(b);
    three.acquire(c, HIGH);
    const resumed = three.whenResumed(b);
    three.reprioritize(b, HIGH);
    await resumed;
    expect(three.paused).toEqual([a]);
    expect(three.held).toBe(3);
  });

  test("R15: an unknown agent is reprioritized by nobody, and a wrong rank is refused", () => {
    const two = tracker(2);
    two.reprioritize(a, HIGH);
    expect(two.priorityOf(a)).toBeUndefined();
    expect(() => two.reprioritize(a, 5 as never)).toThrow(InvalidValueError);
  });

  test("R15: finished agents leave nothing, also where each hires the next and ends", () => {
    const many = tracker(3);
    const before = JSON.stringify(many.snapshot()["agents"]);
    let lease = many.acquire(AgentId("link", 0));
    for (let n = 1; n < 5000; n++) {
      const next = many.acquire(AgentId("link", n), NORMAL, { parentId: lease.agentId });
      lease.release();
      lease = next;
    }
    expect(many.snapshot()["agents"]).toHaveLength(1);
    lease.release();
    expect(JSON.stringify(many.snapshot()["agents"])).toBe(before);
  });
});
