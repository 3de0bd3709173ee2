import { FIGURES, SCENARIOS, workerArgs } from "./figures.ts";
import { childFigures, numberAt } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// Ravi's three configurations compared with the hand-written loop, in alternating processes.

const SUBJECTS = ["bare", "governed", "durable"] as const;
/**
 * Not measured with the durable runtime, where these would show only the disk's sync. The journal section measures that better,
 * with many runs at once.
 */
const NOT_DURABLE: ReadonlySet<string> = new Set(["S4heap", "S5", "S5callback"]);

export async function loops(pairs: number, only: readonly string[] = SCENARIOS): Promise<void> {
  const rows: string[][] = [];
  for (const scenario of SCENARIOS) {
    if (!only.some((name) => scenario.startsWith(name))) continue;
    for (const subject of SUBJECTS) {
      if (subject === "durable" && NOT_DURABLE.has(scenario)) continue;
      rows.push(...(await rowsOf(scenario, subject, pairs)));
      console.error(`bench: ${scenario} ${subject}`);
    }
  }
  console.log(table(["scenario", "subject", "hand-written", "ours", "ratio", "quartiles"], rows));
}

async function rowsOf(scenario: string, subject: string, pairs: number): Promise<string[][]> {
  const measure = (name: string) => () => childFigures(workerArgs(name, scenario));
  const measured = await measurePairs(pairs, measure(subject), measure("hand-written"));
  return FIGURES.filter((each) => each.scenario === scenario).map(({ title, field }) => {
    const { ours, base, ratio, spread } = compare(
      measured.map((pair) => ({
        ours: numberAt(pair.ours, field, subject),
        base: numberAt(pair.base, field, "hand-written"),
      })),
    );
    const quartiles = `${figure(spread[0])}–${figure(spread[1])}`;
    return [title, subject, figure(base), figure(ours), `${figure(ratio)}×`, quartiles];
  });
}
