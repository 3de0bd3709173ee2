import { childFigures, numberAt } from "./harness/child.ts";
import { compare, measurePairs, median } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// Costs that must not grow. Each larger size is compared with the smallest one, in alternating processes.

const CASES = [
  {
    name: "tree",
    title: "tree of agents under one headcount and ledger, µs/agent",
    sizes: [10, 1_000, 10_000],
  },
  { name: "history", title: "history of messages, µs/turn", sizes: [10, 10_000] },
] as const;

const KEPT = [
  { name: "parked", title: "heap of a run that waits, kB", size: 5_000 },
  { name: "finished", title: "heap left by a run that is over, kB", size: 20_000 },
] as const;

const args = (name: string, size: number): string[] => [
  "--expose-gc",
  "src/growth-worker.ts",
  name,
  String(size),
];

export async function growth(pairs: number): Promise<void> {
  const rows: string[][] = [];
  for (const { name, title, sizes } of CASES) {
    const [least, ...larger] = sizes;
    const measure = (size: number) => async () => numberAt(await childFigures(args(name, size)), "us", name);
    for (const size of larger) {
      const { ours, base, ratio, spread } = compare(await measurePairs(pairs, measure(size), measure(least)));
      rows.push([
        title,
        `${least} → ${size.toLocaleString("en")}`,
        figure(base),
        figure(ours),
        `${figure(ratio)}×`,
        `${figure(spread[0])}–${figure(spread[1])}`,
      ]);
    }
  }
  console.log(table(["growth", "from → to", "small", "large", "ratio", "quartiles"], rows));
  console.log();
  const kept: string[][] = [];
  for (const { name, title, size } of KEPT) {
    const values: number[] = [];
    for (let n = 0; n < Math.min(pairs, 5); n++)
      values.push(numberAt(await childFigures(args(name, size)), "kB", name));
    kept.push([title, size.toLocaleString("en"), median(values).toFixed(2)]);
  }
  console.log(table(["bare runtime", "runs", "kB"], kept));
}

const PARKED = Number(process.env["PARKED_RUNS"] ?? 100_000);

/** Takes long, so it runs only if it is named on the command line. */
export async function parkedRuns(): Promise<void> {
  const figures = await childFigures(args("parkedOnDisk", PARKED));
  const number = (field: string): number => numberAt(figures, field, "parkedOnDisk");
  const rows = [
    ["started and parked, runs/s", figure(PARKED / (number("startMs") / 1_000))],
    ["on disk, kB a run", figure(number("kBPerRun"))],
    ["list of all, ms", figure(number("listMs"))],
    ["answer and resume one of them, ms", figure(number("resumeMs"))],
  ];
  console.log(table([`${PARKED.toLocaleString("en")} parked runs on SQLite`, ""], rows));
}
