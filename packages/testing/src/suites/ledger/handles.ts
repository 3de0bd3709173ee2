import { expect } from "vitest";
import { attempt } from "../case.ts";
import { admits, type LedgerCase } from "./stage.ts";

/** `used` and `remaining` are read without waiting, so of another handle's spending they may know nothing yet: these cases reserve. */
export const handleCases: readonly LedgerCase[] = [
  {
    rule: "T2",
    says: "what one handle has reserved or spent is not there for another, and what it gives back is",
    needs: "second",
    async run({ open, second }) {
      const one = await open({ maxTokens: 100 });
      const two = await second(one);
      const call = await one.reserve({ tokens: 60 });
      expect(await admits(() => two.reserve({ tokens: 41 }))).toBe(false);
      await call.settle({ tokens: 30 });
      expect(await admits(() => two.reserve({ tokens: 71 }))).toBe(false);
      const other = await two.child({}, "child").reserve({ tokens: 70 });
      expect(await admits(() => one.reserve({ tokens: 1 }))).toBe(false);
      await other.cancel();
      await two.charge({ tokens: 50 });
      expect(await admits(() => one.reserve({ tokens: 21 }))).toBe(false);
      await one.reserve({ tokens: 20 });
    },
  },
  {
    rule: "T2",
    says: "of many that reserve at one moment through several handles, only as many get it as fit",
    needs: "second",
    async run({ open, second }) {
      const one = await open({ maxCostUsd: 5 });
      const handles = [one, await second(one), await second(one)];
      for (const round of [1, 2]) {
        const asked = Array.from({ length: 60 }, (_, n) =>
          attempt(async () => handles[n % 3]?.reserve({ tokens: 1, cost: 0.25 })).catch(() => undefined),
        );
        const granted = (await Promise.all(asked)).filter((call) => call !== undefined);
        expect([round, granted.length]).toEqual([round, 20]);
        for (const call of granted) await call.cancel();
      }
    },
  },
];
