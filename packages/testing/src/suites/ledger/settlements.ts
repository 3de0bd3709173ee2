import type { Reservation } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt } from "../case.ts";
import { admits, expectLeft, expectUsed, type LedgerCase, ROOT } from "./stage.ts";

const CALL = { tokens: 100, cost: 0.5, turns: 1, toolCalls: 1 };
const LIMITS = { maxTokens: 1_000, maxCostUsd: 5, maxTurns: 10, maxToolCalls: 10 };

type Close = (one: Reservation) => unknown;
const CLOSES: Readonly<Record<string, Close>> = {
  settle: (one) => one.settle({ ...CALL, tokens: 40, cost: 0.25 }),
  "settle as estimated": (one) => one.settle({ estimated: true }),
  cancel: (one) => one.cancel(),
};

export const settlementCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "a settlement charges what was used and gives back the rest",
    async run({ open }) {
      const ledger = await open(LIMITS);
      const one = await ledger.reserve(CALL);
      await one.settle({ tokens: 40, cost: 0.25, turns: 1, toolCalls: 0 });
      expectUsed(ledger, { tokens: 40, cost: 0.25, turns: 1 });
      expectLeft(ledger, "tokens", 960);
      expectLeft(ledger, "cost", 4.75);
      expectLeft(ledger, "turns", 9);
      expectLeft(ledger, "toolCalls", 10);
    },
  },
  {
    rule: "R18",
    says: "without usage the whole reservation is charged",
    async run({ open }) {
      const ledger = await open(LIMITS);
      await (await ledger.reserve(CALL)).settle({ estimated: true });
      expectUsed(ledger, CALL);
      expectLeft(ledger, "tokens", 900);
    },
  },
  {
    rule: "R18",
    says: "a field that a settlement leaves out is charged as it was reserved",
    async run({ open }) {
      const ledger = await open(LIMITS);
      await (await ledger.reserve(CALL)).settle({ tokens: 40, turns: 1 });
      await (await ledger.reserve(CALL)).settle({ tokens: 30, estimated: true });
      expectUsed(ledger, { tokens: 70, cost: 1, turns: 2, toolCalls: 2 });
      expectLeft(ledger, "cost", 4);
    },
  },
  {
    rule: "R18",
    says: "a cancelled reservation gives everything back",
    async run({ open }) {
      const ledger = await open(LIMITS);
      for (let n = 0; n < 30; n++) await (await ledger.reserve(CALL)).cancel();
      expectUsed(ledger, {});
      expectLeft(ledger, "tokens", 1_000);
      expectLeft(ledger, "cost", 5);
      await ledger.reserve({ tokens: 1_000, cost: 5, turns: 10, toolCalls: 10 });
    },
  },
  {
    rule: "R18",
    says: "whatever is called after a settlement or a cancellation changes nothing more, whether it throws or not",
    async run({ open }) {
      for (const [first, close] of Object.entries(CLOSES)) {
        for (const [later, again] of Object.entries(CLOSES)) {
          const ledger = await open(LIMITS);
          const other = await ledger.reserve(CALL);
          const one = await ledger.reserve(CALL);
          await close(one);
          const [used, left] = [{ ...ledger.used }, ledger.remaining().tokens];
          await attempt(async () => again(one)).catch(() => undefined);
          expectUsed(ledger, used, `${later} after ${first}`);
          expectLeft(ledger, "tokens", left, `${later} after ${first}`);
          await other.cancel();
          expectUsed(ledger, used, `${later} after ${first}`);
        }
      }
    },
  },
  {
    rule: "R18",
    says: "reservations are closed in any order, each for itself",
    async run({ open }) {
      const ledger = await open({ maxTokens: 60 });
      const sizes = [10, 20, 30];
      const [small, middle, large] = await Promise.all(
        sizes.map((tokens) => attempt(() => ledger.reserve({ tokens }))),
      );
      await middle?.settle({ tokens: 5 });
      await large?.cancel();
      await small?.settle({ estimated: true });
      expectUsed(ledger, { tokens: 15 });
      expectLeft(ledger, "tokens", 45);
    },
  },
  {
    rule: "R18",
    says: "more than was reserved is charged in full and reported, and nothing is admitted after it",
    async run({ open }) {
      const ledger = await open({ maxCostUsd: 1, maxTokens: 1_000 });
      const one = await ledger.reserve({ tokens: 100, cost: 0.75 });
      const { exceeded } = await one.settle({ tokens: 150, cost: 1.25 });
      expect(exceeded).toMatchObject([{ dimension: "cost", limit: 1, scope: ROOT }]);
      expect(exceeded[0]?.used).toBeCloseTo(1.25, 6);
      expectUsed(ledger, { tokens: 150, cost: 1.25 });
      expectLeft(ledger, "cost", 0);
      expect(await admits(() => ledger.reserve({ tokens: 1, cost: 0.01 }))).toBe(false);
    },
  },
  {
    rule: "R18",
    says: "more than was reserved, but within the limit, exceeds nothing",
    async run({ open }) {
      const ledger = await open({ maxTokens: 1_000 });
      const one = await ledger.reserve({ tokens: 100 });
      const settlement = await one.settle({ tokens: 300 });
      expect(settlement).toMatchObject({ exceeded: [] });
      expectLeft(ledger, "tokens", 700);
    },
  },
  {
    rule: "R18",
    says: "a settlement that makes no sense is refused, and the reservation can still be settled",
    async run({ open }) {
      for (const wrong of [-1, Number.NaN]) {
        const ledger = await open(LIMITS);
        const one = await ledger.reserve(CALL);
        await expect(attempt(() => one.settle({ ...CALL, tokens: wrong }))).rejects.toThrow(Error);
        expectLeft(ledger, "tokens", 900);
        await one.settle({ estimated: true });
        expectUsed(ledger, CALL);
      }
    },
  },
];
