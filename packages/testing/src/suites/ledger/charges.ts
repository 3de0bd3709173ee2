import type { BudgetWarning } from "@ravi/kernel";
import { expect } from "vitest";
import { admits, DIMENSIONS, expectLeft, expectOverrun, expectUsed, type LedgerCase, ROOT } from "./stage.ts";

export const chargeCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "a charge is never refused, counts in the whole chain, and is taken from what is left",
    async run({ open }) {
      const root = await open({ maxTokens: 100, maxCostUsd: 1 });
      const child = root.child({ maxTurns: 1 }, "child");
      await child.charge({ tokens: 60, cost: 0.5, turns: 1 });
      for (const ledger of [child, root]) expectUsed(ledger, { tokens: 60, cost: 0.5, turns: 1 });
      expectLeft(root, "tokens", 40);
      await child.charge({ tokens: 60, turns: 3 });
      for (const ledger of [child, root]) expectUsed(ledger, { tokens: 120, cost: 0.5, turns: 4 });
      expectLeft(root, "tokens", 0);
      expectLeft(child, "turns", 0);
      expect(await admits(() => root.reserve({ tokens: 1, cost: 0 }))).toBe(false);
      await root.charge({});
      expectUsed(root, { tokens: 120, cost: 0.5, turns: 4 });
    },
  },
  {
    rule: "R18",
    says: "a charge leaves open reservations as they are",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100 });
      const one = await ledger.reserve({ tokens: 50 });
      await ledger.charge({ tokens: 20 }, { largest: { tokens: 10, cost: 0 } });
      await ledger.charge({ tokens: 10 }, { largest: null });
      expectLeft(ledger, "tokens", 20);
      await one.settle({ tokens: 40 });
      expectUsed(ledger, { tokens: 70 });
    },
  },
  {
    rule: "R18",
    says: "by the time a limit is used up, it was warned of once, with its dimension and its owner",
    async run({ open }) {
      for (const { dimension, field, limit } of DIMENSIONS) {
        const root = await open({ [field]: limit });
        const child = root.child({}, "child");
        const tenth = { cost: 0, [dimension]: limit / 10 };
        const warnings: BudgetWarning[] = [];
        for (let n = 0; n < 10; n++) {
          const call = await child.reserve(tenth);
          const settlement = await call.settle(tenth);
          expect(settlement.exceeded).toEqual([]);
          warnings.push(...settlement.warnings);
        }
        expect(warnings).toMatchObject([{ dimension, limit, scope: ROOT }]);
        // With what had been used by then.
        const used = warnings[0]?.used ?? 0;
        expect(used > 0 && used <= limit).toBe(true);
      }
    },
  },
  {
    rule: "R18",
    says: "a charge warns like a settlement, and of each limit in the chain for itself",
    async run({ open }) {
      const root = await open({ maxTokens: 100 });
      const child = root.child({ maxTokens: 50 }, "child");
      const first = await child.charge({ tokens: 50 });
      expect(first.warnings.filter(({ scope }) => scope === "child")).toMatchObject([
        { dimension: "tokens", used: 50, limit: 50, scope: "child" },
      ]);
      const second = await root.charge({ tokens: 50 });
      expect(second.warnings).toMatchObject([{ dimension: "tokens", used: 100, limit: 100, scope: ROOT }]);
      expect((await child.charge({ turns: 1 })).warnings).toEqual([]);
    },
  },
  {
    rule: "R18",
    says: "a raise adds to this ledger's limits and to those above, and to nothing else",
    async run({ open }) {
      const root = await open({ maxTurns: 2 });
      if (root.raise === undefined) return expect(typeof root.raise).toBe("undefined");
      const [one, beside] = [root.child({ maxTurns: 1 }, "one"), root.child({ maxTurns: 1 }, "beside")];
      await (await one.reserve({ turns: 1 })).settle({ turns: 1 });
      expect(await admits(() => one.reserve({ turns: 1 }))).toBe(false);
      await one.raise?.({ turns: 3, tokens: 500 });
      expectLeft(one, "turns", 3);
      expectLeft(root, "turns", 4);
      expectLeft(beside, "turns", 1);
      for (const ledger of [one, root, beside]) expectLeft(ledger, "tokens", null);
      await one.reserve({ turns: 3, tokens: 1_000_000 });
      expect(await admits(() => one.reserve({ turns: 1 }))).toBe(false);
    },
  },
  {
    rule: "R18",
    says: "an overrun is how far a limit of the chain is exceeded: the most of any, and nothing where all is within",
    async run({ open }) {
      const root = await open({ maxTokens: 100, maxCostUsd: 1, maxTurns: 10 });
      if (root.overrun === undefined) return expect(typeof root.overrun).toBe("undefined");
      const child = root.child({ maxTokens: 20, maxToolCalls: 1 }, "child");
      const beside = root.child({ maxTokens: 500 }, "beside");
      expectOverrun(child, {});
      await beside.reserve({ tokens: 50, cost: 0.5, turns: 5 });
      await child.charge({ tokens: 20, turns: 5, toolCalls: 1 });
      for (const ledger of [child, beside, root]) expectOverrun(ledger, {});
      await child.charge({ tokens: 40, cost: 1.25, toolCalls: 2 });
      expectOverrun(child, { tokens: 40, cost: 0.25, toolCalls: 2 });
      expectOverrun(beside, { cost: 0.25 });
      await beside.charge({ tokens: 150 });
      expectOverrun(child, { tokens: 110, cost: 0.25, toolCalls: 2 });
      expectOverrun(root, { tokens: 110, cost: 0.25 });
    },
  },
  {
    rule: "R18",
    says: "what is held back for the last turn lies inside the limit, and only that turn may have it",
    needs: "holdingBack",
    async run({ openHoldingBack }) {
      const ledger = await openHoldingBack({ maxTurns: 10 });
      let ordinary = 0;
      while (ordinary < 10 && (await admits(() => ledger.reserve({ turns: 1 })))) ordinary++;
      expect(ordinary).toBeGreaterThan(0);
      expect(ordinary).toBeLessThan(10);
      expect(await admits(() => ledger.reserve({ turns: 1 }))).toBe(false);
      let last = 0;
      while (last < 10 && (await admits(() => ledger.reserve({ turns: 1 }, { wrapUp: true })))) last++;
      expect(ordinary + last).toBe(10);
    },
  },
];
