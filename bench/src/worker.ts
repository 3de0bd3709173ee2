import assert from "node:assert/strict";
import { DONE, type Plan, plans, ran } from "./fake.ts";

// One scenario of one subject in this process: node worker.ts <subject> <scenario>. Prints one JSON object.

const WARM_MS = Number(process.env["WARM_MS"] ?? 500);
const MEASURE_MS = Number(process.env["MEASURE_MS"] ?? 500);

interface Scenario {
  readonly plan: Plan;
  readonly tools: number;
  /** What the time of one run is divided by. */
  readonly units: number;
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  S1: { plan: plans.answer, tools: 0, units: 1 },
  S2: { plan: plans.turns(50), tools: 50, units: 50 },
  S3: { plan: plans.parallel(100), tools: 100, units: 100 },
};

const [subjectName = "", scenarioName = ""] = process.argv.slice(2);
const scenario = scenarios[scenarioName];
assert(scenario !== undefined, `no scenario ${scenarioName}; there are ${Object.keys(scenarios).join(", ")}`);
const { subject } = (await import(`./subjects/${subjectName}.ts`)) as {
  subject: (plan: Plan) => () => Promise<string>;
};
const run = subject(scenario.plan);

// What is fast and wrong is not measured.
ran.tools = 0;
assert.equal(await run(), DONE);
assert.equal(ran.tools, scenario.tools);

async function spend(milliseconds: number): Promise<number> {
  const start = performance.now();
  let runs = 0;
  do {
    await run();
    runs++;
  } while (performance.now() - start < milliseconds);
  return ((performance.now() - start) * 1000) / runs;
}

await spend(WARM_MS);
console.log(JSON.stringify({ us: (await spend(MEASURE_MS)) / scenario.units }));
