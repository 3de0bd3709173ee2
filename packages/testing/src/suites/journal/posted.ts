import { expect } from "vitest";
import { attempt, expectRefused, fieldsIn } from "../case.ts";
import { claimed, INVALID, type JournalCase, R1, R2, signal } from "./stage.ts";

export const postedCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "items need no claim, keep their order, and are read after any of them",
    async run({ journal }) {
      await journal.post(R1, signal("early"));
      await claimed(journal, R1, "one");
      const items = [
        signal("m", { kind: "message", name: "user", value: "hello", at: 2 }),
        signal("d", { kind: "decision", name: "run-1:tool:1:0", value: "retry", at: 3 }),
        signal("c", { kind: "cancel", name: "", value: null, at: 4 }),
      ];
      for (const item of items) await journal.post(R1, item);
      const all = await journal.items(R1, 0);
      expect(all).toEqual([signal("early"), ...items].map((item, index) => ({ seq: index + 1, ...item })));
      expect(await journal.items(R1, 2)).toEqual(all.slice(2));
      expect(await journal.items(R1, all.length)).toEqual([]);
      expect(await journal.items(R2, 0)).toEqual([]);
    },
  },
  {
    rule: "R24",
    says: "a second item of the same id is dropped, in its own run only",
    async run({ journal }) {
      await journal.post(R1, signal("a", { value: 1 }));
      await journal.post(R1, signal("a", { value: 2 }));
      await journal.post(R2, signal("a", { value: 3 }));
      await Promise.all([1, 2, 3].map((n) => attempt(() => journal.post(R1, signal("b", { value: n })))));
      const read = async (run: typeof R1): Promise<unknown[]> =>
        (await journal.items(run, 0)).map(({ seq, id, value }) => [seq, id, value]);
      expect(await read(R1)).toEqual([
        [1, "a", 1],
        [2, "b", 1],
      ]);
      expect(await read(R2)).toEqual([[1, "a", 3]]);
    },
  },
  {
    rule: "R24",
    says: "what is no item is refused",
    async run({ journal }) {
      const wrong: readonly object[] = [
        { id: "" },
        { kind: "wish" },
        { name: 1 },
        { at: Infinity },
        { value: undefined },
      ];
      for (const fields of wrong) {
        const post = () => journal.post(R1, signal("a", fields));
        await expectRefused(INVALID, post, `post: an item with ${fieldsIn(fields)}`);
      }
      await expectRefused(INVALID, () => journal.items(R1, -1), "items: after -1");
      expect(await journal.items(R1, 0)).toEqual([]);
    },
  },
  {
    rule: "R24",
    says: "an item that another process posted is seen, and deduped with our own",
    needs: "second",
    async run({ journal, second }) {
      const other = await second();
      await claimed(journal, R1);
      await other.post(R1, signal("a", { value: "theirs" }));
      await journal.post(R1, signal("a", { value: "ours" }));
      await journal.post(R1, signal("b", { value: "ours" }));
      expect((await journal.items(R1, 0)).map(({ value }) => value)).toEqual(["theirs", "ours"]);
      expect(await other.items(R1, 1)).toEqual(await journal.items(R1, 1));
    },
  },
  {
    rule: "R24",
    says: "items that several processes post at one moment are numbered without a gap, each id once",
    needs: "second",
    async run({ journal, second }) {
      const other = await second();
      const ids = Array.from({ length: 20 }, (_, n) => `s${n}`);
      const posts = ids.flatMap((id, n) =>
        (n % 2 === 0 ? [journal, other] : [other, journal]).map((one) =>
          attempt(() => one.post(R1, signal(id))),
        ),
      );
      await Promise.all(posts);
      const items = await journal.items(R1, 0);
      expect(items.map(({ seq }) => seq)).toEqual(ids.map((_, n) => n + 1));
      expect(new Set(items.map(({ id }) => id))).toEqual(new Set(ids));
      expect(await other.items(R1, 0)).toEqual(items);
    },
  },
];
