import { existsSync } from "node:fs";
import { join } from "node:path";
import { BENCH, childFigures, childNumber, numberAt } from "./harness/child.ts";
import { compare, measurePairs, median } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";
import { installedSize } from "./installed.ts";

// S6. What importing an entry costs above an empty process, and what installing a package brings. `performance.now()` counts from
// the start of the process, so it includes loading.

const ENTRIES: readonly (readonly string[])[] = [
  ["@ravi/kernel"],
  ["@ravi/kernel/loop"],
  ["@ravi/kernel", "@ravi/react-agent"],
  ["@ravi/react-agent", "@ravi/runtime"],
  ["zod"],
];
const FIRST = ["hand-written", "bare", "governed", "sdk"];
const PACKAGES = ["kernel", "react-agent", "runtime", "orchestrator", "sdk"];

async function start(entries: readonly string[]): Promise<number> {
  const statements = entries.map((entry) => `await import(${JSON.stringify(entry)});`).join(" ");
  const code = `${statements} console.log(JSON.stringify({ ms: performance.now() }))`;
  return childNumber("ms", ["--input-type=module", "-e", code]);
}

export async function imports(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const entries of ENTRIES) {
    const measured = await measurePairs(
      pairs,
      () => start(entries),
      () => start([]),
    );
    const above = measured.map(({ ours, base }) => ({ ours: ours - base, base: 1 }));
    const { ours, spread } = compare(above);
    rows.push([
      entries.join(" + "),
      figure(ours),
      `${figure(spread[0])}–${figure(spread[1])}`,
      figure(compare(measured).base),
    ]);
  }
  console.log(table(["S6 import, ms above an empty process", "median", "quartiles", "empty process"], rows));
  console.log();
  await firstRuns(pairs);
  console.log();
  const sizes = PACKAGES.map((name) => ({ name, folder: join(BENCH, "../packages", name) }))
    .filter(({ folder }) => existsSync(join(folder, "package.json")))
    .map(({ name, folder }) => {
      const { megabytes, packages } = installedSize(folder);
      return [`@ravi/${name}`, megabytes.toFixed(1), String(packages)];
    });
  console.log(table(["S6 installed, with all dependencies", "MB", "packages"], sizes));
}

/** What the first run takes after the import, when nothing is compiled, and the memory of the process after it. */
async function firstRuns(rounds: number): Promise<void> {
  const rows: string[][] = [];
  for (const subject of FIRST) {
    const ms: number[] = [];
    const megabytes: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const figures = await childFigures(["src/first-worker.ts", subject]);
      ms.push(numberAt(figures, "ms", subject));
      megabytes.push(numberAt(figures, "megabytes", subject));
    }
    rows.push([subject, figure(median(ms)), figure(median(megabytes))]);
  }
  console.log(table(["the first run of a process, ms", "median", "MB of memory"], rows));
}
