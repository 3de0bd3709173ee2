import { expect } from "vitest";
import { throughJson } from "../case.ts";
import { admits, expectLeft, expectUsed, type LedgerCase } from "./stage.ts";

export const snapshotCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "a snapshot is plain JSON, and stays as it was when the ledger goes on",
    async run({ open }) {
      const root = await open({ maxTokens: 100, maxCostUsd: 1 });
      const child = root.child({ maxTurns: 5 }, "child");
      const one = await child.reserve({ tokens: 30, cost: 0.25, turns: 1 });
      const taken = [root, child].map((ledger) => ledger.snapshot());
      const texts = taken.map((snapshot) => JSON.stringify(snapshot));
      expect(taken.map(throughJson)).toEqual(taken);
      await one.settle({ tokens: 10, cost: 0.1, turns: 1 });
      await child.charge({ tokens: 200 });
      await root.raise?.({ tokens: 50 });
      expect(taken.map((snapshot) => JSON.stringify(snapshot))).toEqual(texts);
    },
  },
  {
    rule: "R18",
    says: "restored from its snapshot, a ledger has the same limits, and what was spent is spent",
    needs: "restore",
    async run({ open, restore }) {
      const ledger = await open({ maxTokens: 100, maxCostUsd: 1, maxTurns: 10 });
      await (
        await ledger.reserve({ tokens: 30, cost: 0.25, turns: 1 })
      ).settle({ tokens: 20, cost: 0.25, turns: 1 });
      await ledger.charge({ tokens: 5 });
      const raised = ledger.raise === undefined ? 0 : 15;
      await ledger.raise?.({ tokens: raised });
      const again = await restore(ledger);
      expectUsed(again, { tokens: 25, cost: 0.25, turns: 1 });
      expectLeft(again, "tokens", 75 + raised);
      expectLeft(again, "cost", 0.75);
      expectLeft(again, "toolCalls", null);
      expect(await admits(() => again.reserve({ tokens: 76 + raised, cost: 0 }))).toBe(false);
      await again.child({}, "child").reserve({ tokens: 75 + raised, cost: 0.75, turns: 9 });
    },
  },
  {
    rule: "R18",
    says: "a reservation that was open in the snapshot, here or below, is not available after a restore",
    needs: "restore",
    async run({ open, restore }) {
      const ledger = await open({ maxTokens: 100 });
      await ledger.reserve({ tokens: 20 });
      await ledger.child({}, "child").reserve({ tokens: 30 });
      const again = await restore(ledger);
      expectLeft(again, "tokens", 50);
      expect(await admits(() => again.reserve({ tokens: 51 }))).toBe(false);
      await again.reserve({ tokens: 50 });
    },
  },
];
