import { AgentId, type Lease, Priority } from "@ravi/kernel";
import { SpawnTracker } from "@ravi/supervision";

// Acquires and releases one slot while many others are held: does the tracker slow down as the tree grows?

const LIVE = [10, 1_000, 100_000] as const;
const OPS = 200_000;
const ROUNDS = 9;
const root = AgentId("lead");

const helper = AgentId("helper");

/** Ids and random picks are prepared in advance, so that making them is not measured. */
interface Plan {
  readonly live: readonly AgentId[];
  readonly spare: readonly AgentId[];
  readonly picks: readonly number[];
}

type Subject = (plan: Plan) => () => void;

function plan(live: number): Plan {
  let state = 1;
  const picks = Array.from({ length: OPS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % live;
  });
  return { live: ids("worker", live), spare: ids("helper", 1_000), picks };
}

function ids(name: string, count: number): AgentId[] {
  return Array.from({ length: count }, (_, at) => AgentId(name, at));
}

const counter: Subject = ({ live }) => {
  const count = { n: live.length };
  return () => {
    for (let at = 0; at < OPS; at++) {
      count.n++;
      count.n--;
    }
  };
};

const mapOneMore: Subject = ({ live, spare }) => {
  const holders = new Map<AgentId, Priority>(live.map((id) => [id, Priority.NORMAL]));
  return () => {
    for (let at = 0; at < OPS; at++) {
      const id = spare[at % 1_000] ?? helper;
      holders.set(id, Priority.NORMAL);
      holders.delete(id);
    }
  };
};

const mapAnyone: Subject = ({ live, picks }) => {
  const holders = new Map<AgentId, Priority>(live.map((id) => [id, Priority.NORMAL]));
  return () => {
    for (let at = 0; at < OPS; at++) {
      const id = live[picks[at] ?? 0] ?? helper;
      holders.delete(id);
      holders.set(id, Priority.NORMAL);
    }
  };
};

function filled(live: readonly AgentId[], room: number): { tracker: SpawnTracker; leases: Lease[] } {
  const tracker = new SpawnTracker({ maxAgents: live.length + 1 + room }, { rootId: root });
  return { tracker, leases: live.map((id) => tracker.acquire(id)) };
}

/** One more agent is hired and released, a different one each time. */
const oneMore: Subject = ({ live, spare }) => {
  const { tracker } = filled(live, 1);
  return () => {
    for (let at = 0; at < OPS; at++) tracker.acquire(spare[at % 1_000] ?? helper).release();
  };
};

/** The same agent is hired and released again and again. A plain Map takes 60 µs and more for this among 100,000 others. */
const sameOne: Subject = ({ live }) => {
  const { tracker } = filled(live, 1);
  return () => {
    for (let at = 0; at < OPS; at++) tracker.acquire(helper).release();
  };
};

/** A random agent is released and hired again: the worst case for the processor's caches. */
const anyone: Subject = ({ live, picks }) => {
  const { tracker, leases } = filled(live, 0);
  return () => {
    for (let at = 0; at < OPS; at++) {
      const pick = picks[at] ?? 0;
      leases[pick]?.release();
      leases[pick] = tracker.acquire(live[pick] ?? helper);
    }
  };
};

/** Every hire pauses an agent, every release resumes one. */
const preempt: Subject = ({ live }) => {
  const { tracker } = filled(live, 0);
  return () => {
    for (let at = 0; at < OPS; at++) tracker.acquire(helper, Priority.HIGH).release();
  };
};

/** A whole tree, from the creation of its headcount to the last release. */
const wholeTree =
  (shape: "flat" | "deep"): Subject =>
  ({ live }) =>
  () => {
    for (let done = 0; done < OPS; done += live.length) {
      const tracker = new SpawnTracker({ maxAgents: live.length + 1 }, { rootId: root });
      const leases: Lease[] = [];
      let parentId = root;
      for (const id of live) {
        leases.push(tracker.acquire(id, Priority.NORMAL, { parentId }));
        if (shape === "deep") parentId = id;
      }
      for (const lease of leases) lease.release();
    }
  };

const SUBJECTS: readonly (readonly [string, Subject])[] = [
  ["one more: plain counter, n++ and n--", counter],
  ["one more: Map, set and delete", mapOneMore],
  ["one more: SpawnTracker", oneMore],
  ["the same one again: SpawnTracker", sameOne],
  ["anyone replaced: Map", mapAnyone],
  ["anyone replaced: SpawnTracker", anyone],
  ["one paused and resumed: SpawnTracker", preempt],
  ["a whole tree: all of the root", wholeTree("flat")],
  ["a whole tree: each of the one before", wholeTree("deep")],
];

/** Nanoseconds per acquire and release in the best round, since noise only ever adds time. */
function measure(subject: Subject, on: Plan): number {
  const run = subject(on);
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    run();
    best = Math.min(best, ((performance.now() - start) * 1e6) / OPS);
  }
  return best;
}

export async function supervision(): Promise<void> {
  const titles = LIVE.map((live) => `${live.toLocaleString("en")} agents`);
  const rows = [["headcount, ns per acquire and release", ...titles, "100,000 : 1,000"]];
  const plans = LIVE.map(plan);
  for (const [name, subject] of SUBJECTS) {
    const figures = plans.map((each) => measure(subject, each));
    const ratio = (figures[2] ?? NaN) / (figures[1] ?? NaN);
    rows.push([name, ...figures.map((ns) => ns.toFixed(ns < 10 ? 1 : 0)), `${ratio.toFixed(2)}×`]);
  }
  for (const [name = "", ...cells] of rows) {
    console.log(name.padEnd(38) + cells.map((cell) => cell.padStart(17)).join(""));
  }
}
