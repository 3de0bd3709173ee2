import { warningsIn } from "@ravi/kernel/loop";
import { expect, it } from "vitest";

const tokens = { dimension: "tokens", used: 12, limit: 10, scope: "lead" } as const;
const cost = { dimension: "cost", used: 2, limit: 1, scope: "lead" } as const;
const ofHelper = { ...tokens, scope: "lead/helper" };

it("R18: each limit is told once: those that are near, and those that were passed without a word now", () => {
  expect(warningsIn({ warnings: [], exceeded: [] })).toEqual([]);
  expect(warningsIn({ warnings: [tokens], exceeded: [tokens] })).toEqual([tokens]);
  expect(warningsIn({ warnings: [tokens], exceeded: [tokens, cost, ofHelper] })).toEqual([
    tokens,
    cost,
    ofHelper,
  ]);
});
