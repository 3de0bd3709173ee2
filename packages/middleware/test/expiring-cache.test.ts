import * as fc from "fast-check";
import { expect, test } from "vitest";
import { expiringCache } from "../src/common/expiring-cache.ts";

interface Kept {
  readonly key: string;
  readonly value: { readonly n: number };
  readonly expires: number;
}

test("R27: a bounded store holds what was used last, and nothing longer than its time", () => {
  const step = fc.record({
    isSet: fc.boolean(),
    key: fc.constantFrom("a", "b", "c", "d", "e"),
    later: fc.nat(4),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 80, size: "max" }),
      fc.integer({ min: 1, max: 4 }),
      (steps, maxEntries) => {
        const ttlMs = 10;
        const cache = expiringCache<{ readonly n: number }>({ maxEntries, ttlMs });
        // The one used last stands last.
        let kept: Kept[] = [];
        let now = 0;
        for (const [n, { isSet, key, later }] of steps.entries()) {
          now += later;
          const known = kept.find((each) => each.key === key);
          kept = kept.filter((each) => each.key !== key);
          if (isSet) {
            const value = { n };
            cache.set(key, value, now);
            kept = [...kept, { key, value, expires: now + ttlMs }].slice(-maxEntries);
          } else {
            const isAlive = known !== undefined && now < known.expires;
            expect(cache.get(key, now)).toBe(isAlive ? known.value : undefined);
            if (isAlive) kept.push(known);
          }
        }
      },
    ),
  );
});

test("R27: nothing is kept longer than its time after the clock was set back", () => {
  const cache = expiringCache<{ readonly n: number }>({ maxEntries: 2, ttlMs: 10 });
  cache.set("a", { n: 1 }, 1_000);
  expect(cache.get("a", 500)).toEqual({ n: 1 });
  expect(cache.get("a", 509)).toEqual({ n: 1 });
  expect(cache.get("a", 510)).toBeUndefined();
});
