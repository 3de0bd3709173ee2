import type { Journal } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, expectRefused } from "../case.ts";
import { claimed, entry, INVALID, type JournalCase, keysOf, LOCKED, R1, R2, TTL } from "./stage.ts";

/** The owners that are granted a free run when many claim it at once. */
async function grantedTo(handles: readonly Journal[], round: number): Promise<readonly string[]> {
  const claims = Array.from({ length: 10 }, async (_, n) => {
    const owner = `${round} ${n}`;
    const claim = await handles[n % handles.length]?.claim(R1, owner, TTL);
    return claim === null || claim === undefined ? [] : [owner];
  });
  return (await Promise.all(claims)).flat();
}

export const claimCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "one owner claims a run, another gets null until it is released",
    async run({ journal }) {
      const epoch = await claimed(journal, R1, "one");
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      expect(await journal.claim(R2, "two", TTL)).not.toBeNull();
      await journal.release(R1, epoch);
      expect(await claimed(journal, R1, "two")).toBeGreaterThan(epoch);
      expect(await journal.claim(R1, "one", TTL)).toBeNull();
    },
  },
  {
    rule: "R24",
    says: "whoever is refused can be told who holds the run, and until when, if the journal tells it",
    async run({ journal, clock }) {
      if (journal.holder === undefined) return expect(typeof journal.holder).toBe("undefined");
      expect(await journal.holder(R1)).toBeUndefined();
      const epoch = await claimed(journal, R1, "one");
      const held = { owner: "one", expires: clock.now() + TTL };
      expect(await journal.holder(R1)).toEqual(held);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      expect(await journal.holder(R1)).toEqual(held);
      await journal.release(R1, epoch);
      expect(await journal.holder(R1)).toBeUndefined();
      await claimed(journal, R1, "two");
      await clock.advance(TTL);
      expect(await journal.holder(R1)).toBeUndefined();
    },
  },
  {
    rule: "R24",
    says: "claiming again as the same owner renews, under the same epoch",
    async run({ journal, clock }) {
      const epoch = await claimed(journal, R1, "one");
      await clock.advance(TTL - 1);
      expect(await claimed(journal, R1, "one")).toBe(epoch);
      await clock.advance(TTL - 1);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      await clock.advance(1);
      expect(await claimed(journal, R1, "two")).toBeGreaterThan(epoch);
    },
  },
  {
    rule: "R24",
    says: "a claim lasts as long as was asked for, and a renewal as long as that asks for",
    async run({ journal, clock }) {
      expect(await journal.claim(R1, "one", 10)).not.toBeNull();
      await clock.advance(9);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      expect(await journal.claim(R1, "one", 2 * TTL)).not.toBeNull();
      await clock.advance(2 * TTL - 1);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      await clock.advance(1);
      expect(await journal.claim(R1, "two", 10)).not.toBeNull();
      await clock.advance(10);
      expect(await journal.claim(R1, "one", TTL)).not.toBeNull();
    },
  },
  {
    rule: "R24",
    says: "of many who claim a run at one moment, one gets it",
    async run({ journal, clock }) {
      for (let round = 0; round < 3; round++) {
        expect(await grantedTo([journal], round)).toHaveLength(1);
        await clock.advance(TTL);
      }
    },
  },
  {
    rule: "T5",
    says: "of many who claim a run at one moment through several handles, one gets it",
    needs: "second",
    async run({ journal, second, clock }) {
      const handles = [journal, await second()];
      for (let round = 0; round < 3; round++) {
        expect(await grantedTo(handles, round)).toHaveLength(1);
        await clock.advance(TTL);
      }
    },
  },
  {
    rule: "R24",
    says: "a claim that lapsed goes to the next, and whoever had it can no longer write",
    async run({ journal, clock }) {
      const old = await claimed(journal, R1, "one");
      await journal.append(R1, old, [entry(R1, "a")]);
      await clock.advance(TTL);
      const epoch = await claimed(journal, R1, "two");
      expect(epoch).toBeGreaterThan(old);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "b")]));
      await journal.append(R1, epoch, [entry(R1, "c")]);
      expect(await keysOf(journal, R1)).toEqual(["a", "c"]);
    },
  },
  {
    rule: "R24",
    says: "a claim that was taken from somebody may say until when that one had it; no other claim says so",
    async run({ journal, clock }) {
      expect((await journal.claim(R1, "one", TTL))?.lapsedAt).toBeUndefined();
      await clock.advance(TTL * 10);
      const epoch = await claimed(journal, R1, "one");
      expect((await journal.claim(R1, "one", TTL))?.lapsedAt).toBeUndefined();
      await journal.release(R1, epoch);
      expect((await journal.claim(R1, "two", TTL))?.lapsedAt).toBeUndefined();
      const later = clock.now() + TTL;
      await clock.advance(TTL * 10);
      expect([undefined, later]).toContain((await journal.claim(R1, "three", TTL))?.lapsedAt);
    },
  },
  {
    rule: "R24",
    says: "a claim that lapsed and that nobody took still writes, and is renewed",
    async run({ journal, clock }) {
      const epoch = await claimed(journal, R1, "one");
      await clock.advance(TTL * 10);
      await journal.append(R1, epoch, [entry(R1, "a")]);
      expect(await claimed(journal, R1, "one")).toBe(epoch);
      expect(await journal.claim(R1, "two", TTL)).toBeNull();
      expect(await keysOf(journal, R1)).toEqual(["a"]);
    },
  },
  {
    rule: "R24",
    says: "a run that is not claimed, or was released, takes no entries",
    async run({ journal }) {
      await expectRefused(LOCKED, () => journal.append(R1, 1, [entry(R1, "a")]));
      const epoch = await claimed(journal, R1);
      for (const wrong of [epoch - 1, epoch + 1]) {
        await expectRefused(LOCKED, () => journal.append(R1, wrong, [entry(R1, "a")]));
      }
      await journal.release(R1, epoch);
      for (const wrong of [-1, 0, epoch - 1, epoch, epoch + 1]) {
        await expectRefused(LOCKED, () => journal.append(R1, wrong, [entry(R1, "a")]));
        await expectRefused(LOCKED, () => journal.append(R1, wrong, []));
      }
      expect(await keysOf(journal, R1)).toEqual([]);
    },
  },
  {
    rule: "R24",
    says: "a stale release frees nothing",
    async run({ journal, clock }) {
      const old = await claimed(journal, R1, "one");
      await clock.advance(TTL);
      const epoch = await claimed(journal, R1, "two");
      await journal.release(R1, old);
      await journal.release(R2, 7);
      expect(await journal.claim(R1, "one", TTL)).toBeNull();
      await journal.append(R1, epoch, [entry(R1, "a")]);
      expect(await keysOf(journal, R1)).toEqual(["a"]);
    },
  },
  {
    rule: "R24",
    says: "a run made anew under the name of a deleted one refuses the old one's writer",
    async run({ journal }) {
      const old = await claimed(journal, R1, "one");
      await journal.append(R1, old, [entry(R1, "a")]);
      await journal.delete(R1);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "b")]));
      const epoch = await claimed(journal, R1, "two");
      expect(epoch).not.toBe(old);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "b")]));
      await journal.append(R1, epoch, [entry(R1, "a")]);
      expect(await keysOf(journal, R1)).toEqual(["a"]);
    },
  },
  {
    rule: "R24",
    says: "an owner without a name and a time that is no time are refused",
    async run({ journal }) {
      await expectRefused(INVALID, () => journal.claim(R1, "", TTL));
      for (const ttl of [0, -1, Number.NaN, Infinity, 1.5]) {
        await expectRefused(INVALID, () => journal.claim(R1, "one", ttl), `claim: a ttlMs of ${ttl}`);
      }
      expect(await journal.claim(R1, "one", 1)).not.toBeNull();
    },
  },
  {
    rule: "T5",
    says: "a second handle on the same store is refused the claim, and fenced after it was taken over",
    needs: "second",
    async run({ journal, second, clock }) {
      const other = await second();
      const old = await claimed(journal, R1, "one");
      await journal.append(R1, old, [entry(R1, "a")]);
      expect(await other.claim(R1, "two", TTL)).toBeNull();
      await clock.advance(TTL);
      const epoch = await claimed(other, R1, "two");
      await other.append(R1, epoch, [entry(R1, "b")]);
      await expectRefused(LOCKED, () => journal.append(R1, old, [entry(R1, "c")]));
      await expectRefused(LOCKED, () => journal.append(R1, old, []));
      expect(await keysOf(journal, R1)).toEqual(["a", "b"]);
      expect(await keysOf(other, R1)).toEqual(["a", "b"]);
    },
  },
  {
    rule: "T5",
    says: "a run that was taken over while we wrote to another one is fenced all the same",
    needs: "second",
    async run({ journal, second, clock }) {
      const other = await second();
      const [one, two] = [await claimed(journal, R1, "one"), await claimed(journal, R2, "one")];
      await journal.append(R1, one, [entry(R1, "a")]);
      await journal.append(R2, two, [entry(R2, "a")]);
      await clock.advance(TTL);
      const theirs = await claimed(other, R2, "two");
      for (const key of ["b", "c", "d"]) await journal.append(R1, one, [entry(R1, key)]);
      await expectRefused(LOCKED, () => journal.append(R2, two, [entry(R2, "b")]));
      await other.append(R2, theirs, [entry(R2, "c")]);
      await journal.append(R1, one, [entry(R1, "e")]);
      await expectRefused(LOCKED, () => journal.append(R2, two, [entry(R2, "d")]));
      expect(await keysOf(other, R1)).toEqual(["a", "b", "c", "d", "e"]);
      expect(await keysOf(journal, R2)).toEqual(["a", "c"]);
    },
  },
  {
    rule: "T5",
    says: "a claim that comes back to its first owner continues after what the other wrote",
    needs: "second",
    async run({ journal, second, clock }) {
      const other = await second();
      await journal.append(R1, await claimed(journal, R1, "one"), [entry(R1, "a")]);
      await clock.advance(TTL);
      const theirs = await claimed(other, R1, "two");
      await other.append(R1, theirs, [entry(R1, "b")]);
      await other.release(R1, theirs);
      const epoch = await claimed(journal, R1, "one");
      await expectRefused(INVALID, () => journal.append(R1, epoch, [entry(R1, "b")]));
      await journal.append(R1, epoch, [entry(R1, "c")]);
      expect(await keysOf(other, R1)).toEqual(["a", "b", "c"]);
    },
  },
  {
    rule: "T5",
    says: "two handles that give the same name as owner cannot number entries twice",
    needs: "second",
    async run({ journal, second }) {
      const other = await second();
      const epoch = await claimed(journal, R1, "same");
      expect(await claimed(other, R1, "same")).toBe(epoch);
      await journal.append(R1, epoch, [entry(R1, "a")]);
      await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) =>
          attempt(() => (n % 2 === 0 ? journal : other).append(R1, epoch, [entry(R1, `b${n % 4}`)])),
        ),
      );
      const keys = await keysOf(other, R1);
      expect(new Set(keys).size).toBe(keys.length);
      expect(await keysOf(journal, R1)).toEqual(keys);
    },
  },
];
