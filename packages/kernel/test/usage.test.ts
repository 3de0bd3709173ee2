import { addUsage } from "@ravi/kernel";
import { expect, it } from "vitest";

const plain = { inputTokens: 10, outputTokens: 5 };

it.each(["cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const)(
  "R22: a sum has the %s of both, of one of them, or of none where neither says any",
  (part) => {
    const both = { inputTokens: 20, outputTokens: 10 };
    expect(addUsage({ ...plain, [part]: 3 }, { ...plain, [part]: 4 })).toEqual({ ...both, [part]: 7 });
    expect(addUsage({ ...plain, [part]: 3 }, plain)).toEqual({ ...both, [part]: 3 });
    expect(addUsage(plain, { ...plain, [part]: 4 })).toEqual({ ...both, [part]: 4 });
    expect(addUsage(plain, plain)).toStrictEqual(both);
  },
);
