import { RunId } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt } from "../case.ts";
import { claimed, entry, type JournalCase, keysOf, note, R1, signal } from "./stage.ts";

/** More than the usual page sizes of stores: 50, 100, 1,000. */
const MANY = 1_234;

const numbers = (length: number): number[] => Array.from({ length }, (_, n) => n);

export const amountCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "of many entries all come back, appended at once or one by one",
    async run({ journal, all }) {
      const epoch = await claimed(journal, R1);
      const keys = numbers(3 * MANY).map((n) => `llm:gpt#${n}`);
      await journal.append(
        R1,
        epoch,
        keys.slice(0, MANY).map((key) => entry(R1, key)),
      );
      const rest = keys.slice(MANY, 2 * MANY);
      const one = (key: string): Promise<void> => attempt(() => journal.append(R1, epoch, [entry(R1, key)]));
      await all("append", rest.map(one));
      const last = keys.slice(2 * MANY).map((key) => entry(R1, key));
      await journal.append(R1, epoch, last);
      expect(await keysOf(journal, R1)).toEqual(keys);
    },
  },
  {
    rule: "R24",
    says: "of many items all come back, after whichever of them",
    async run({ journal, all }) {
      const ids = numbers(MANY).map((n) => `s${n}`);
      const posts = ids.map((id) => attempt(() => journal.post(R1, signal(id))));
      await all("post", posts);
      const items = await journal.items(R1, 0);
      expect(items.map(({ seq, id }) => [seq, id])).toEqual(ids.map((id, n) => [n + 1, id]));
      for (const after of [1, 2, 3, 4, 7, 99, 100, 101, MANY - 1, MANY, MANY + 1])
        expect((await journal.items(R1, after)).map(({ seq }) => seq)).toEqual(
          items.slice(after).map(({ seq }) => seq),
        );
    },
  },
  {
    rule: "R24",
    says: "of many runs all are listed",
    async run({ journal, all }) {
      const runs = numbers(MANY).map((n) => RunId(`many-${n}`));
      const claims = runs.map((run) => claimed(journal, run));
      await all("claim", claims);
      const listed = (await journal.list()).map(({ runId }) => runId);
      expect(listed.toSorted()).toEqual(runs.toSorted());
    },
  },
  {
    rule: "R24",
    says: "list says each status as it was noted",
    async run({ journal }) {
      const statuses = ["running", "suspended", "completed", "partial", "failed", "cancelled"] as const;
      for (const status of statuses) {
        const run = RunId(`is-${status}`);
        const epoch = await claimed(journal, run);
        await journal.append(run, epoch, [
          note(run, "run:start", 1, { agent: "lead" }),
          note(run, "run:status", 2, { status }),
        ]);
      }
      const listed = new Map((await journal.list()).map(({ runId, status }) => [runId, status]));
      expect(statuses.map((status) => listed.get(RunId(`is-${status}`)))).toEqual(statuses);
    },
  },
];
