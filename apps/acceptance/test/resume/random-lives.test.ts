import fc from "fast-check";
import { expect, test } from "vitest";
import { KNOWN } from "./lives/known.ts";
import { lifeOf, live } from "./lives/live.ts";
import type { Planted } from "./lives/outside.ts";
import { plan, steadyPlan } from "./lives/plan.ts";

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

test(
  "T1: after any outages, retries and crashes a run has done what it does without them, and has paid for each answer once",
  { timeout: 1_000_000 },
  async () => {
    const steady = fc.asyncProperty(steadyPlan, async (given) => {
      const [calm, rough] = [await lifeOf({ ...given, lives: [[]], outages: [] }), await lifeOf(given)];
      expect([...calm.outside.faults, ...rough.outside.faults]).toEqual([]);
      expect(rough.result).toMatchObject({ status: "completed", output: calm.result?.output });
      expect(rough.outside.seen).toEqual(calm.outside.seen);
      const again = rough.outside.crashes;
      for (const [what, times] of calm.outside.runs) {
        expect(rough.outside.runs.get(what)).toBeGreaterThanOrEqual(times);
        expect(rough.outside.runs.get(what)).toBeLessThanOrEqual(times + again);
      }
      // A layer that tries again has a time limit too, and may give up an answer.
      if (again === 0 && !given.isRetried) expect(answersOf(rough)).toBe(answersOf(calm));
    });
    await fc.assert(steady, RUNS);
  },
);

function answersOf({ outside }: Awaited<ReturnType<typeof lifeOf>>): number {
  return outside.sent.filter(({ isAnswered }) => isAnswered).length;
}

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
