import os from "node:os";
import { against } from "./against.ts";
import { architectures } from "./architectures.ts";
import { counts } from "./counts.ts";
import { growth, parkedRuns } from "./growth.ts";
import { SCENARIOS } from "./figures.ts";
import { hooks } from "./hooks.ts";
import { idle } from "./idle.ts";
import { imports } from "./imports.ts";
import { journal } from "./journal.ts";
import { loops } from "./loops.ts";
import { middleware } from "./middleware.ts";
import { readOptions } from "./options.ts";
import { resources } from "./resources.ts";
import { resume } from "./resume.ts";
import { session } from "./session.ts";
import { supervision } from "./supervision.ts";

const HELP = `bench: measures what Ravi costs, compared with the plain code that it replaces.

  pnpm bench [SECTION ...] [--pairs N] [--scenarios S1,S2]
  pnpm bench --against FOLDER [--pairs N] [--scenarios S1,S2]

  imports   the time to import an entry, compared with an empty process, that of the first run, and the size of an install (S6)
  loops     agents on a bare, a governed and a durable runtime, and with run of the sdk, compared with a hand-written loop
            (S1 to S5, S7, S8)
  growth    costs that must not grow with the size of the tree, the history, or the number of waiting and finished runs
  idle      runs right after a garbage collection that found none in flight
  architectures
            the ReAct strategy, compared with ReActAgent
  supervision, resources, hooks, middleware, journal
            each package, compared with the plain code that it wraps
  resume    the time to resume a run of 100,000 entries
  session   the time to open a session of 100,000 entries, and to append to it

  parked    100,000 waiting runs in a SQLite file (PARKED_RUNS sets the number); slow, so it runs only if it is named
  counts    the instructions of S1, S2, S3 and S8, which do not depend on what else the machine does; needs valgrind, and about
            ten minutes, so it runs only if it is named

  --against FOLDER    compares this checkout with another one, both built (S1, S2, S3 and S8). Both run in one process and take
                      turns every millisecond: that sees differences of 3 %, also on a machine that others use
  --scenarios S1,S2   only these scenarios of loops
  --pairs N           how often each pair is measured (default: 15)

Everything runs in alternating child processes; a ratio is the median of paired ratios. WARM_MS (2000) and MEASURE_MS
(500) set how long a process warms up and measures. All sections take about an hour; with --pairs 3, about ten minutes.`;

const sections: Readonly<Record<string, (pairs: number, scenarios?: readonly string[]) => Promise<void>>> = {
  imports,
  loops,
  growth,
  idle,
  architectures,
  supervision,
  resources,
  hooks,
  middleware,
  journal,
  resume,
  session,
  parked: parkedRuns,
  counts,
};
const ONLY_BY_NAME = ["parked", "counts"];

const asked = readOptions(process.argv.slice(2), Object.keys(sections), SCENARIOS);
if (asked === "help") {
  console.log(HELP);
} else if ("problem" in asked) {
  console.error(`bench: ${asked.problem}\n  --help lists all sections and options`);
  process.exitCode = 1;
} else {
  console.log(
    `${new Date().toISOString().slice(0, 10)}  Node ${process.version}  ${os.cpus().length} × ${os.cpus()[0]?.model}\n`,
  );
  if (asked.against !== undefined) await against(asked.pairs, asked.scenarios, asked.against);
  const named =
    asked.against === undefined ? Object.keys(sections).filter((name) => !ONLY_BY_NAME.includes(name)) : [];
  for (const name of asked.sections.length > 0 ? asked.sections : named) {
    await sections[name]?.(asked.pairs, asked.scenarios);
    console.log();
  }
}
