import assert from "node:assert/strict";
import { plans } from "./fake.ts";
import { collect } from "./harness/memory.ts";
import { spend, WARM_MS } from "./harness/timed.ts";
import type { Run, Subject } from "./subject.ts";

// Measures one subject before and after a collection, in this process: node --expose-gc idle-worker.ts <subject> <scenario>.
// Prints one JSON object of microseconds.

const TURNS = 50;
const [name = "", scenario = ""] = process.argv.slice(2);
const { subject, team } = (await import(`./subjects/${name}.ts`)) as Subject;

const runs: Readonly<Record<string, { readonly run: Run | undefined; readonly units: number }>> = {
  S1: { run: subject(plans.answer, { withTool: false }), units: 1 },
  S2: { run: subject(plans.turns(TURNS)), units: TURNS },
  S8: { run: team?.(8, 3), units: 1 },
};
const { run, units = 1 } = runs[scenario] ?? {};
assert(run !== undefined, `unknown scenario ${scenario} of ${name}`);
await spend(run, WARM_MS);
const before = await spend(run, 500);
// Nothing is in flight now, as in a server that is idle.
collect();
const first = await spend(run, 100);
const second = await spend(run, 100);
await spend(run, 400);
const later = await spend(run, 400);
const figures = { before, first, second, later };
console.log(
  JSON.stringify(Object.fromEntries(Object.entries(figures).map(([when, us]) => [when, us / units]))),
);
process.exit(0);
