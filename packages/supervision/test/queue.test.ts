import { describe, expect, test } from "vitest";
import { AgentId, type Lease, Priority } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { SpawnTracker } from "@ravi/supervision";

const { BACKGROUND, LOW, NORMAL, HIGH, CRITICAL } = Priority;
const lead = AgentId("lead");

/** Notes who was granted, in order. */
function pool(maxAgents: number, clock = virtualClock()) {
  const tracker = new SpawnTracker({ maxAgents }, { rootId: lead, clock });
  const granted: string[] = [];
  const leases = new Map<string, Lease>();
  return {
    tracker,
    granted,
    clock,
    hold: (name: string, priority: Priority = NORMAL, parent = "lead") =>
      tracker.acquire(AgentId(name), priority, { parentId: AgentId(parent) }),
    queue: (name: string, priority: Priority = NORMAL, parent = "lead", signal?: AbortSignal) =>
      tracker
        .acquire(AgentId(name), priority, { parentId: AgentId(parent), onFull: "queue", signal })
        .then((lease) => {
          granted.push(name);
          leases.set(name, lease);
          return lease;
        }),
    free: async (name: string) => {
      tracker.release(AgentId(name));
      await clock.advance(0);
    },
  };
}

describe("R14: a queued hire", () => {
  test("R14: is granted at once where there is room, or somebody to preempt", async () => {
    const { queue, tracker } = pool(3);
    await queue("a", LOW);
    await queue("b", LOW);
    await queue("c", HIGH);
    expect(tracker.paused).toEqual(["b"]);
  });

  test("R14: with what is no signal is refused at once, and leaves nobody in the queue", async () => {
    const { hold, queue, tracker } = pool(2);
    const first = hold("a");
    for (const wrong of [new AbortController(), null, "stop"]) {
      const refused = { code: "INVALID_VALUE", field: "signal" };
      await expect(queue("b", NORMAL, "lead", wrong as never)).rejects.toMatchObject(refused);
      await expect(tracker.whenResumed(AgentId("a"), wrong as never)).rejects.toMatchObject(refused);
    }
    first.release();
    expect([tracker.held, tracker.totalSpawned]).toEqual([1, 2]);
  });

  test("R14: waits for a release, holding no slot, and has it in the same tick", async () => {
    const { hold, queue, tracker, granted, clock } = pool(2);
    const first = hold("a");
    const waiting = queue("b");
    await clock.advance(1000);
    expect([tracker.held, granted, tracker.totalSpawned]).toEqual([2, [], 3]);
    first.release();
    expect([tracker.held, tracker.snapshot()["waiting"]]).toEqual([2, []]);
    expect((await waiting).agentId).toBe("b");
    expect(clock.pending).toBe(0);
  });

  test("R14: stands in one queue with the paused: highest priority, then oldest", async () => {
    const { hold, queue, free, tracker, granted } = pool(3);
    hold("a");
    hold("b");
    const queued = [queue("low", LOW), queue("early"), queue("late")];
    hold("urgent", HIGH);
    hold("urgenter", HIGH);
    expect(tracker.paused).toEqual(["b", "a"]);
    await free("urgent");
    expect([granted, tracker.paused]).toEqual([["early"], ["b", "a"]]);
    await free("early");
    expect(granted).toEqual(["early", "late"]);
    await free("late");
    expect(tracker.paused).toEqual(["a"]);
    await free("b");
    expect(tracker.paused).toEqual([]);
    await free("a");
    await Promise.all(queued);
    expect(granted).toEqual(["early", "late", "low"]);
  });

  test("R14: each minute of waiting raises a place by one step, so that nothing starves", async () => {
    const { hold, queue, free, granted, clock } = pool(2);
    hold("a");
    const background = queue("background", BACKGROUND);
    await clock.advance(119_999);
    const normal = queue("normal", NORMAL);
    await free("a");
    expect(granted).toEqual(["normal"]);
    await clock.advance(1);
    const other = queue("other", NORMAL);
    await free("normal");
    expect(granted).toEqual(["normal", "background"]);
    await free("background");
    await Promise.all([background, normal, other]);
  });

  test("R14: no place rises above CRITICAL, and there the oldest is first", async () => {
    const { hold, queue, free, granted, clock } = pool(2);
    hold("a", CRITICAL);
    const old = queue("old", LOW);
    await clock.advance(3 * 60_000);
    const critical = queue("critical", CRITICAL);
    await clock.advance(60 * 60_000);
    await free("a");
    await free("old");
    await Promise.all([old, critical]);
    expect(granted).toEqual(["old", "critical"]);
  });

  test("R14: a clock that runs backwards takes nothing away from who waits", async () => {
    const time = { now: 600_000 };
    const tracker = new SpawnTracker({ maxAgents: 2 }, { rootId: lead, clock: { now: () => time.now } });
    tracker.acquire(AgentId("a"));
    const first = tracker.acquire(AgentId("first"), LOW, { onFull: "queue" });
    time.now = 0;
    const second = tracker.acquire(AgentId("second"), LOW, { onFull: "queue" });
    time.now = Number.NaN;
    tracker.release(AgentId("a"));
    await first;
    expect(tracker.snapshot()).toMatchObject({ now: 600_000, waiting: [{ id: "second", since: 600_000 }] });
    tracker.release(AgentId("first"));
    await second;
  });

  test("R14: cancelled, it leaves nothing behind", async () => {
    const { hold, queue, tracker, granted } = pool(2);
    const first = hold("a");
    const before = tracker.snapshot();
    const abort = new AbortController();
    const waiting = queue("b", NORMAL, "lead", abort.signal);
    abort.abort(new Error("no longer needed"));
    expect(tracker.snapshot()).toEqual(before);
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", reason: "no longer needed" });
    first.release();
    expect([tracker.held, tracker.totalSpawned, granted]).toEqual([1, 2, []]);
    hold("b");
  });

  test("R14: with a signal that cannot be listened to, it leaves nothing behind", async () => {
    const { hold, queue, tracker, granted } = pool(2);
    const first = hold("a");
    const before = tracker.snapshot();
    const { signal } = new AbortController();
    Object.assign(signal, {
      addEventListener() {
        throw new Error("not today");
      },
    });
    await expect(queue("b", NORMAL, "lead", signal)).rejects.toThrow("not today");
    expect(tracker.snapshot()).toEqual(before);
    first.release();
    expect([tracker.held, granted]).toEqual([1, []]);
  });

  test("R14: with a signal that was aborted before, it is never asked", async () => {
    const { queue, tracker } = pool(2);
    await expect(queue("a", NORMAL, "lead", AbortSignal.abort())).rejects.toMatchObject({
      code: "CANCELLED",
    });
    expect(tracker.totalSpawned).toBe(1);
  });

  test("R14: an abort after the grant changes nothing, and no listener stays on the signal", async () => {
    const { hold, queue, tracker } = pool(2);
    const first = hold("a");
    const abort = new AbortController();
    const listeners = watchListeners(abort.signal);
    const waiting = queue("b", NORMAL, "lead", abort.signal);
    expect(listeners.count).toBe(1);
    first.release();
    expect(listeners.count).toBe(0);
    abort.abort();
    await waiting;
    expect(tracker.held).toBe(2);
  });

  test("R14: released by its id before its slot came, its promise says so", async () => {
    const { hold, queue, free, tracker } = pool(2);
    hold("a");
    const waiting = queue("b").catch(String);
    await free("b");
    expect(await waiting).toContain("b was released while it was queued");
    expect(tracker.totalSpawned).toBe(2);
  });

  test("R14: released by its id, it leaves no listener on its signal", async () => {
    const { hold, queue, free } = pool(2);
    hold("a");
    const { signal } = new AbortController();
    const listeners = watchListeners(signal);
    const waiting = queue("b", NORMAL, "lead", signal).catch(String);
    expect(listeners.count).toBe(1);
    await free("b");
    expect(await waiting).toContain("was released");
    expect(listeners.count).toBe(0);
  });

  test("R14: counts for maxTotal while it waits", async () => {
    const tracker = new SpawnTracker({ maxAgents: 2, maxTotal: 3 }, { rootId: lead });
    tracker.acquire(AgentId("a"));
    const waiting = tracker.acquire(AgentId("b"), NORMAL, { onFull: "queue" });
    await expect(tracker.acquire(AgentId("c"), NORMAL, { onFull: "queue" })).rejects.toMatchObject({
      dimension: "totalAgents",
    });
    tracker.release(AgentId("a"));
    await waiting;
  });

  test("R14: hires nobody itself while it waits", async () => {
    const { hold, queue, free } = pool(2);
    hold("a");
    const waiting = queue("b");
    expect(() => hold("c", CRITICAL, "b")).toThrow(/is still waiting for its first slot/);
    await free("a");
    await waiting;
  });

  test("R15: promoted while it waits, it preempts where it now may", async () => {
    const { hold, queue, tracker, granted } = pool(2);
    hold("a");
    const waiting = queue("b");
    tracker.reprioritize(AgentId("b"), HIGH);
    await waiting;
    expect([granted, tracker.paused]).toEqual([["b"], ["a"]]);
  });
});

