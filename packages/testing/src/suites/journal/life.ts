import { type Journal, RunId, type RunSummary } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, expectRefused } from "../case.ts";
import { HOSTILE_IDS } from "./hostile-ids.ts";
import {
  claimed,
  entry,
  INVALID,
  type JournalCase,
  keysOf,
  lengthOf,
  LOCKED,
  note,
  R1,
  R2,
  signal,
} from "./stage.ts";

/** `summary` is optional. It says the same as `list`. */
async function summary(journal: Journal, run: RunId): Promise<RunSummary | undefined> {
  const listed = (await journal.list()).find(({ runId }) => runId === run);
  if (journal.summary !== undefined) expect(await journal.summary(run)).toEqual(listed);
  return listed;
}

export const lifeCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "list says who runs, since when and how it stands, from the root's notes",
    async run({ journal, clock }) {
      const began = clock.now();
      const epoch = await claimed(journal, R1);
      expect(await journal.list()).toEqual([
        { runId: R1, agent: "", status: "pending", startedAt: began, updatedAt: began, entries: 0 },
      ]);
      await journal.append(R1, epoch, [note(R1, "run:start", 50, { agent: "lead@2", input: "go" })]);
      expect(await summary(journal, R1)).toMatchObject({ agent: "lead@2", status: "running", startedAt: 50 });
      const child = { ...note(R1, "run:status", 60, { status: "failed" }), exec: "run-1/hire:a#1" };
      await journal.append(R1, epoch, [child as never, note(R1, "other:status", 70, { status: "failed" })]);
      expect(await summary(journal, R1)).toMatchObject({ status: "running", updatedAt: 70, entries: 3 });
      const appended = journal.append(R1, epoch, [
        note(R1, "run:status", 80, { status: "suspended" }),
        note(R1, "run:status#2", 90, { status: "completed" }),
        note(R1, "run:status#3", 95, { status: "nonsense" }),
      ]);
      // Like `load`, it has what was appended before, also if nobody has waited for that.
      if (journal.summary !== undefined)
        expect(await journal.summary(R1)).toMatchObject({ status: "completed", entries: 6 });
      await appended;
      const ended = { agent: "lead@2", status: "completed", startedAt: 50, updatedAt: 95, entries: 6 };
      expect(await summary(journal, R1)).toEqual({ runId: R1, ...ended });
      await journal.release(R1, epoch);
      expect(await summary(journal, R1)).toEqual({ runId: R1, ...ended });
    },
  },
  {
    rule: "R24",
    needs: "scopes",
    says: "list says whose a run is: its conversation, its customer and its user, as its start has them",
    async run({ journal }) {
      const whose = { sessionId: "chat-1", tenantId: "acme", userId: "ü" };
      const { sessionId, ...named } = whose;
      const epoch = await claimed(journal, R1);
      const start = { agent: "lead@1", ...named, supervision: { sessionId } };
      await journal.append(R1, epoch, [note(R1, "run:start", 50, start)]);
      expect(await summary(journal, R1)).toMatchObject(whose);
      await journal.append(R1, epoch, [note(R1, "run:status", 60, { status: "completed" })]);
      expect(await summary(journal, R1)).toMatchObject({ ...whose, status: "completed" });
      const second = await claimed(journal, R2);
      const less = { agent: "lead@1", tenantId: null, userId: 7, supervision: { sessionId } };
      await journal.append(R2, second, [
        note(R2, "run:start", 70, less),
        note(R2, "run:status", 80, { status: "failed" }),
      ]);
      const listed = await summary(journal, R2);
      expect([listed?.sessionId, listed?.tenantId, listed?.userId]).toEqual([
        sessionId,
        undefined,
        undefined,
      ]);
      await journal.delete(R2);
      await journal.append(R2, await claimed(journal, R2), [note(R2, "run:start", 90, { agent: "lead@1" })]);
      expect((await summary(journal, R2))?.sessionId).toBeUndefined();
    },
  },
  {
    rule: "R24",
    says: "delete removes a run's entries and items, and nobody else's",
    async run({ journal }) {
      for (const run of [R1, R2]) {
        const epoch = await claimed(journal, run);
        const large = entry(run, "large", { body: { text: "x".repeat(300_000) } });
        await journal.append(run, epoch, [entry(run, "a"), large]);
        await journal.append(run, epoch, [entry(run, "b")]);
        await journal.post(run, signal("s"));
      }
      await journal.delete(R1);
      await journal.delete(RunId("never-was"));
      expect(await journal.load(R1)).toEqual([]);
      expect(await journal.items(R1, 0)).toEqual([]);
      expect((await journal.list()).map(({ runId }) => runId)).toEqual([R2]);
      expect(await keysOf(journal, R2)).toEqual(["a", "large", "b"]);
      expect(lengthOf((await journal.load(R2))[1]?.body["text"])).toBe(300_000);
      expect(await journal.items(R2, 0)).toHaveLength(1);
      const epoch = await claimed(journal, R1);
      await journal.append(R1, epoch, [entry(R1, "a")]);
      expect(await keysOf(journal, R1)).toEqual(["a"]);
    },
  },
  {
    rule: "T12",
    says: "hostile ids are refused, or kept apart like any other",
    async run({ journal }) {
      const taken: RunId[] = [];
      for (const text of HOSTILE_IDS) {
        const run = text as RunId;
        let epoch: number;
        try {
          epoch = await claimed(journal, run, "one");
        } catch (error) {
          expect(error).toMatchObject(INVALID);
          await expectRefused(INVALID, () => journal.post(run, signal("s")));
          continue;
        }
        taken.push(run);
        await journal.append(run, epoch, [entry(R1, "k", { body: { text } })]);
        await journal.post(run, signal("s", { value: text }));
      }
      expect(taken.length).toBeGreaterThanOrEqual(60);
      for (const run of taken) {
        expect((await journal.load(run)).map(({ body }) => body)).toEqual([{ text: run }]);
        expect((await journal.items(run, 0)).map(({ value }) => value)).toEqual([run]);
      }
      const listed = (await journal.list()).map(({ runId }) => runId);
      expect(listed.toSorted()).toEqual(taken.toSorted());
    },
  },
  {
    rule: "T5",
    says: "all that was acknowledged is there after reopening, and writing goes on behind it",
    needs: "reopen",
    async run({ journal, reopen, clock }) {
      const epoch = await claimed(journal, R1, "one");
      const large = { text: "x".repeat(300_000) };
      await journal.append(R1, epoch, [note(R1, "run:start", 5, { agent: "lead" }), entry(R1, "a")]);
      await journal.append(R1, epoch, [entry(R1, "b", { body: large })]);
      const waits = ["approval", "b"].map((name) => ({ kind: "signal", name, execId: R1 }));
      const body = { waits, keys: ["wait#1", "wait#2"], over: [], heard: 0 };
      await journal.append(R1, epoch, [note(R1, "run:waits", 6, body)]);
      await journal.post(R1, signal("s"));
      await journal.delete(R2);
      const before = [await journal.load(R1), await journal.items(R1, 0), await journal.list()];
      const again = await reopen(journal);
      expect([await again.load(R1), await again.items(R1, 0), await again.list()]).toEqual(before);
      expect(await again.claim(R1, "two", 1_000)).toBeNull();
      await again.append(R1, epoch, [entry(R1, "c")]);
      await expectRefused(INVALID, () => again.append(R1, epoch, [entry(R1, "a")]));
      await clock.advance(30_000);
      const next = await claimed(again, R1, "two");
      expect(next).toBeGreaterThan(epoch);
      await again.append(R1, next, [entry(R1, "d")]);
      await again.post(R1, signal("s"));
      await again.post(R1, signal("t"));
      const last = await reopen(again);
      expect(await keysOf(last, R1)).toEqual(["run:start", "a", "b", "run:waits", "c", "d"]);
      expect((await last.items(R1, 0)).map(({ seq, id }) => [seq, id])).toEqual([
        [1, "s"],
        [2, "t"],
      ]);
    },
  },
  {
    rule: "T5",
    says: "a second handle lists what this one writes; what it deletes is gone here too, and its writer is refused",
    needs: "second",
    async run({ journal, second }) {
      const other = await second();
      expect(await other.list()).toEqual([]);
      const epoch = await claimed(journal, R1);
      await journal.append(R1, epoch, [note(R1, "run:start", 5, { agent: "lead" })]);
      expect(await summary(other, R1)).toMatchObject({ status: "running", entries: 1 });
      const waits = [{ kind: "signal", name: "approval", execId: R1 }];
      const body = { waits, keys: ["wait#1"], over: [], heard: 0 };
      await journal.append(R1, epoch, [note(R1, "run:waits", 5, body)]);
      expect(await other.list()).toEqual(await journal.list());
      await other.post(R1, signal("s"));
      expect(await other.list()).toEqual(await journal.list());
      await journal.append(R1, epoch, [note(R1, "run:status", 6, { status: "completed" })]);
      expect(await other.list()).toEqual(await journal.list());
      expect(await summary(other, R1)).toMatchObject({ status: "completed", entries: 3 });
      await other.delete(R1);
      expect([await journal.list(), await journal.load(R1)]).toEqual([[], []]);
      await expectRefused(LOCKED, () => journal.append(R1, epoch, [entry(R1, "a")]));
    },
  },
  {
    rule: "T5",
    says: "after reopening, a released run is free, and one made anew refuses the writer of a deleted one",
    needs: "reopen",
    async run({ journal, reopen }) {
      await journal.release(R2, await claimed(journal, R2, "one"));
      const old = await claimed(journal, R1, "one");
      await journal.append(R1, old, [entry(R1, "a")]);
      await journal.delete(R1);
      const again = await reopen(journal);
      expect(await again.claim(R2, "two", 1_000)).not.toBeNull();
      const epoch = await claimed(again, R1, "two");
      await expectRefused(LOCKED, () => again.append(R1, old, [entry(R1, "b")]));
      await again.append(R1, epoch, [entry(R1, "c")]);
      expect(await keysOf(again, R1)).toEqual(["c"]);
    },
  },
  {
    rule: "R24",
    says: "closing twice is closing once",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const appended = attempt(() => journal.append(R1, epoch, [entry(R1, "a")]));
      await journal.close();
      await journal.close();
      expect(await appended).toBeUndefined();
    },
  },
];
