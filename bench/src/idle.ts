import { childFigures, type Figures, numberAt } from "./harness/child.ts";
import { median } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// What runs cost right after a garbage collection that found none in flight. V8 then forgets what it has compiled for objects that
// are no more: see docs/decisions/0030.

const SUBJECTS = ["hand-written", "bare", "governed"];
const CASES = { S1: "one run, no tool", S2: "a turn with one tool", S8: "a lead with 8 sub-agents" };
const WHEN = ["before", "first", "second", "later"] as const;

export async function idle(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const [scenario, what] of Object.entries(CASES)) {
    for (const subject of SUBJECTS) {
      const args = ["--expose-gc", "src/idle-worker.ts", subject, scenario];
      const measured: Figures[] = [];
      for (let n = 0; n < pairs; n++) measured.push(await childFigures(args));
      rows.push([
        `${scenario} ${what}, ${subject}`,
        ...WHEN.map((when) => figure(median(measured.map((one) => numberAt(one, when, args.join(" ")))))),
      ]);
    }
  }
  const head = ["µs", "before a collection", "first 100 ms after it", "second 100 ms", "from 600 ms on"];
  console.log(table(head, rows));
}
