import { describe, expect, test } from "vitest";
import { ExecutionTracker, restoreLedgers } from "@ravi/resources";
import { complaint, exhaustion } from "./helpers.ts";

const json = (tracker: ExecutionTracker): unknown => JSON.parse(JSON.stringify(tracker.snapshot()));

describe("R18: a ledger survives as plain JSON", () => {
  test("R18: spend, limits, warnings given and the reserve's size come back", () => {
    const before = new ExecutionTracker(
      { maxTokens: 1000, maxCostUsd: 2, maxTurns: 9 },
      { scope: "lead", warnAt: 0.5 },
    );
    before.reserve({ tokens: 400, cost: 1, turns: 1 }).settle({ tokens: 500, cost: 1.1 });
    const after = ExecutionTracker.restore(json(before));
    expect(after.used).toEqual({ tokens: 500, cost: 1.1, turns: 1, toolCalls: 0 });
    expect(after.remaining()).toEqual(before.remaining());
    expect(after.scope).toBe("lead");
    expect(after.charge({ tokens: 1, cost: 0.01 }).warnings).toEqual([]);
    expect(exhaustion(() => after.reserve({ tokens: 100, cost: 0.1, turns: 1 })).hint).toContain("held back");
    expect(
      JSON.stringify(ExecutionTracker.restore(json(before), { clock: { now: () => 5 } }).snapshot()),
    ).toBe(JSON.stringify({ ...before.snapshot(), at: 5 }));
  });

  test("R18: a reservation left open by a crash stays charged, in every ancestor, and is reported", () => {
    const root = new ExecutionTracker({ maxTokens: 1000 }, { scope: "run" });
    const child = root.child({ maxTokens: 500 }, "run/hire:a");
    root.reserve({ tokens: 10 });
    child.reserve({ tokens: 100, cost: 0.5, turns: 1 });
    child.charge({ tokens: 7 });
    const tree = restoreLedgers([json(child), json(root)]);
    const [again, below] = [tree.get("run"), tree.get("run/hire:a")];
    expect(again?.used).toEqual({ tokens: 117, cost: 0.5, turns: 1, toolCalls: 0 });
    expect(below?.used).toEqual({ tokens: 107, cost: 0.5, turns: 1, toolCalls: 0 });
    expect(below?.inDoubt).toEqual([{ id: 1, tokens: 100, cost: 0.5, turns: 1, toolCalls: 0 }]);
    expect(again?.inDoubt).toEqual([{ id: 1, tokens: 10, cost: 0, turns: 0, toolCalls: 0 }]);
    expect([again?.open, below?.open]).toEqual([0, 0]);
  });

  test("R18: kept open, a reservation is found again by its id and settled once, in every ancestor", () => {
    const root = new ExecutionTracker({ maxTokens: 1000 }, { scope: "run" });
    const child = root.child({}, "child");
    const { id } = child.reserve({ tokens: 100 });
    const tree = restoreLedgers([json(root), json(child)], { open: "keep" });
    const [again, below] = [tree.get("run"), tree.get("child")];
    expect([again?.open, again?.remaining().tokens]).toEqual([1, 900]);
    below?.reservation(id)?.settle({ tokens: 60 });
    expect([again?.used.tokens, below?.used.tokens, again?.open]).toEqual([60, 60, 0]);
    expect(below?.reservation(id)).toBeUndefined();
    expect(below?.reserve({ tokens: 1 }).id).toBe(id + 1);
  });

  test("R18: of several that were kept open, each is found by its own id", () => {
    const tracker = new ExecutionTracker({ maxTokens: 1000 }, { scope: "run" });
    const ids = [10, 20, 30].map((tokens) => tracker.reserve({ tokens }).id);
    const after = ExecutionTracker.restore(json(tracker), { open: "keep" });
    for (const one of [tracker, after])
      expect(ids.map((id) => one.reservation(id)?.reserved.tokens)).toEqual([10, 20, 30]);
    expect(after.reservation(99)).toBeUndefined();
  });

  test.each([[[2]], [[0]], [[1]], [[2, 1]], [[0, 2]], [[1, 0]], [[0, 1, 2]]])(
    "R18: in whatever order calls end, those that are still open are in the snapshot (ended: %j)",
    (ended) => {
      const ledger = new ExecutionTracker({ maxTokens: 100 }, { scope: "lead", reserve: false });
      const calls = [1, 2, 3].map((tokens) => ledger.reserve({ tokens }));
      for (const n of ended) calls[n]?.cancel();
      calls.push(ledger.reserve({ tokens: 4 }), ledger.reserve({ tokens: 5 }));
      calls[3]?.settle();
      const open = calls.filter(({ isOpen }) => isOpen).map(({ id, reserved }) => ({ id, ...reserved }));
      expect(ExecutionTracker.restore(ledger.snapshot()).inDoubt).toEqual(open);
    },
  );

  test("R18: a fixed reserve comes back, and a child has its parent's clock", () => {
    const clock = { now: () => 5 };
    const root = new ExecutionTracker({ maxTokens: 10 }, { scope: "run", reserve: { tokens: 4 }, clock });
    exhaustion(() => ExecutionTracker.restore(json(root)).reserve({ tokens: 7 }));
    expect(root.child({}, "child").snapshot()).toMatchObject({ at: 5 });
  });

  test("R18: a threshold that only a reservation left open has crossed is still warned of", () => {
    const before = new ExecutionTracker({ maxTokens: 10 }, { scope: "run", reserve: false });
    before.reserve({ tokens: 8 });
    const after = ExecutionTracker.restore(json(before));
    expect(after.charge({ tokens: 1 }).warnings).toMatchObject([{ used: 9, limit: 10 }]);
  });

  test("R18: a limit that there was none of before the restart is warned of", () => {
    const before = new ExecutionTracker({ maxTurns: 10 }, { scope: "run" });
    before.charge({ tokens: 85, turns: 1 });
    const budgets = { run: { maxTokens: 100, maxTurns: 10 } };
    const after = restoreLedgers([json(before)], { budgets, clock: { now: () => 7 } }).get("run");
    expect(after?.charge({ tokens: 1 }).warnings).toMatchObject([
      { dimension: "tokens", used: 86, limit: 100 },
    ]);
    expect(after?.snapshot()).toMatchObject({ at: 7, warned: ["tokens"] });
  });

  test("R18: a run can go on with more money than it began with", () => {
    const before = new ExecutionTracker({ maxTokens: 100 }, { scope: "run" });
    before.charge({ tokens: 100 });
    const after = ExecutionTracker.restore(json(before), { budget: { maxTokens: 300 } });
    expect(after.remaining().tokens).toBe(200);
    expect(
      restoreLedgers([json(before)], { budgets: { run: {} } })
        .get("run")
        ?.remaining().tokens,
    ).toBeNull();
  });

  test("R18: with more money it warns at the new threshold, also where it had warned at the old one", () => {
    const before = new ExecutionTracker({ maxTokens: 100 }, { scope: "run" });
    expect(before.charge({ tokens: 80 }).warnings).toHaveLength(1);
    const after = ExecutionTracker.restore(json(before), { budget: { maxTokens: 200 } });
    expect(after.charge({ tokens: 79 }).warnings).toEqual([]);
    expect(after.charge({ tokens: 1 }).warnings).toMatchObject([{ used: 160, limit: 200 }]);
  });

  test("R18: after its warning and a restart, a limit that is passed by one is reported", () => {
    const before = new ExecutionTracker({ maxTokens: 10 }, { scope: "run" });
    expect(before.charge({ tokens: 8 }).warnings).toHaveLength(1);
    const after = ExecutionTracker.restore(json(before));
    expect(after.charge({ tokens: 2 })).toEqual({ warnings: [], exceeded: [] });
    expect(after.charge({ tokens: 1 })).toMatchObject({ warnings: [], exceeded: [{ used: 11, limit: 10 }] });
  });

  test("R18: reading a journal again, charge counts each effect once and never refuses", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    const recorded = [60, 60];
    for (const tokens of recorded) tracker.charge({ tokens, turns: 1 });
    expect(tracker.used).toMatchObject({ tokens: 120, turns: 2 });
    exhaustion(() => tracker.reserve({ tokens: 1, turns: 1 }));
  });

  test("R18: reservations that nothing is held for are refused: settling them would make money", () => {
    const tracker = new ExecutionTracker({ maxTokens: 100 });
    tracker.reserve({ tokens: 60 });
    const good = tracker.snapshot();
    const none = { tokens: 0, nanos: 0, turns: 0, toolCalls: 0 };
    const one = { ...none, id: 1, tokens: 60 };
    const wrong = (part: object) => complaint(() => ExecutionTracker.restore({ ...good, ...part })).field;
    expect(wrong({ held: none })).toBe("snapshot.held.tokens");
    expect(wrong({ open: 0 })).toBe("snapshot.open");
    expect(wrong({ nextId: 1 })).toBe("snapshot.reservations");
    expect(wrong({ open: 2, held: { ...none, tokens: 120 }, reservations: [one, one] })).toBe(
      "snapshot.reservations",
    );
    expect(ExecutionTracker.restore(good).used.tokens).toBe(60);
  });

  test("R18: money is not guessed at: a broken, foreign or misplaced snapshot is refused", () => {
    const root = new ExecutionTracker({}, { scope: "run" });
    const child = root.child({}, "child");
    const good = root.snapshot();
    for (const bad of [
      null,
      7,
      [],
      {},
      { ...good, v: 2 },
      { ...good, used: { tokens: 1 } },
      { ...good, extra: 1 },
    ]) {
      complaint(() => ExecutionTracker.restore(bad));
    }
    complaint(() =>
      ExecutionTracker.restore({ ...good, used: { tokens: -1, nanos: 0, turns: 0, toolCalls: 0 } }),
    );
    for (const wrong of [
      { scope: 7 },
      { parent: 7 },
      { sameAgent: "no" },
      { budget: null },
      { budget: 7 },
      { warnAt: "0.8" },
      { warned: ["agents"] },
      { reservations: {} },
      { reserve: 7 },
    ]) {
      const [field] = Object.keys(wrong);
      expect(complaint(() => ExecutionTracker.restore({ ...good, ...wrong })).field).toBe(
        `snapshot.${field}`,
      );
    }
    expect(complaint(() => ExecutionTracker.restore(child.snapshot())).expected).toContain(
      "the restored ledger of run",
    );
    expect(complaint(() => ExecutionTracker.restore(good, { parent: root })).expected).toContain(
      "was a root",
    );
    const orphan = complaint(() => restoreLedgers([child.snapshot()]));
    expect([orphan.value, orphan.expected]).toEqual([
      '"run"',
      expect.stringContaining("a snapshot of this scope"),
    ]);
    const misspelt: object = { opened: "keep" };
    complaint(() => restoreLedgers([good], misspelt));
    expect(complaint(() => restoreLedgers([good, good])).expected).toBe("each scope only once");
    expect(complaint(() => restoreLedgers([{ ...child.snapshot(), parent: "child" }])).expected).toContain(
      "not its own ancestor",
    );
  });
});
