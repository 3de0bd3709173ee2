import { AgentId, Priority } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, throughJson } from "../case.ts";
import { A, B, C, D, expectFull, FULL, type HeadcountCase, hire, pausedOf, queue } from "./stage.ts";

const { LOW, NORMAL, HIGH } = Priority;

export const snapshotCases: readonly HeadcountCase[] = [
  {
    rule: "R14",
    says: "a snapshot is plain JSON, and stays as it was when the headcount goes on",
    async run({ open }) {
      const headcount = await open({ maxAgents: 3 });
      await hire(headcount, A, LOW);
      await hire(headcount, B);
      await hire(headcount, C, HIGH);
      const taken = headcount.snapshot();
      const text = JSON.stringify(taken);
      expect(throughJson(taken)).toEqual(taken);
      await headcount.release(B);
      await headcount.release(A);
      await headcount.reprioritize(C, LOW);
      expect(JSON.stringify(taken)).toBe(text);
    },
  },
  {
    rule: "R14",
    says: "restored from its snapshot, who held a slot holds it, and who was paused or queued waits in its place",
    needs: "restore",
    async run({ open, restore, soon }) {
      const headcount = await open({ maxAgents: 3 });
      await hire(headcount, A, LOW);
      await hire(headcount, B);
      await hire(headcount, C, HIGH);
      queue(headcount, D, NORMAL).lease.catch(() => undefined);
      await expectFull(headcount);
      const again = await restore(headcount);
      await expectFull(again);
      expect(await pausedOf(again)).toEqual([A]);
      const asked = queue(again, D);
      const back = again.whenResumed(A);
      await expectFull(again);
      await again.release(B);
      await soon("D is granted", asked.lease);
      expect(await pausedOf(again)).toEqual([A]);
      await again.release(C);
      await soon("A is resumed", back);
      await expectFull(again);
    },
  },
  {
    rule: "T3",
    says: "the slots are one pool for all handles, and each sees who is paused and tells who is resumed",
    needs: "second",
    async run({ open, second, soon }) {
      const one = await open({ maxAgents: 3 });
      const two = await second(one);
      await hire(one, A, LOW);
      const lease = await hire(two, B);
      await expectFull(one);
      await expectFull(two);
      await hire(two, C, HIGH);
      expect(await pausedOf(one)).toEqual([A]);
      const back = one.whenResumed(A);
      await two.release(lease);
      await soon("A is resumed", back);
      const waiting = queue(one, D);
      await expectFull(two);
      await two.release(C);
      await soon("D is granted", waiting.lease);
    },
  },
  {
    rule: "T3",
    says: "of many that ask at one moment through several handles, only as many are granted as there are slots",
    needs: "second",
    async run({ open, second }) {
      const one = await open({ maxAgents: 5 });
      const handles = [one, await second(one)] as const;
      const asked = Array.from({ length: 30 }, (_, n) =>
        attempt(() => hire(handles[n % 2 === 0 ? 0 : 1], AgentId("many", n))),
      );
      const settled = await Promise.allSettled(asked);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
      for (const each of settled) if (each.status === "rejected") expect(each.reason).toMatchObject(FULL);
    },
  },
];
