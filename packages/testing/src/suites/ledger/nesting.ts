import { expect } from "vitest";
import { expectRefused } from "../case.ts";
import { admits, EXHAUSTED, expectLeft, expectUsed, type LedgerCase, ROOT } from "./stage.ts";

export const nestingCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "what is spent below is spent in every ledger above, and in no ledger beside",
    async run({ open }) {
      const root = await open({ maxTokens: 100 });
      const one = root.child({}, "one");
      const leaf = one.child({}, "leaf");
      const beside = root.child({}, "beside");
      const call = await leaf.reserve({ tokens: 40, turns: 1 });
      for (const ledger of [leaf, one, root, beside]) expectLeft(ledger, "tokens", 60);
      await call.settle({ tokens: 30, turns: 1 });
      for (const ledger of [leaf, one, root]) expectUsed(ledger, { tokens: 30, turns: 1 });
      expectUsed(beside, {});
      expectLeft(beside, "tokens", 70);
    },
  },
  {
    rule: "R18",
    says: "a reservation must fit in each ledger of its chain, and the refusal names the one that has no room",
    async run({ open }) {
      const root = await open({ maxTokens: 100 });
      const tight = root.child({ maxTokens: 20 }, "tight");
      const wide = root.child({ maxTokens: 500 }, "wide");
      await expectRefused({ ...EXHAUSTED, scope: "tight", limit: 20 }, () => tight.reserve({ tokens: 21 }));
      await expectRefused({ ...EXHAUSTED, scope: ROOT, limit: 100 }, () => wide.reserve({ tokens: 101 }));
      await expectRefused({ ...EXHAUSTED, scope: "tight" }, () =>
        tight.child({}, "leaf").reserve({ tokens: 21 }),
      );
    },
  },
  {
    rule: "R18",
    says: "refused by one ledger, a reservation leaves nothing in any of the chain",
    async run({ open }) {
      const root = await open({ maxTokens: 50 });
      const middle = root.child({ maxTokens: 40, maxTurns: 2 }, "middle");
      const leaf = middle.child({ maxTokens: 100 }, "leaf");
      for (let n = 0; n < 3; n++) {
        expect(await admits(() => leaf.reserve({ tokens: 60 }))).toBe(false);
        expect(await admits(() => leaf.reserve({ tokens: 45 }))).toBe(false);
        expect(await admits(() => leaf.reserve({ tokens: 1, turns: 3 }))).toBe(false);
      }
      for (const ledger of [root, middle, leaf]) expectUsed(ledger, {});
      await leaf.reserve({ tokens: 40, turns: 2 });
      await root.reserve({ tokens: 10 });
    },
  },
  {
    rule: "R18",
    says: "what one child leaves is there for the others",
    async run({ open }) {
      const root = await open({ maxTurns: 10 });
      const one = root.child({ maxTurns: 8 }, "one");
      const two = root.child({ maxTurns: 8 }, "two");
      const call = await one.reserve({ turns: 8 });
      expectLeft(two, "turns", 2);
      expect(await admits(() => two.reserve({ turns: 3 }))).toBe(false);
      await call.settle({ turns: 3 });
      expectLeft(one, "turns", 5);
      expectLeft(two, "turns", 7);
      await two.reserve({ turns: 7 });
    },
  },
  {
    rule: "R18",
    says: "what is left for a child is the least of its own and all limits above",
    async run({ open }) {
      const root = await open({ maxTokens: 100, maxCostUsd: 1 });
      const child = root.child({ maxTokens: 40, maxTurns: 5 }, "child");
      const wide = root.child({ maxTokens: 400 }, "wide");
      expectLeft(child, "tokens", 40);
      expectLeft(child, "cost", 1);
      expectLeft(child, "turns", 5);
      expectLeft(child, "toolCalls", null);
      expectLeft(wide, "tokens", 100);
      await (await wide.reserve({ tokens: 70, cost: 0.5 })).settle({ tokens: 70, cost: 0.5 });
      expectLeft(child, "tokens", 30);
      expectLeft(child, "cost", 0.5);
    },
  },
  {
    rule: "R18",
    says: "a ledger is below those that it spends from, and below no other",
    async run({ open }) {
      const root = await open({});
      if (root.isBelow === undefined) return expect(typeof root.isBelow).toBe("undefined");
      const child = root.child({}, "child");
      const leaf = child.child({}, "leaf");
      const all = { root, child, leaf, beside: root.child({}, "beside"), other: await open({}) };
      const below = Object.entries(all).flatMap(([name, one]) =>
        Object.entries(all).flatMap(([above, two]) =>
          one.isBelow?.(two) === true ? [`${name} < ${above}`] : [],
        ),
      );
      expect(below).toEqual(["child < root", "leaf < root", "leaf < child", "beside < root"]);
    },
  },
  {
    rule: "R18",
    says: "two children of one name are two ledgers, and making one takes nothing",
    async run({ open }) {
      const root = await open({ maxTokens: 100 });
      for (let n = 0; n < 5; n++) root.child({ maxTokens: 90 }, "same");
      const [one, two] = [root.child({ maxTokens: 50 }, "same"), root.child({ maxTokens: 50 }, "same")];
      await (await one.reserve({ tokens: 50 })).settle({ tokens: 50 });
      expectUsed(two, {});
      await (await two.reserve({ tokens: 50 })).settle({ tokens: 50 });
      expectUsed(root, { tokens: 100 });
    },
  },
  {
    rule: "R18",
    says: "children that reserve at one moment do not pass the limit above them",
    async run({ open }) {
      const root = await open({ maxTokens: 100 });
      const children = Array.from({ length: 10 }, (_, n) => root.child({ maxTokens: 30 }, `child ${n}`));
      const asked = Array.from({ length: 40 }, (_, n) =>
        admits(async () => children[n % 10]?.reserve({ tokens: 10 })),
      );
      expect((await Promise.all(asked)).filter((isIn) => isIn)).toHaveLength(10);
      expectLeft(root, "tokens", 0);
    },
  },
];
