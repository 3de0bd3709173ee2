import { AgentId, Priority } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, expectRefused } from "../case.ts";
import {
  A,
  B,
  C,
  D,
  DENIED,
  E,
  expectFull,
  FULL,
  type HeadcountCase,
  hire,
  pausedOf,
  ROOT,
} from "./stage.ts";

const { BACKGROUND, LOW, NORMAL, HIGH, CRITICAL } = Priority;

export const hireCases: readonly HeadcountCase[] = [
  {
    rule: "R14",
    says: "the root holds a slot from the start",
    async run({ open }) {
      const alone = await open({ maxAgents: 1 });
      await expectRefused({ ...FULL, limit: 1 }, () => hire(alone, A, CRITICAL));
      const two = await open({ maxAgents: 2 });
      expect((await hire(two, A)).agentId).toBe(A);
      await expectFull(two);
      expect(await pausedOf(two)).toEqual([]);
      if (two.priorityOf !== undefined)
        expect([two.priorityOf(ROOT), two.priorityOf(A), two.priorityOf(B)]).toEqual([
          expect.any(Number),
          NORMAL,
          undefined,
        ]);
    },
  },
  {
    rule: "R14",
    says: "where there is room, anyone is granted, and without a priority it is NORMAL",
    async run({ open }) {
      const headcount = await open({ maxAgents: 7 });
      for (const [id, priority] of [
        [A, BACKGROUND],
        [B, LOW],
        [C, NORMAL],
        [D, HIGH],
        [E, CRITICAL],
      ] as const)
        expect((await hire(headcount, id, priority)).agentId).toBe(id);
      const plain = AgentId("plain");
      await headcount.acquire(plain);
      await expectFull(headcount);
      expect(await pausedOf(headcount)).toEqual([]);
      // Both are above BACKGROUND and LOW and not above NORMAL.
      for (const [n, victim] of [A, B].entries()) {
        await hire(headcount, AgentId("urgent", n), HIGH);
        expect(await headcount.isPaused(victim)).toBe(true);
      }
      await hire(headcount, AgentId("urgent", 2), HIGH);
      expect(await headcount.isPaused(plain)).toBe(true);
    },
  },
  {
    rule: "R14",
    says: "when it is full, NORMAL and below are denied, and nobody is paused",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A, BACKGROUND);
      for (const priority of [BACKGROUND, LOW, NORMAL])
        await expectRefused(FULL, () => hire(headcount, B, priority));
      expect(await pausedOf(headcount)).toEqual([]);
    },
  },
  {
    rule: "R14",
    says: "when it is full, HIGH and CRITICAL take the slot of the lowest, and the count stays",
    async run({ open }) {
      for (const priority of [HIGH, CRITICAL]) {
        const headcount = await open({ maxAgents: 4 });
        await hire(headcount, A, NORMAL);
        await hire(headcount, B, LOW);
        await hire(headcount, C, NORMAL);
        await hire(headcount, D, priority);
        expect(await pausedOf(headcount)).toEqual([B]);
        await expectFull(headcount);
      }
    },
  },
  {
    rule: "R14",
    says: "a slot is taken only from somebody strictly lower",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A, HIGH);
      await expectRefused(FULL, () => hire(headcount, B, HIGH));
      await hire(headcount, B, CRITICAL);
      expect(await pausedOf(headcount)).toEqual([A]);
      await expectRefused(FULL, () => hire(headcount, C, CRITICAL));
      expect(await pausedOf(headcount)).toEqual([A]);
    },
  },
  {
    rule: "R14",
    says: "without preemption everybody is denied when it is full",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2, allowPreempt: false });
      await hire(headcount, A, BACKGROUND);
      await expectRefused(FULL, () => hire(headcount, B, CRITICAL));
      expect(await pausedOf(headcount)).toEqual([]);
    },
  },
  {
    rule: "R14",
    says: "among equals the newest loses its slot",
    async run({ open }) {
      const headcount = await open({ maxAgents: 4 });
      for (const id of [A, B, C]) await hire(headcount, id);
      await hire(headcount, D, HIGH);
      expect(await pausedOf(headcount)).toEqual([C]);
      await hire(headcount, E, HIGH);
      expect(await pausedOf(headcount)).toEqual([B, C]);
    },
  },
  {
    rule: "R14",
    says: "neither the root nor anybody above the asker loses its slot to it",
    async run({ open }) {
      const headcount = await open({ maxAgents: 4 });
      await headcount.reprioritize(ROOT, BACKGROUND);
      await hire(headcount, A, BACKGROUND);
      await hire(headcount, B, BACKGROUND, A);
      await hire(headcount, C, NORMAL);
      await hire(headcount, D, CRITICAL, B);
      expect(await pausedOf(headcount)).toEqual([C]);
      await expectRefused(FULL, () => hire(headcount, E, CRITICAL, D));
      expect(await pausedOf(headcount)).toEqual([C]);
    },
  },
  {
    rule: "R14",
    says: "who lost its slot cannot lose it again: a cap of two never admits seven",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A, LOW);
      await hire(headcount, B, HIGH);
      for (let n = 0; n < 5; n++) await expectRefused(FULL, () => hire(headcount, AgentId("late", n), HIGH));
      expect(await pausedOf(headcount)).toEqual([A]);
    },
  },
  {
    rule: "R14",
    says: "a denied hire leaves nothing behind",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2, maxTotal: 3 });
      const first = await hire(headcount, A);
      for (let n = 0; n < 5; n++) await expectRefused(FULL, () => hire(headcount, B));
      expect(await headcount.isPaused(B)).toBe(false);
      expect(headcount.priorityOf?.(B)).toBeUndefined();
      await headcount.release(first);
      expect((await hire(headcount, B)).agentId).toBe(B);
    },
  },
  {
    rule: "R14",
    says: "of many that ask at one moment, only as many are granted as there are slots",
    async run({ open }) {
      const headcount = await open({ maxAgents: 5 });
      const asked = Array.from({ length: 30 }, (_, n) => attempt(() => hire(headcount, AgentId("many", n))));
      const settled = await Promise.allSettled(asked);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
      for (const one of settled) if (one.status === "rejected") expect(one.reason).toMatchObject(FULL);
    },
  },
  {
    rule: "R14",
    says: "the same id is not hired twice at a time, and the first hire stays as it is",
    async run({ open }) {
      const headcount = await open({ maxAgents: 3 });
      const first = await hire(headcount, A, LOW);
      await expect(attempt(() => hire(headcount, A))).rejects.toThrow(Error);
      await hire(headcount, B);
      await hire(headcount, C, HIGH);
      expect(await pausedOf(headcount)).toEqual([A]);
      await expect(attempt(() => hire(headcount, A, CRITICAL))).rejects.toThrow(Error);
      expect(await pausedOf(headcount)).toEqual([A]);
      await headcount.release(first);
      expect(await pausedOf(headcount)).toEqual([]);
      await headcount.release(B);
      await hire(headcount, A);
    },
  },
  {
    rule: "R14",
    says: "maxTotal counts every hire of the run, with the root and those that have ended",
    async run({ open }) {
      const headcount = await open({ maxAgents: 5, maxTotal: 3 });
      await headcount.release(await hire(headcount, A));
      await headcount.release(await hire(headcount, B));
      await expectRefused({ ...DENIED, dimension: "totalAgents", limit: 3 }, () => hire(headcount, C));
    },
  },
  {
    rule: "R14",
    says: "maxDepth counts the levels below the root",
    async run({ open }) {
      const headcount = await open({ maxAgents: 9, maxDepth: 2 });
      await hire(headcount, A);
      await hire(headcount, B, NORMAL, A);
      await expectRefused({ ...DENIED, dimension: "depth", limit: 2 }, () => hire(headcount, C, CRITICAL, B));
      await hire(headcount, C, NORMAL, A);
    },
  },
];
