import fc from "fast-check";
import { expect, test } from "vitest";
import { KNOWN } from "./lives/known.ts";
import { lifeOf, live } from "./lives/live.ts";
import type { Planted } from "./lives/outside.ts";
import { type Life, type Plan, plan, steadyPlan, type Step } from "./lives/plan.ts";

/** The same lives each time, since somebody else's change must not fail by chance; with RAVI_LONG=1 others each time. */
const RUNS = process.env["RAVI_LONG"] ? { numRuns: 25_000 } : { numRuns: 200, seed: 1 };

function property(planted?: Planted) {
  return fc.asyncProperty(plan, async (given) => {
    expect(await live(given, planted)).toEqual([]);
  });
}

test(
  "T1: whatever agents do and whatever is done to them, a run ends, pays once and in full, and leaves nothing",
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(property(), RUNS);
  },
);

function steadyProperty(changed: Partial<Plan> = {}, planted?: Planted) {
  return fc.asyncProperty(steadyPlan, async (given) => {
    const calm = await lifeOf({ ...given, lives: [[]], outages: [] });
    const rough = await lifeOf({ ...given, ...changed }, planted);
    expect([...calm.outside.faults, ...rough.outside.faults]).toEqual([]);
    expect(rough.result).toMatchObject({ status: "completed", output: calm.result?.output });
    expect(rough.outside.seen).toEqual(calm.outside.seen);
    // Whoever is spawned is stopped when somebody else fails, and what it was doing is done again, as after a crash.
    const again = repeats(rough);
    for (const [what, times] of calm.outside.runs) {
      // Also a calm run may fail, by the time limit of that layer.
      expect(rough.outside.runs.get(what)).toBeGreaterThanOrEqual(Math.max(1, times - repeats(calm)));
      expect(rough.outside.runs.get(what)).toBeLessThanOrEqual(times + again);
    }
    // A layer that tries again has a time limit too, and may give up an answer.
    if (!hasTeam(given.root) && rough.outside.crashes === 0 && !given.isRetried)
      expect(answersOf(rough)).toBe(answersOf(calm));
  });
}

test(
  "T1: after any outages, retries and crashes a run has done what it does without them, and has paid for each answer once",
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(steadyProperty(), RUNS);
  },
);

test.each([
  ["an outage after which nothing is retried", steadyProperty({ retries: 0 })],
  ["a forgotten end", steadyProperty({}, "a forgotten end")],
])("that property notices %s", async (_, broken) => {
  const { failed } = await fc.check(broken, { seed: 1, numRuns: 1_000, endOnFailure: true });
  expect(failed).toBe(true);
});

function repeats({ outside }: Awaited<ReturnType<typeof lifeOf>>): number {
  return outside.crashes + outside.retried;
}

function hasTeam({ steps }: Life): boolean {
  return steps.some((step) =>
    step.do === "batch" ? step.leaves.some(isTeam) : step.do === "spawn" || isTeam(step),
  );
}

function isTeam(step: Step): boolean {
  return step.do === "hire" && hasTeam(step.life);
}

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
