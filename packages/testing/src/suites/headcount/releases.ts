import { Priority } from "@ravi/kernel";
import { expect } from "vitest";
import {
  A,
  B,
  C,
  D,
  E,
  expectFull,
  expectOneFree,
  type HeadcountCase,
  hire,
  NOBODY,
  pausedOf,
  queue,
} from "./stage.ts";

const { BACKGROUND, LOW, NORMAL, HIGH, CRITICAL } = Priority;

export const releaseCases: readonly HeadcountCase[] = [
  {
    rule: "R15",
    says: "a slot is freed by its lease, by its id, and at the end of a scope",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await headcount.release(await hire(headcount, A));
      await hire(headcount, B);
      await headcount.release(B);
      // A lease returns nothing that could be awaited, so what it frees may come a little later.
      (await hire(headcount, C)).release();
      (await soon("D gets the slot of C's lease", queue(headcount, D).lease))[Symbol.dispose]();
      await headcount.release(await soon("E gets the slot of D's lease", queue(headcount, E).lease));
      await expectOneFree(headcount);
      expect(headcount.priorityOf?.(A)).toBeUndefined();
    },
  },
  {
    rule: "R15",
    says: "a release that is repeated, or of somebody who is not there, does nothing",
    async run({ open }) {
      const headcount = await open({ maxAgents: 3 });
      const first = await hire(headcount, A);
      await hire(headcount, B);
      await headcount.release(first);
      await headcount.release(first);
      first.release();
      await headcount.release(A);
      await headcount.release(NOBODY);
      await expectOneFree(headcount);
    },
  },
  {
    rule: "R14",
    says: "an old lease does not free the slot of a later agent with the same id",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2 });
      const first = await hire(headcount, A);
      await headcount.release(first);
      await hire(headcount, A);
      first.release();
      first[Symbol.dispose]();
      await headcount.release(first);
      await expectFull(headcount);
    },
  },
  {
    rule: "R14",
    says: "the release of somebody who lost its slot frees nothing, and it does not come back",
    async run({ open }) {
      const headcount = await open({ maxAgents: 2 });
      const victim = await hire(headcount, A, LOW);
      const urgent = await hire(headcount, B, HIGH);
      await headcount.release(victim);
      victim.release();
      await expectFull(headcount);
      expect(await pausedOf(headcount)).toEqual([]);
      await headcount.release(urgent);
      await expectOneFree(headcount);
    },
  },
  {
    rule: "R15",
    says: "a freed slot goes back to the best of the paused: highest priority, then longest paused",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 4 });
      await hire(headcount, A, LOW);
      await hire(headcount, B, NORMAL);
      await hire(headcount, C, NORMAL);
      const urgent = [];
      for (const id of [D, E, NOBODY]) urgent.push(await hire(headcount, id, HIGH));
      expect(await pausedOf(headcount)).toEqual([A, B, C]);
      for (const resumed of [C, B, A]) {
        const back = headcount.whenResumed(resumed);
        const lease = urgent.shift();
        if (lease !== undefined) await headcount.release(lease);
        await soon(`${resumed} is resumed`, back);
        expect(await headcount.isPaused(resumed)).toBe(false);
      }
      expect(await pausedOf(headcount)).toEqual([]);
    },
  },
  {
    rule: "R15",
    says: "whenResumed waits for all who ask, and for nobody who is not paused",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A);
      await soon("whenResumed of a holder", headcount.whenResumed(A));
      await soon("whenResumed of nobody", headcount.whenResumed(NOBODY));
      const urgent = await hire(headcount, B, HIGH);
      let told = 0;
      const both = [1, 2].map(() => headcount.whenResumed(A).then(() => told++));
      expect(await headcount.isPaused(A)).toBe(true);
      expect(told).toBe(0);
      await headcount.release(urgent);
      await soon("both are told", Promise.all(both));
      expect(await headcount.isPaused(A)).toBe(false);
    },
  },
  {
    rule: "R15",
    says: "whenResumed rejects when its signal aborts, and the agent stays paused",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A);
      const urgent = await hire(headcount, B, HIGH);
      const before = headcount.whenResumed(A, AbortSignal.abort());
      await expect(soon("whenResumed rejects", before)).rejects.toMatchObject({ code: "CANCELLED" });
      const abort = new AbortController();
      const waiting = headcount.whenResumed(A, abort.signal);
      waiting.catch(() => undefined);
      expect(await headcount.isPaused(A)).toBe(true);
      abort.abort();
      await expect(soon("whenResumed rejects", waiting)).rejects.toMatchObject({ code: "CANCELLED" });
      expect(await headcount.isPaused(A)).toBe(true);
      const back = headcount.whenResumed(A);
      await headcount.release(urgent);
      await soon("A is resumed", back);
    },
  },
  {
    rule: "R15",
    says: "a change of priority counts for who loses a slot, and for nobody who is not there",
    async run({ open }) {
      const headcount = await open({ maxAgents: 3 });
      await hire(headcount, A, NORMAL);
      await hire(headcount, B, NORMAL);
      await headcount.reprioritize(A, LOW);
      await headcount.reprioritize(NOBODY, CRITICAL);
      if (headcount.priorityOf !== undefined)
        expect([headcount.priorityOf(A), headcount.priorityOf(NOBODY)]).toEqual([LOW, undefined]);
      expect(await pausedOf(headcount)).toEqual([]);
      await hire(headcount, C, HIGH);
      expect(await pausedOf(headcount)).toEqual([A]);
    },
  },
  {
    rule: "R15",
    says: "demoted below NORMAL while a better one waits, an agent loses its slot to it",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A);
      await hire(headcount, B, HIGH);
      await headcount.reprioritize(B, NORMAL);
      expect(await pausedOf(headcount)).toEqual([A]);
      const back = headcount.whenResumed(A);
      await headcount.reprioritize(B, BACKGROUND);
      await soon("A is resumed", back);
      expect(await pausedOf(headcount)).toEqual([B]);
      await expectFull(headcount);
    },
  },
  {
    rule: "R15",
    says: "promoted, a paused agent takes a slot if it now may, and else is the first to get one",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 3 });
      await hire(headcount, A);
      await hire(headcount, B);
      await hire(headcount, C, HIGH);
      expect(await pausedOf(headcount)).toEqual([B]);
      const back = headcount.whenResumed(B);
      await headcount.reprioritize(B, HIGH);
      await soon("B is resumed", back);
      expect(await pausedOf(headcount)).toEqual([A]);
      await expectFull(headcount);
      const urgent = await hire(headcount, D, CRITICAL);
      expect(await pausedOf(headcount)).toEqual([A, C]);
      await headcount.reprioritize(A, CRITICAL);
      expect(await pausedOf(headcount)).toEqual([B, C]);
      const first = headcount.whenResumed(C);
      await headcount.release(urgent);
      await soon("C is resumed", first);
      expect(await pausedOf(headcount)).toEqual([B]);
    },
  },
];
