import { childNumber } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// The scenarios of a single agent beside the hand-written loop, in alternating processes.

const SCENARIOS = {
  S1: "S1 one run, no tool, µs",
  S2: "S2 50 turns of one tool, µs/turn",
  S3: "S3 100 parallel calls, µs/call",
};

const SUBJECTS = { "bare-kernel": "bare context", "bare-runtime": "bare runtime" };

export async function loops(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const [scenario, title] of Object.entries(SCENARIOS)) {
    const measure = (subject: string) => (): Promise<number> =>
      childNumber("us", ["src/worker.ts", subject, scenario]);
    for (const [subject, name] of Object.entries(SUBJECTS)) {
      const { ours, base, ratio, spread } = compare(
        await measurePairs(pairs, measure(subject), measure("hand-written")),
      );
      const quartiles = `${figure(spread[0])}–${figure(spread[1])}`;
      rows.push([title, name, figure(base), figure(ours), `${figure(ratio)}×`, quartiles]);
    }
  }
  console.log(table(["scenario", "subject", "hand-written", "ours", "ratio", "quartiles"], rows));
}
