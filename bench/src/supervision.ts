import { pathToFileURL } from "node:url";
import { AgentId, type Lease, Priority } from "@ravi/kernel";
import { SpawnTracker } from "@ravi/supervision";

// One slot taken and given back while many others are held: does the tracker slow down as the tree grows? Each step
// replaces a random live agent, which is the worst case for the processor's caches; the Map beside it does the same.

const LIVE = [10, 1_000, 100_000] as const;
const OPS = 400_000;
const ROUNDS = 9;
const root = AgentId("lead");

/** Ids and random picks are made beforehand, so that neither is measured. */
interface Plan {
  readonly live: readonly AgentId[];
  readonly spare: readonly AgentId[];
  readonly picks: Uint32Array;
}

type Subject = (plan: Plan) => () => void;

function plan(live: number): Plan {
  let state = 1;
  const picks = Uint32Array.from({ length: OPS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % live;
  });
  return { live: ids("worker", live), spare: ids("next", OPS), picks };
}

function ids(name: string, count: number): AgentId[] {
  return Array.from({ length: count }, (_, at) => AgentId(name, at));
}

let sink = 0;

const counter: Subject = ({ picks }) => {
  let n = picks.length;
  return () => {
    for (const pick of picks) {
      n--;
      sink += pick & n;
      n++;
    }
  };
};

const map: Subject = ({ live, spare, picks }) => {
  const holders = new Map<AgentId, Priority>(live.map((id) => [id, Priority.NORMAL]));
  const names = [...live];
  return () => {
    for (const [at, pick] of picks.entries()) {
      holders.delete(names[pick] ?? root);
      const id = spare[at] ?? root;
      holders.set(id, Priority.NORMAL);
      names[pick] = id;
    }
  };
};

const acquireRelease: Subject = ({ live, spare, picks }) => {
  const tracker = new SpawnTracker({ maxAgents: live.length + 1 }, { rootId: root });
  const leases: Lease[] = live.map((id) => tracker.acquire(id));
  return () => {
    for (const [at, pick] of picks.entries()) {
      leases[pick]?.release();
      leases[pick] = tracker.acquire(spare[at] ?? root);
    }
  };
};

/** Every hire pauses somebody, every release resumes somebody. */
const preemptResume: Subject = ({ live, spare }) => {
  const tracker = new SpawnTracker({ maxAgents: live.length + 1 }, { rootId: root });
  for (const id of live) tracker.acquire(id);
  return () => {
    for (const id of spare) tracker.acquire(id, Priority.HIGH).release();
  };
};

/** The best round's nanoseconds per operation: noise only ever adds. Each round starts anew. */
function measure(subject: Subject, on: Plan): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const run = subject(on);
    const start = performance.now();
    run();
    best = Math.min(best, ((performance.now() - start) * 1e6) / OPS);
  }
  return best;
}

const SUBJECTS: readonly (readonly [string, Subject])[] = [
  ["plain counter, n-- and n++", counter],
  ["Map, delete and set", map],
  ["SpawnTracker, release and acquire", acquireRelease],
  ["SpawnTracker, preempt and resume", preemptResume],
];

export async function supervision(): Promise<void> {
  const titles = LIVE.map((live) => `${live.toLocaleString("en")} agents`);
  const rows = [["ns per pair of operations", ...titles, `${LIVE[2] / LIVE[1]} times as many`]];
  const plans = LIVE.map(plan);
  for (const [name, subject] of SUBJECTS) {
    const figures = plans.map((each) => measure(subject, each));
    const ratio = (figures[2] ?? NaN) / (figures[1] ?? NaN);
    rows.push([name, ...figures.map((ns) => ns.toFixed(ns < 10 ? 1 : 0)), `${ratio.toFixed(2)}×`]);
  }
  for (const [name = "", ...cells] of rows) {
    console.log(name.padEnd(36) + cells.map((cell) => cell.padStart(18)).join(""));
  }
  // Printed, so that no loop can be left out as useless.
  if (sink === 0.5) console.log(sink);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await supervision();
}
