import os from "node:os";
import { parseArgs } from "node:util";
import { hooks } from "./hooks.ts";
import { imports } from "./imports.ts";
import { journal } from "./journal.ts";
import { loops } from "./loops.ts";
import { middleware } from "./middleware.ts";
import { resources } from "./resources.ts";
import { resume } from "./resume.ts";
import { supervision } from "./supervision.ts";

const HELP = `bench: what Ravi costs, beside the plain code that it replaces.

  pnpm bench [SECTION ...] [--pairs N]

  imports   what importing an entry costs above an empty process
  loops     one agent beside a hand-written loop (S1, S2, S3)
  supervision, resources, hooks, middleware, journal
            what each package costs beside the plain code that it wraps
  resume    how long a run of 100,000 entries takes to catch up with its record

  --pairs N   how often each pair is measured (default 15)

Everything runs in alternating child processes; a ratio is the median of paired ratios. WARM_MS and MEASURE_MS (500)
set how long a process warms up and measures.`;

const sections: Readonly<Record<string, (pairs: number) => Promise<void>>> = {
  imports,
  loops,
  supervision,
  resources,
  hooks,
  middleware,
  journal: () => journal(),
  resume,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pairs: { type: "string", default: "15" }, help: { type: "boolean", default: false } },
});
const pairs = Number(values.pairs);
const unknown = positionals.filter((name) => !Object.hasOwn(sections, name));
if (values.help) {
  console.log(HELP);
} else if (unknown.length > 0 || !Number.isInteger(pairs) || pairs < 1) {
  const problem =
    unknown.length > 0
      ? `no section ${unknown.join(", ")}`
      : `--pairs is ${values.pairs}; expected a whole number above 0`;
  console.error(`bench: ${problem}\n\n${HELP}`);
  process.exitCode = 1;
} else {
  console.log(
    `${new Date().toISOString().slice(0, 10)}  Node ${process.version}  ${os.cpus().length} × ${os.cpus()[0]?.model}\n`,
  );
  for (const name of positionals.length > 0 ? positionals : Object.keys(sections)) {
    await sections[name]?.(pairs);
    console.log();
  }
}
