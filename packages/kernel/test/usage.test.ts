import { addUsage } from "@ravi/kernel";
import { addCost, soundUsage } from "@ravi/kernel/loop";
import { expect, it } from "vitest";

const plain = { inputTokens: 10, outputTokens: 5 };

it.each(["cachedInputTokens", "cacheWriteTokens", "cacheWrite1hTokens", "reasoningTokens"] as const)(
  "R22: a sum has the %s of both, of one of them, or of none where neither says any",
  (part) => {
    const both = { inputTokens: 20, outputTokens: 10 };
    expect(addUsage({ ...plain, [part]: 3 }, { ...plain, [part]: 4 })).toEqual({ ...both, [part]: 7 });
    expect(addUsage({ ...plain, [part]: 3 }, plain)).toEqual({ ...both, [part]: 3 });
    expect(addUsage(plain, { ...plain, [part]: 4 })).toEqual({ ...both, [part]: 4 });
    expect(addUsage(plain, plain)).toStrictEqual(both);
  },
);

it("R22: of what was written to a cache, no more can be kept for an hour than was written", () => {
  const written = { ...plain, cacheWriteTokens: 8 };
  for (const cacheWrite1hTokens of [undefined, 0, 8])
    expect(soundUsage({ ...written, cacheWrite1hTokens })).toBeDefined();
  for (const cacheWrite1hTokens of [9, -1, 0.5, Number.NaN])
    expect(soundUsage({ ...written, cacheWrite1hTokens })).toBeUndefined();
});

it("R22: many small amounts add up exactly, and with one that is not known so is the sum", () => {
  const cents = Array.from({ length: 10 }, () => 0.1);
  expect(cents.reduce<number | null>(addCost, 0)).toBe(1);
  expect(addCost(0.1, 0.2)).toBe(0.3);
  expect([addCost(1, null), addCost(null, 1), addCost(null, null)]).toEqual([null, null, null]);
});
