import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Asked, DONE, type Plan, plans, ran } from "./fake.ts";
import { collect, eventLoopDelay, liveHeap } from "./harness/memory.ts";
import { median } from "./harness/pairs.ts";
import { perRun, MEASURE_MS, WARM_MS } from "./harness/timed.ts";
import type { Run, Subject } from "./subject.ts";

// A wrong result is never timed: every scenario first checks its result and how often the tool ran.

type Figures = Readonly<Record<string, number | string>>;
type Scenario = (subject: Subject) => Promise<Figures>;

const RUNS_AT_ONCE = 1_000;
const DELTAS = 20_000;
/** Runs before a burst is measured. More of them would hide what a burst costs. */
const FIRST_RUNS = 50;

async function checked(run: Run, tools: number): Promise<void> {
  ran.tools = 0;
  assert.equal(await run(), DONE);
  assert.equal(ran.tools, tools);
}

function loop(plan: Plan, tools: number, units: number): Scenario {
  return async ({ subject }) => {
    const run = subject(plan, { withTool: tools > 0 });
    await checked(run, tools);
    return { us: (await perRun(run)) / units };
  };
}

function streamed(how: "stream" | "streamByCallback"): Scenario {
  return async (subject) => {
    const make = subject[how];
    // Not every peer supports both ways of reading a stream.
    if (make === undefined) return {};
    const run = make(DELTAS);
    assert.equal(await run(), DELTAS);
    return { us: (await perRun(run)) / DELTAS };
  };
}

/** 1,000 runs at once, with 5 turns each and a model that takes 20 ms. */
async function burst({ subject }: Subject): Promise<Figures> {
  const turns = plans.turns(5);
  const run = subject((last) => sleep(20).then(() => turns(last)));
  await checked(run, 5);
  await Promise.all(Array.from({ length: FIRST_RUNS }, run));
  collect();
  await sleep(100);
  ran.tools = 0;
  const delay = eventLoopDelay();
  const start = performance.now();
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, run));
  const wallMs = performance.now() - start;
  const p99Ms = await delay.p99();
  assert.equal(ran.tools, RUNS_AT_ONCE * 5);
  return { wallMs, p99Ms };
}

/** Holds 1,000 runs in their last model call and measures the live heap of a run in flight. */
async function held({ subject }: Subject): Promise<Figures> {
  const turns = plans.turns(5);
  let waiting = 0;
  let [gate, full] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let wanted = 0;
  const hold = async (): Promise<Asked> => {
    if (++waiting === wanted) full.resolve();
    await gate.promise;
    return null;
  };
  const run = subject((last) => (last === 5 ? hold() : turns(last)));
  // Returned in an array, since a promise returned by an async function would be awaited.
  const start = async (count: number): Promise<readonly Promise<string>[]> => {
    [waiting, wanted, gate, full] = [0, count, Promise.withResolvers(), Promise.withResolvers()];
    const started = Array.from({ length: count }, run);
    await full.promise;
    return started;
  };
  const first = await start(FIRST_RUNS);
  gate.resolve();
  await Promise.all(first);
  const before = await liveHeap();
  const running = await start(RUNS_AT_ONCE);
  const heapKB = ((await liveHeap()) - before) / 1_024 / RUNS_AT_ONCE;
  gate.resolve();
  for (const each of running) assert.equal(await each, DONE);
  return { heapKB };
}

/** Whether a turn gets more expensive as a run gets longer: the last 50 of 400 turns compared with the first 50. */
async function growth({ subject }: Subject): Promise<Figures> {
  const turns = plans.turns(400);
  let at: number[] = [];
  const run = subject((last) => {
    at.push(performance.now());
    return turns(last);
  });
  await checked(run, 400);
  const between = (from: number, to: number): number =>
    (((at[to] ?? Number.NaN) - (at[from] ?? Number.NaN)) * 1_000) / 50;
  const [first, last]: [number[], number[]] = [[], []];
  const started = performance.now();
  for (let runs = 0; performance.now() < started + WARM_MS + MEASURE_MS || first.length < 3; runs++) {
    at = [];
    await run();
    if (runs < 3 || performance.now() < started + WARM_MS) continue;
    first.push(between(0, 50));
    last.push(between(350, 400));
  }
  const [firstUs, lastUs] = [median(first), median(last)];
  return { firstUs, lastUs, growth: lastUs / firstUs };
}

async function hired({ team }: Subject): Promise<Figures> {
  assert(team !== undefined, "the subject has no team");
  const run = team(8, 3);
  await checked(run, 24);
  return { us: await perRun(run) };
}

/** Measures nothing. Checks whether arguments that break the schema are kept from the tool, and whether the model is told. */
async function check({ subject }: Subject): Promise<Figures> {
  await checked(subject(plans.turns(5)), 5);
  ran.tools = 0;
  const invalid = await subject(plans.invalid)().then(
    () => "told the model",
    (error: unknown) => `threw ${error instanceof Error ? error.name : String(error)}`,
  );
  return { invalid, toolRanOnInvalid: ran.tools };
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  check,
  S1: loop(plans.answer, 0, 1),
  S2: loop(plans.turns(50), 50, 50),
  S3: loop(plans.parallel(100), 100, 100),
  S4: burst,
  S4heap: held,
  S5: streamed("stream"),
  S5callback: streamed("streamByCallback"),
  S7: growth,
  S8: hired,
};
