import { join } from "node:path";
import { BENCH, childNumber } from "./harness/child.ts";
import { compare, measurePairs } from "./harness/pairs.ts";
import { table } from "./harness/table.ts";

// What a change costs: this checkout compared with another one, in one process. On a machine that others use too, two processes
// differ by a half, and the two sides of one process by 1 to 3 %.

const SUBJECTS = ["bare", "governed"];
const SCENARIOS = ["S1", "S2", "S3", "S8"];

export async function against(
  pairs: number,
  asked: readonly string[] | undefined,
  folder: string,
): Promise<void> {
  const checkouts = [join(BENCH, ".."), folder];
  const scenarios = SCENARIOS.filter((scenario) => asked?.includes(scenario) ?? true);
  const rows: string[][] = [];
  for (const subject of SUBJECTS) {
    for (const scenario of scenarios) {
      const ratio = (sides: readonly string[]): Promise<number> =>
        childNumber("ratio", ["src/against-worker.ts", subject, scenario, ...sides]);
      // The side that is loaded first may be compiled a little differently, so every other process loads the other one first.
      const measured = await measurePairs(
        Math.ceil(pairs / 2),
        () => ratio(checkouts),
        () => ratio(checkouts.toReversed()),
      );
      const ratios = measured.flatMap(({ ours, base }) => [ours, 1 / base]);
      const { ratio: middle, spread } = compare(ratios.map((ours) => ({ ours, base: 1 })));
      const [low, high] = spread;
      rows.push([`${scenario}, ${subject}`, middle.toFixed(3), `${low.toFixed(3)}–${high.toFixed(3)}`]);
    }
  }
  console.log(table([`time compared with ${folder}`, "median", "quartiles"], rows));
}
