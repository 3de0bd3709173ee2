import { execFileSync } from "node:child_process";
import assert from "node:assert/strict";
import { DONE, plans } from "./fake.ts";
import type { Run, Subject } from "./subject.ts";

// Runs one scenario of one subject under callgrind, which counts only the last runs: valgrind --tool=callgrind --instr-atstart=no node
// counts-worker.ts <subject> <scenario> <runs before> <runs counted>.

const [name = "", scenario = "", before = "", counted = ""] = process.argv.slice(2);

const make: Readonly<Record<string, (subject: Subject) => Run | undefined>> = {
  S1: ({ subject }) => subject(plans.answer, { withTool: false }),
  S2: ({ subject }) => subject(plans.turns(50)),
  S3: ({ subject }) => subject(plans.parallel(100)),
  S8: ({ team }) => team?.(8, 3),
};

const run = make[scenario]?.((await import(`./subjects/${name}.ts`)) as Subject);
assert(run !== undefined, `unknown scenario ${scenario} of ${name}`);
assert.equal(await run(), DONE);

function count(isOn: "on" | "off"): void {
  execFileSync("callgrind_control", ["-i", isOn, String(process.pid)], { stdio: "ignore" });
}

for (let runs = Number(before); runs > 0; runs--) await run();
count("on");
for (let runs = Number(counted); runs > 0; runs--) await run();
count("off");
process.exit(0);
