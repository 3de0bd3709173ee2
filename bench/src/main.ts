import os from "node:os";
import { architectures } from "./architectures.ts";
import { growth, parkedRuns } from "./growth.ts";
import { SCENARIOS } from "./figures.ts";
import { hooks } from "./hooks.ts";
import { imports } from "./imports.ts";
import { journal } from "./journal.ts";
import { loops } from "./loops.ts";
import { middleware } from "./middleware.ts";
import { readOptions } from "./options.ts";
import { resources } from "./resources.ts";
import { resume } from "./resume.ts";
import { session } from "./session.ts";
import { supervision } from "./supervision.ts";

const HELP = `bench: what Ravi costs, beside the plain code that it replaces.

  pnpm bench [SECTION ...] [--pairs N] [--scenarios S1,S2]

  imports   what importing an entry costs above an empty process, and what an install brings (S6)
  loops     agents on a bare, a governed and a durable runtime beside a hand-written loop (S1 to S5, S7, S8)
  growth    what must not grow: with the size of a tree, with a history, with runs that wait or are over
  architectures
            ReAct behind the interface of all strategies beside ReActAgent
  supervision, resources, hooks, middleware, journal
            what each package costs beside the plain code that it wraps
  resume    how long a run of 100,000 entries takes to catch up with its record
  session   what opening a session of 100,000 entries takes, and an entry at its end

  parked    100,000 runs that wait in a SQLite file (PARKED_RUNS for another number); long, so only when it is named

  --scenarios S1,S2   of the loops, only these
  --pairs N   how often each pair is measured (default 15)

Everything runs in alternating child processes; a ratio is the median of paired ratios. WARM_MS (2000) and MEASURE_MS
(500) set how long a process warms up and measures. All of it takes about an hour; --pairs 3 shows the same in ten minutes.`;

const sections: Readonly<Record<string, (pairs: number, scenarios?: readonly string[]) => Promise<void>>> = {
  imports,
  loops,
  growth,
  architectures,
  supervision,
  resources,
  hooks,
  middleware,
  journal,
  resume,
  session,
  parked: parkedRuns,
};
const ONLY_BY_NAME = "parked";

const asked = readOptions(process.argv.slice(2), Object.keys(sections), SCENARIOS);
if (asked === "help") {
  console.log(HELP);
} else if ("problem" in asked) {
  console.error(`bench: ${asked.problem}\n  --help lists what there is`);
  process.exitCode = 1;
} else {
  console.log(
    `${new Date().toISOString().slice(0, 10)}  Node ${process.version}  ${os.cpus().length} × ${os.cpus()[0]?.model}\n`,
  );
  const named = Object.keys(sections).filter((name) => name !== ONLY_BY_NAME);
  for (const name of asked.sections.length > 0 ? asked.sections : named) {
    await sections[name]?.(asked.pairs, asked.scenarios);
    console.log();
  }
}
