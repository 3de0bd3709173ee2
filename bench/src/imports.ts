import { childNumber } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// What importing an entry costs above an empty process. `performance.now()` counts from the start of the process.

const ENTRIES = ["@ravi/kernel", "@ravi/kernel/loop", "zod"] as const;

async function start(statement: string): Promise<number> {
  const code = `${statement} console.log(JSON.stringify({ ms: performance.now() }))`;
  return childNumber("ms", ["--input-type=module", "-e", code]);
}

export async function imports(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const entry of ENTRIES) {
    const measured = await measurePairs(
      pairs,
      () => start(`await import(${JSON.stringify(entry)});`),
      () => start(""),
    );
    const above = measured.map(({ ours, base }) => ({ ours: ours - base, base: 1 }));
    const { ours, spread } = compare(above);
    rows.push([
      entry,
      figure(ours),
      `${figure(spread[0])}–${figure(spread[1])}`,
      figure(compare(measured).base),
    ]);
  }
  console.log(table(["import, ms above an empty process", "median", "quartiles", "empty process"], rows));
}
