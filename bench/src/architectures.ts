import { FIGURES, workerArgs } from "./figures.ts";
import { childNumber } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// What the strategies' common interface costs: ReAct behind it, compared with ReActAgent, which does not use it.

const SHOWN: ReadonlySet<string> = new Set(["S1", "S2", "S3"]);

export async function architectures(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const { scenario, field, title } of FIGURES.filter((each) => SHOWN.has(each.scenario))) {
    const measure = (subject: string) => () => childNumber(field, workerArgs(subject, scenario));
    const { ours, base, ratio, spread } = compare(
      await measurePairs(pairs, measure("strategy-react"), measure("react-agent")),
    );
    const quartiles = `${figure(spread[0])}–${figure(spread[1])}`;
    rows.push([title, figure(base), figure(ours), `${figure(ratio)}×`, quartiles]);
  }
  console.log(table(["scenario", "ReActAgent", "StrategyAgent", "ratio", "quartiles"], rows));
}