describe("R14: what could never end is refused at once", () => {
  test.each([1, 2, 3, 4, 5])("R14: a chain of %i holders that would all await the new one", async (depth) => {
    const { hold, queue, tracker } = pool(depth);
    const chain = ["lead"];
    for (let level = 1; level < depth; level++) {
      hold(`worker${level}`, NORMAL, chain.at(-1));
      chain.push(`worker${level}`);
    }
    const before = tracker.snapshot();
    await expect(queue("more", NORMAL, chain.at(-1))).rejects.toMatchObject({
      code: "BUDGET_EXHAUSTED",
      dimension: "agents",
      used: depth,
      limit: depth,
    });
    expect(tracker.snapshot()).toEqual(before);
  });

  test("R14: not while one holder awaits nobody in the queue", async () => {
    const { hold, queue, free, granted } = pool(3);
    hold("a");
    hold("b");
    const first = queue("under-a", NORMAL, "a");
    await expect(queue("under-b", NORMAL, "b")).rejects.toThrow(/would never start/);
    await free("b");
    await first;
    expect(granted).toEqual(["under-a"]);
  });

  test("R14: a paused descendant is awaited like a queued one", async () => {
    const { hold, queue, tracker } = pool(3);
    hold("a");
    hold("under-a", NORMAL, "a");
    hold("urgent", HIGH);
    expect(tracker.paused).toEqual(["under-a"]);
    await expect(queue("under-urgent", NORMAL, "urgent")).rejects.toThrow(/would never start/);
  });

  test("R14: nor after an agent has ended before the hires that it left waiting", async () => {
    const { hold, queue, free, granted } = pool(4);
    hold("x");
    hold("p");
    hold("a", NORMAL, "p");
    const left = [queue("b1", LOW, "a").catch(String), queue("b2", LOW, "a")];
    const z = queue("z");
    await free("a");
    await z;
    await free("b1");
    const underX = queue("under-x", NORMAL, "x");
    // Now p awaits b2 and x awaits under-x: only z can still finish.
    await expect(queue("under-z", NORMAL, "z")).rejects.toThrow(/would never start/);
    await free("z");
    await free("under-x");
    await Promise.all([...left, underX]);
    expect(granted).toEqual(["z", "under-x", "b2"]);
  });

  test("R14: a holder counts as one who can finish again, once all below it have got their slots", async () => {
    const { hold, queue, free, granted } = pool(4);
    hold("x");
    hold("p");
    hold("a", NORMAL, "p");
    const below = ["b1", "b2"].map((name) => queue(name, NORMAL, "a"));
    await free("a");
    await free("b1");
    await free("b2");
    await Promise.all(below);
    hold("under-x", NORMAL, "x");
    // Everybody awaits the new one except p, which has nobody left below it.
    const last = queue("last", NORMAL, "under-x");
    await free("p");
    await last;
    expect(granted).toEqual(["b1", "b2", "last"]);
  });

  test("R15: the same after an agent was paused while it awaited another", async () => {
    const { hold, queue, free, tracker, granted } = pool(4);
    hold("x", HIGH);
    hold("p");
    hold("a", LOW, "p");
    const underA = queue("under-a", NORMAL, "a");
    hold("urgent", HIGH);
    expect(tracker.paused).toEqual(["a"]);
    await free("urgent");
    await free("under-a");
    await underA;
    expect(tracker.paused).toEqual([]);
    await free("a");
    hold("under-x", NORMAL, "x");
    const last = queue("last", NORMAL, "under-x");
    await free("p");
    await last;
    expect(granted).toEqual(["under-a", "last"]);
  });

  test("R15: the last slot goes to somebody who can finish, not to the best who only awaits the queue", async () => {
    const { hold, queue, free, tracker, granted } = pool(3);
    hold("x", HIGH);
    hold("a");
    const underA = queue("under-a", LOW, "a");
    hold("urgent", HIGH);
    expect(tracker.paused).toEqual(["a"]);
    const underX = queue("under-x", LOW, "x");
    await free("urgent");
    // "a" is the best, but with it the holders would be lead, x and a, and each would await one of the two left.
    expect([granted, tracker.paused]).toEqual([["under-a"], ["a"]]);
    await free("under-a");
    expect(tracker.paused).toEqual([]);
    await free("a");
    await Promise.all([underA, underX]);
  });

  test("R15: a promotion that would take the slot of the last one who can finish only moves it up", async () => {
    const { hold, queue, free, tracker, granted } = pool(3);
    hold("x", CRITICAL);
    hold("a");
    const underA = queue("under-a", LOW, "a");
    hold("y", HIGH);
    const underX = queue("under-x", LOW, "x");
    tracker.reprioritize(AgentId("y"), NORMAL);
    const before = tracker.snapshot();
    tracker.reprioritize(AgentId("a"), HIGH);
    expect(tracker.paused).toEqual(["a"]);
    expect(tracker.snapshot()["waiting"]).toEqual(before["waiting"]);
    await free("y");
    expect(granted).toEqual(["under-a"]);
    await free("under-a");
    expect(tracker.paused).toEqual([]);
    await free("a");
    await Promise.all([underA, underX]);
  });
});

test("R14: many who wait under one signal share a listener, and leave none behind", async () => {
  const { hold, queue, tracker } = pool(2);
  hold("a");
  const abort = new AbortController();
  const listeners = watchListeners(abort.signal);
  const waiting = Array.from({ length: 50 }, (_, n) => queue(`q${n}`, NORMAL, "lead", abort.signal));
  expect(listeners.count).toBe(1);
  tracker.release(AgentId("a"));
  await waiting[0];
  expect(listeners.count).toBe(1);
  abort.abort("enough");
  const ends = await Promise.allSettled(waiting);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", ...Array(49).fill("rejected")]);
  expect(tracker.totalSpawned).toBe(3);
});

function watchListeners(signal: AbortSignal): { count: number } {
  const seen = { count: 0 };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    seen.count++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    seen.count--;
    removeEventListener.apply(signal, args);
  };
  return seen;
}
