import { expect } from "vitest";
import { expectRefused } from "../case.ts";
import { claimed, entry, type JournalCase, keysOf, LOCKED, R1, R2, signal, TTL } from "./stage.ts";

/** `abandon` is optional. Without it, a run that was requested and never begun is deleted instead, if nothing was posted to it. */
export const abandonCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "a run that is abandoned without entries is not listed, and anybody may claim it; what was posted stays",
    async run({ journal }) {
      if (journal.abandon === undefined) return expect(typeof journal.abandon).toBe("undefined");
      await journal.post(R1, signal("early"));
      const old = await claimed(journal, R1, "one");
      await claimed(journal, R2, "one");
      await journal.post(R1, signal("late"));
      await journal.abandon(R1, old);
      expect((await journal.list()).map(({ runId }) => runId)).toEqual([R2]);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "a")]));
      // Releasing an abandoned run is allowed and has no effect.
      await journal.release(R1, old);
      await journal.post(R1, signal("late"));
      expect((await journal.items(R1, 0)).map(({ seq, id }) => [seq, id])).toEqual([
        [1, "early"],
        [2, "late"],
      ]);
      expect(await claimed(journal, R1, "two")).toBeGreaterThan(old);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "a")]));
    },
  },
  {
    rule: "R24",
    says: "a run with entries is not abandoned, nor one that somebody else holds, or nobody",
    async run({ journal, clock }) {
      if (journal.abandon === undefined) return expect(typeof journal.abandon).toBe("undefined");
      const epoch = await claimed(journal, R1, "one");
      await journal.append(R1, epoch, [entry(R1, "a")]);
      await journal.abandon(R1, epoch);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      await journal.append(R1, epoch, [entry(R1, "b")]);
      expect(await keysOf(journal, R1)).toEqual(["a", "b"]);
      const old = await claimed(journal, R2, "one");
      await clock.advance(TTL);
      const next = await claimed(journal, R2, "two");
      await journal.abandon(R2, old);
      expect(await journal.claim(R2, "one", TTL)).toBeNull();
      await journal.release(R2, next);
      await journal.abandon(R2, next);
      // Nor under an epoch that nobody ever had.
      await journal.release(R2, 0);
      await journal.abandon(R2, 0);
      expect((await journal.list()).map(({ runId }) => runId)).toEqual([R1, R2]);
      expect(await claimed(journal, R2, "one")).toBeGreaterThan(next);
    },
  },
];
