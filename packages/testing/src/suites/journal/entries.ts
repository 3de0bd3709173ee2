import { ExecId, RunId } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, expectRefused, fieldsIn } from "../case.ts";
import { claimed, entry, INVALID, type JournalCase, keysOf, LOCKED, R1, R2, signal } from "./stage.ts";

export const entryCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "entries come back whole, in the order appended, numbered from 1 without a gap",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const first = entry(R1, "llm:gpt#1", { body: { hash: "h", reserved: { usd: 0.1 } }, at: 5 });
      const second = { ...first, phase: "end", body: { text: "hi" }, at: 6.5, attempt: 2 } as const;
      const third = entry(R1, "tool:1:0", { exec: ExecId(R1, "hire:researcher#1") });
      await journal.append(R1, epoch, [first]);
      await journal.append(R1, epoch, []);
      await journal.append(R1, epoch, [second, third]);
      const recorded = [first, second, third].map((each, index) => ({ seq: index + 1, ...each }));
      expect(await journal.load(R1)).toEqual(recorded);
      expect(await journal.load(R2)).toEqual([]);
    },
  },
  {
    rule: "R24",
    says: "appends that nobody waited for keep their order, and a load sees them",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const keys = Array.from({ length: 100 }, (_, n) => `llm:gpt#${n}`);
      const appended = keys.map((key) => attempt(() => journal.append(R1, epoch, [entry(R1, key)])));
      expect(await keysOf(journal, R1)).toEqual(keys);
      await Promise.all(appended);
      expect(await keysOf(journal, R1)).toEqual(keys);
    },
  },
  {
    rule: "R24",
    says: "what was loaded stays as it was, whatever is appended and posted later",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      await journal.append(R1, epoch, [entry(R1, "a")]);
      await journal.post(R1, signal("a"));
      const [loaded, items, listed] = [
        await journal.load(R1),
        await journal.items(R1, 0),
        await journal.list(),
      ];
      await journal.append(R1, epoch, [entry(R1, "b")]);
      await journal.post(R1, signal("b"));
      await claimed(journal, R2);
      expect([loaded, items, listed].map(({ length }) => length)).toEqual([1, 1, 1]);
      expect(listed[0]?.entries).toBe(1);
    },
  },
  {
    rule: "R24",
    says: "an entry is unique by execution, key, attempt and phase; each of them makes another",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const one = entry(R1, "tool:1:0");
      await journal.append(R1, epoch, [one]);
      await journal.append(R1, epoch, [
        { ...one, exec: ExecId(R1, "hire:a#1") },
        { ...one, key: "tool:1:1" },
        { ...one, attempt: 2 },
        { ...one, phase: "end" },
        { ...one, phase: "note" },
      ]);
      await expectRefused(INVALID, () => journal.append(R1, epoch, [{ ...one, at: 99, body: {} }]));
      expect(await journal.load(R1)).toHaveLength(6);
      const other = await claimed(journal, R2);
      await journal.append(R2, other, [one]);
      expect(await journal.load(R2)).toHaveLength(1);
    },
  },
  {
    rule: "R24",
    says: "an append is all or nothing, and what was refused can be appended later",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      await journal.append(R1, epoch, [entry(R1, "a")]);
      const mixed = [entry(R1, "b"), entry(R1, "a")];
      await expectRefused(INVALID, () => journal.append(R1, epoch, mixed));
      const twice = [entry(R1, "b"), entry(R1, "b")];
      await expectRefused(INVALID, () => journal.append(R1, epoch, twice));
      expect(await keysOf(journal, R1)).toEqual(["a"]);
      await journal.append(R1, epoch, [entry(R1, "b")]);
      expect(await keysOf(journal, R1)).toEqual(["a", "b"]);
    },
  },
  {
    rule: "R24",
    says: "a refused append takes none of those with it that were made at the same moment",
    async run({ journal }) {
      const [one, two] = [await claimed(journal, R1), await claimed(journal, R2)];
      const results = await Promise.allSettled([
        attempt(() => journal.append(R1, one, [entry(R1, "a")])),
        attempt(() => journal.append(R1, one + 1, [entry(R1, "stale")])),
        attempt(() => journal.append(R1, one, [entry(R1, "a")])),
        attempt(() => journal.append(R1, one, [entry(R1, "b")])),
        attempt(() => journal.append(R2, two, [entry(R2, "c")])),
        attempt(() => journal.append(RunId("nobody"), 1, [entry(R2, "d")])),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        "fulfilled",
        "rejected",
        "rejected",
        "fulfilled",
        "fulfilled",
        "rejected",
      ]);
      expect(results[1]).toMatchObject({ reason: LOCKED });
      expect(results[2]).toMatchObject({ reason: INVALID });
      expect(await keysOf(journal, R1)).toEqual(["a", "b"]);
      expect(await keysOf(journal, R2)).toEqual(["c"]);
    },
  },
  {
    rule: "R24",
    says: "what is done at one moment is done in its order: append, release, claim, append",
    async run({ journal }) {
      const epoch = await claimed(journal, R1, "one");
      const [, , claim, late] = await Promise.allSettled([
        attempt(() => journal.append(R1, epoch, [entry(R1, "a")])),
        attempt(() => journal.release(R1, epoch)),
        attempt(() => journal.claim(R1, "two", 1_000)),
        attempt(() => journal.append(R1, epoch, [entry(R1, "b")])),
      ]);
      expect(claim).toMatchObject({ status: "fulfilled" });
      expect(await journal.claim(R1, "one", 1_000)).toBeNull();
      expect(late).toMatchObject({ reason: LOCKED });
      expect(await keysOf(journal, R1)).toEqual(["a"]);
    },
  },
  {
    rule: "R24",
    says: "many runs at once, each waiting for every append, keep apart",
    async run({ journal }) {
      const runs = Array.from({ length: 60 }, (_, n) => RunId(`many-${n}`));
      const keys = Array.from({ length: 12 }, (_, n) => `llm:gpt#${n}`);
      await Promise.all(
        runs.map(async (run) => {
          const epoch = await claimed(journal, run);
          for (const key of keys) {
            await journal.append(run, epoch, [entry(run, key)]);
            await journal.append(run, epoch, [entry(run, key, { phase: "end", body: { run } })]);
          }
        }),
      );
      for (const run of runs) {
        const records = await journal.load(run);
        expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
        expect(records.map(({ key }) => key)).toEqual(keys.flatMap((key) => [key, key]));
        expect(records.every(({ exec }) => exec === ExecId(run))).toBe(true);
      }
    },
  },
  {
    rule: "R24",
    says: "what is no entry is refused and leaves nothing behind",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      const wrong: readonly object[] = [
        { key: "" },
        { key: "a\nb" },
        { attempt: 1.5 },
        { phase: "middle" },
        { at: Number.NaN },
        { body: null },
        { body: [1] },
        { exec: "" },
      ];
      for (const fields of wrong) {
        const append = () => journal.append(R1, epoch, [entry(R1, "good"), entry(R1, "a", fields)]);
        await expectRefused(INVALID, append, `append: an entry with ${fieldsIn(fields)}`);
      }
      expect(await keysOf(journal, R1)).toEqual([]);
      await journal.append(R1, epoch, [entry(R1, "good")]);
      expect(await keysOf(journal, R1)).toEqual(["good"]);
    },
  },
];
