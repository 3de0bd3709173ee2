import fc from "fast-check";
import { expect, test } from "vitest";
import { KNOWN } from "./lives/known.ts";
import { live } from "./lives/live.ts";
import type { Planted } from "./lives/outside.ts";
import { plan } from "./lives/plan.ts";

/** The same lives each time, since somebody else's change must not fail by chance; with RAVI_LONG=1 others each time. */
const RUNS = process.env["RAVI_LONG"] ? { numRuns: 10_000 } : { numRuns: 200, seed: 1 };

function property(planted?: Planted) {
  return fc.asyncProperty(plan, async (given) => {
    expect(await live(given, planted)).toEqual([]);
  });
}

test(
  "T1: whatever agents do and whatever is done to them, a run ends, pays once and in full, and leaves nothing",
  { timeout: 1_000_000 },
  async () => {
    await fc.assert(property(), RUNS);
  },
);

test.each(Object.entries(KNOWN))("T2: %s", async (_, known) => {
  expect(await live(known)).toEqual([]);
});

test.each<Planted>(["a forgotten end", "a lost seat", "a higher bill"])(
  "the property notices %s",
  async (planted) => {
    const { failed } = await fc.check(property(planted), { seed: 1, numRuns: 1_000, endOnFailure: true });
    expect(failed).toBe(true);
  },
);
