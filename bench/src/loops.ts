import { childNumber } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// The scenarios of a single agent beside the hand-written loop, in alternating processes.

const SCENARIOS = {
  S1: "S1 one run, no tool, µs",
  S2: "S2 50 turns of one tool, µs/turn",
  S3: "S3 100 parallel calls, µs/call",
};

export async function loops(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const [scenario, title] of Object.entries(SCENARIOS)) {
    const measure = (subject: string) => (): Promise<number> =>
      childNumber("us", ["src/worker.ts", subject, scenario]);
    const { ours, base, ratio, spread } = compare(
      await measurePairs(pairs, measure("bare-kernel"), measure("hand-written")),
    );
    rows.push([
      title,
      figure(base),
      figure(ours),
      `${figure(ratio)}×`,
      `${figure(spread[0])}–${figure(spread[1])}`,
    ]);
  }
  console.log(table(["scenario", "hand-written", "bare context", "ratio", "quartiles"], rows));
}
