import { Priority } from "@ravi/kernel";
import { expect } from "vitest";
import { expectRefused } from "../case.ts";
import {
  A,
  B,
  C,
  D,
  E,
  expectFull,
  expectOneFree,
  FULL,
  type HeadcountCase,
  hire,
  pausedOf,
  queue,
  ROOT,
} from "./stage.ts";

const { BACKGROUND, LOW, NORMAL, HIGH } = Priority;

export const queueCases: readonly HeadcountCase[] = [
  {
    rule: "R14",
    says: "a queued hire is granted at once where there is room, or somebody whose slot it may take",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 3 });
      await soon("A is granted", queue(headcount, A, LOW).lease);
      expect((await soon("B is granted", queue(headcount, B, LOW).lease)).agentId).toBe(B);
      await soon("C is granted", queue(headcount, C, HIGH).lease);
      expect(await pausedOf(headcount)).toEqual([B]);
    },
  },
  {
    rule: "R14",
    says: "a queued hire waits without a slot, is not paused, and gets the next one that is freed",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      const first = await hire(headcount, A);
      const waiting = queue(headcount, B);
      await expectFull(headcount);
      expect([waiting.state(), await headcount.isPaused(B)]).toEqual(["waits", false]);
      await headcount.release(first);
      expect((await soon("B is granted", waiting.lease)).agentId).toBe(B);
      await expectFull(headcount);
      (await waiting.lease).release();
      await headcount.release(await soon("C gets the slot of B's lease", queue(headcount, C).lease));
      await expectOneFree(headcount);
    },
  },
  {
    rule: "R14",
    says: "those that are queued and those that are paused wait in one queue: highest priority, then oldest",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A);
      const low = queue(headcount, B, LOW);
      const early = queue(headcount, C);
      await expectFull(headcount);
      const urgent = await hire(headcount, D, HIGH);
      const late = queue(headcount, E);
      await expectFull(headcount);
      expect(await pausedOf(headcount)).toEqual([A]);
      await headcount.release(urgent);
      await soon("C is granted", early.lease);
      expect([low.state(), late.state(), await headcount.isPaused(A)]).toEqual(["waits", "waits", true]);
      const back = headcount.whenResumed(A);
      await headcount.release(C);
      await soon("A is resumed", back);
      expect([low.state(), late.state()]).toEqual(["waits", "waits"]);
      await headcount.release(A);
      await soon("E is granted", late.lease);
      expect(low.state()).toBe("waits");
      await headcount.release(E);
      await soon("B is granted", low.lease);
    },
  },
  {
    rule: "R14",
    says: "a queued hire that is aborted rejects and leaves nothing behind",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2, maxTotal: 3 });
      const first = await hire(headcount, A);
      const abort = new AbortController();
      const waiting = queue(headcount, B, NORMAL, { signal: abort.signal });
      await expectFullOrTotal(headcount);
      abort.abort();
      await expect(soon("B is rejected", waiting.lease)).rejects.toMatchObject({ code: "CANCELLED" });
      const before = queue(headcount, C, NORMAL, { signal: AbortSignal.abort() });
      await expect(soon("C is rejected", before.lease)).rejects.toMatchObject({ code: "CANCELLED" });
      await headcount.release(first);
      expect((await hire(headcount, B)).agentId).toBe(B);
    },
  },
  {
    rule: "R14",
    says: "an abort after the grant changes nothing",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      const first = await hire(headcount, A);
      const abort = new AbortController();
      const waiting = queue(headcount, B, NORMAL, { signal: abort.signal });
      await expectFull(headcount);
      await headcount.release(first);
      await soon("B is granted", waiting.lease);
      abort.abort();
      await expectFull(headcount);
    },
  },
  {
    rule: "R14",
    says: "released by its id, a queued hire rejects and its place is free for the next",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      const first = await hire(headcount, A);
      const waiting = queue(headcount, B);
      const next = queue(headcount, C);
      await expectFull(headcount);
      await headcount.release(B);
      await expect(soon("B is rejected", waiting.lease)).rejects.toThrow(Error);
      await expectFull(headcount);
      await headcount.release(first);
      await soon("C is granted", next.lease);
      await expectFull(headcount);
    },
  },
  {
    rule: "R14",
    says: "a queued hire is refused at once if everybody with a slot would wait for it",
    async run({ open, soon }) {
      const alone = await open({ maxAgents: 1 });
      await expect(soon("it is refused", queue(alone, A).lease)).rejects.toMatchObject(FULL);
      const two = await open({ maxAgents: 2 });
      await hire(two, A);
      const deep = queue(two, B, NORMAL, { parentId: A });
      await expect(soon("it is refused", deep.lease)).rejects.toMatchObject(FULL);
      // For the root's own child there is hope: A awaits nobody.
      const waiting = queue(two, C, NORMAL, { parentId: ROOT });
      await expectFull(two);
      await two.release(A);
      await soon("C is granted", waiting.lease);
    },
  },
  {
    rule: "R14",
    says: "the last slot goes to nobody who would only wait for another that waits, so a tree never gets stuck",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 3 });
      await hire(headcount, A, LOW);
      await hire(headcount, B);
      const below = queue(headcount, C, BACKGROUND, { parentId: A });
      await expectFull(headcount);
      await hire(headcount, D, HIGH);
      const beside = queue(headcount, E, BACKGROUND, { parentId: D });
      await expectFull(headcount);
      expect(await pausedOf(headcount)).toEqual([A]);
      // The root and D await E, and A has the highest priority of those who wait, but would await C.
      await headcount.release(B);
      await soon("C or E is granted", Promise.race([below.lease, beside.lease]));
      expect(await pausedOf(headcount)).toEqual([A]);
      const back = headcount.whenResumed(A);
      for (const id of [C, E]) await headcount.release(id);
      await soon("A is resumed", back);
    },
  },
  {
    rule: "R15",
    says: "a queued hire that is promoted takes a slot if it now may",
    async run({ open, soon }) {
      const headcount = await open({ maxAgents: 2 });
      await hire(headcount, A);
      const waiting = queue(headcount, B);
      await expectFull(headcount);
      await headcount.reprioritize(B, HIGH);
      await soon("B is granted", waiting.lease);
      expect(await pausedOf(headcount)).toEqual([A]);
    },
  },
];

/** While one is queued, either limit may be the one that is named. */
async function expectFullOrTotal(headcount: Parameters<typeof hire>[0]): Promise<void> {
  await expectRefused({ code: "BUDGET_EXHAUSTED" }, () => hire(headcount, D));
}
