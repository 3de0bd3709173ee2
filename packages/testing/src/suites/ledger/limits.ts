import { isRaviError } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt, expectRefused } from "../case.ts";
import { admits, DIMENSIONS, EXHAUSTED, expectLeft, expectUsed, type LedgerCase, ROOT } from "./stage.ts";

/** A model call whose price is not known. */
const UNPRICED = [{ tokens: 100 }, { turns: 1 }, { tokens: 100, turns: 1 }] as const;

export const limitCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "what fits is reserved up to the limit, and one more is refused, in each dimension",
    async run({ open }) {
      for (const { dimension, field, limit } of DIMENSIONS) {
        const ledger = await open({ [field]: limit });
        const half = await ledger.reserve({ cost: 0, [dimension]: limit / 2 });
        await ledger.reserve({ cost: 0, [dimension]: limit / 2 });
        expectLeft(ledger, dimension, 0, dimension);
        const more = { cost: 0, [dimension]: dimension === "cost" ? 0.01 : 1 };
        await expectRefused({ ...EXHAUSTED, dimension }, () => ledger.reserve(more));
        await half.cancel();
        await ledger.reserve(more);
      }
    },
  },
  {
    rule: "R18",
    says: "a refusal says which limit it was, and whose",
    async run({ open }) {
      for (const { dimension, field, limit } of DIMENSIONS) {
        const ledger = await open({ [field]: limit });
        await expectRefused({ ...EXHAUSTED, dimension, limit, scope: ROOT }, () =>
          ledger.reserve({ cost: 0, [dimension]: limit + 1 }),
        );
      }
    },
  },
  {
    rule: "R18",
    says: "a limit that is left out or null is none, and 0 is one",
    async run({ open }) {
      const free = await open({ maxTokens: null });
      await (await free.reserve({ tokens: 1e9, cost: 1e6, turns: 1e6, toolCalls: 1e6 })).cancel();
      for (const { dimension, field } of DIMENSIONS) {
        expectLeft(free, dimension, null, dimension);
        const none = await open({ [field]: 0 });
        expectLeft(none, dimension, 0, dimension);
        await expectRefused({ ...EXHAUSTED, dimension }, () => none.reserve({ cost: 0, [dimension]: 1 }));
      }
    },
  },
  {
    rule: "R18",
    says: "what is reserved is not left for others, and is not used yet",
    async run({ open }) {
      const ledger = await open({ maxTokens: 150 });
      const one = await ledger.reserve({ tokens: 100 });
      expectLeft(ledger, "tokens", 50);
      expectUsed(ledger, {});
      expect(await admits(() => ledger.reserve({ tokens: 51 }))).toBe(false);
      await one.settle({ tokens: 30 });
      expectUsed(ledger, { tokens: 30 });
      expectLeft(ledger, "tokens", 120);
    },
  },
  {
    rule: "R18",
    says: "a refused reservation leaves nothing behind, also of the dimensions in which it fitted",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100, maxCostUsd: 1, maxTurns: 5, maxToolCalls: 5 });
      for (const { dimension } of DIMENSIONS) {
        const wanted = { tokens: 60, cost: 0.6, turns: 3, toolCalls: 3, [dimension]: 101 };
        for (let n = 0; n < 3; n++)
          expect([dimension, await admits(() => ledger.reserve(wanted))]).toEqual([dimension, false]);
      }
      expectUsed(ledger, {});
      await ledger.reserve({ tokens: 100, cost: 1, turns: 5, toolCalls: 5 });
    },
  },
  {
    rule: "R18",
    says: "a hundred calls of a cent fit in a dollar, and no call more",
    async run({ open }) {
      const ledger = await open({ maxCostUsd: 1 });
      for (let n = 0; n < 100; n++) {
        const call = await ledger.reserve({ tokens: 1, cost: 0.01 });
        await call.settle({ tokens: 1, cost: 0.01 });
      }
      expectUsed(ledger, { tokens: 100, cost: 1 });
      expect(await admits(() => ledger.reserve({ cost: 0.000_001 }))).toBe(false);
    },
  },
  {
    rule: "R18",
    says: "of many that reserve at one moment, only as many get it as fit",
    async run({ open }) {
      const ledger = await open({ maxCostUsd: 5, maxTurns: 30 });
      const asked = Array.from({ length: 50 }, () =>
        admits(() => ledger.reserve({ tokens: 10, cost: 0.25, turns: 1 })),
      );
      expect((await Promise.all(asked)).filter((isIn) => isIn)).toHaveLength(20);
      expectLeft(ledger, "cost", 0);
      expectLeft(ledger, "turns", 10);
    },
  },
  {
    rule: "R18",
    says: "a model call without a price is refused if there is a limit in dollars, here or above",
    async run({ open }) {
      const root = await open({ maxCostUsd: 5, maxTokens: 100, maxTurns: 1 });
      const child = root.child({}, "researcher");
      for (const ledger of [root, child, child.child({ maxTokens: 100 }, "reader")]) {
        for (const wanted of UNPRICED) {
          const refused = attempt(() => ledger.reserve(wanted, { what: "acme:large" }));
          await expect(refused).rejects.toSatisfy((error) => isRaviError(error));
        }
      }
      // Nothing of the refused ones is left.
      await child.reserve({ tokens: 100, cost: 5, turns: 1 });
    },
  },
  {
    rule: "R18",
    says: "0 is a price, a tool call needs none, and without a limit in dollars nobody asks for one",
    async run({ open }) {
      const capped = await open({ maxCostUsd: 1 });
      await (await capped.reserve({ tokens: 100, cost: 0, turns: 1 })).cancel();
      await (await capped.reserve({ toolCalls: 1 })).cancel();
      const free = await open({ maxTokens: 100 });
      await (await free.reserve({ tokens: 100, turns: 1 })).cancel();
      expectUsed(capped, {});
      expectUsed(free, {});
    },
  },
  {
    rule: "R18",
    says: "an amount that is negative or no number is refused and changes nothing",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100, maxCostUsd: 1 });
      for (const wrong of [-1, Number.NaN, Number.NEGATIVE_INFINITY]) {
        await expect(attempt(() => ledger.reserve({ tokens: wrong, cost: 0 }))).rejects.toThrow(Error);
        await expect(attempt(() => ledger.reserve({ tokens: 1, cost: wrong }))).rejects.toThrow(Error);
      }
      expectLeft(ledger, "tokens", 100);
      expectLeft(ledger, "cost", 1);
      expect(await admits(() => ledger.reserve({ tokens: 101, cost: 0 }))).toBe(false);
      await ledger.reserve({ tokens: 100, cost: 1 });
    },
  },
];
