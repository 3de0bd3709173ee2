import { FIGURES, SCENARIOS, workerArgs } from "./figures.ts";
import { childFigures, numberAt } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// Ravi's three configurations, and the sdk's `run`, compared with the hand-written loop, in alternating processes.

const SUBJECTS = ["bare", "governed", "sdk", "durable"] as const;
/**
 * What is not measured with one of them. With the durable runtime these would show only the disk's sync; the journal section measures
 * that better, with many runs at once. The sdk streams as its runtime does.
 */
const WITHOUT: Readonly<Partial<Record<(typeof SUBJECTS)[number], readonly string[]>>> = {
  durable: ["S4heap", "S5", "S5callback"],
  sdk: ["S5", "S7"],
};

export async function loops(pairs: number, only: readonly string[] = SCENARIOS): Promise<void> {
  const rows: string[][] = [];
  for (const scenario of SCENARIOS) {
    if (!only.some((name) => scenario.startsWith(name))) continue;
    for (const subject of SUBJECTS) {
      if (WITHOUT[subject]?.includes(scenario) === true) continue;
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
