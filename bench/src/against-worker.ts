import assert from "node:assert/strict";
import { join } from "node:path";
import { DONE, plans } from "./fake.ts";
import { compare, type Pair } from "./harness/pairs.ts";
import { MEASURE_MS, spend, WARM_MS } from "./harness/timed.ts";
import type { Run, Subject } from "./subject.ts";

// Compares one scenario of one subject of two checkouts in this process: node against-worker.ts <subject> <scenario> <checkout>
// <other checkout>. They take turns every millisecond, so whatever slows the machine down slows both. Prints one JSON object.

const SLICE_MS = 1;
/** A measurement that takes ten times as long as that of a process of its own sees differences of 3 %. */
const TIMES = 10;
const [name = "", scenario = "", ...checkouts] = process.argv.slice(2);

const make: Readonly<Record<string, (subject: Subject) => Run | undefined>> = {
  S1: ({ subject }) => subject(plans.answer, { withTool: false }),
  S2: ({ subject }) => subject(plans.turns(50)),
  S3: ({ subject }) => subject(plans.parallel(100)),
  S8: ({ team }) => team?.(8, 3),
};

async function runOf(checkout = ""): Promise<Run> {
  const subject = (await import(join(checkout, "bench/src/subjects", `${name}.ts`))) as Subject;
  const run = make[scenario]?.(subject);
  assert(run !== undefined, `unknown scenario ${scenario} of ${name}`);
  assert.equal(await run(), DONE);
  return run;
}

const [ours, base] = [await runOf(checkouts[0]), await runOf(checkouts[1])];

async function takeTurns(milliseconds: number): Promise<Pair[]> {
  const pairs: Pair[] = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const first = await spend(ours, SLICE_MS);
    const second = await spend(base, SLICE_MS);
    pairs.push(
      { ours: first, base: second },
      { base: await spend(base, SLICE_MS), ours: await spend(ours, SLICE_MS) },
    );
  }
  return pairs;
}

await takeTurns(2 * WARM_MS);
const { ratio } = compare(await takeTurns(TIMES * MEASURE_MS));
console.log(JSON.stringify({ ratio }));
process.exit(0);
