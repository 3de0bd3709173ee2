import type { Figure } from "../figures.ts";
import { median } from "../harness/pairs.ts";
import type { Sample } from "./rounds.ts";

/** The data of the newest table, saved as JSON. */
export interface Report {
  readonly when: string;
  readonly machine: {
    readonly node: string;
    readonly cpu: string;
    readonly cores: number;
    readonly system: string;
  };
  readonly command: string;
  readonly warmMs: number;
  readonly measureMs: number;
  readonly repeats: number;
  /** The 1-minute load average before the start. Figures from a busy machine are marked as preliminary. */
  readonly load: number;
  readonly subjects: readonly { readonly name: string; readonly title: string }[];
  readonly versions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly leftOut: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
}

export const BASE = "hand-written";

export interface Cell {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** The median of the rounds' ratios to the hand-written loop; undefined if there are none. */
  readonly ratio: number | undefined;
}

/** One cell of the table; undefined if nothing was measured. */
export function cellOf(samples: readonly Sample[], subject: string, figure: Figure): Cell | undefined {
  const rounds = valuesOf(samples, subject, figure);
  if (rounds.size === 0) return undefined;
  const base = valuesOf(samples, BASE, figure);
  const ratios = [...rounds].flatMap(([round, value]) => {
    const under = base.get(round);
    return under === undefined ? [] : [value / under];
  });
  const values = [...rounds.values()];
  return {
    value: median(values),
    low: Math.min(...values),
    high: Math.max(...values),
    ratio: figure.isRatio && subject !== BASE && ratios.length > 0 ? median(ratios) : undefined,
  };
}

function valuesOf(samples: readonly Sample[], subject: string, figure: Figure): Map<number, number> {
  const values = new Map<number, number>();
  for (const { round, figures, ...place } of samples) {
    const value = figures?.[figure.field];
    if (place.subject !== subject || place.scenario !== figure.scenario) continue;
    if (typeof value === "number") values.set(round, value);
  }
  return values;
}

/** A load per core above this makes figures preliminary: they would partly measure the other work. */
const BUSY = 0.5;

export function markdown(report: Report, figures: readonly Figure[]): string {
  const { subjects, samples, machine, versions, leftOut } = report;
  const used = figures.filter((figure) => subjects.some(({ name }) => cellOf(samples, name, figure)));
  const rows = (show: (cell: Cell) => string): string[] =>
    used.map((figure) => {
      const cells = subjects.map(({ name }) => {
        const cell = cellOf(samples, name, figure);
        return cell === undefined ? "–" : show(cell);
      });
      return `| ${[figure.title, ...cells].join(" | ")} |`;
    });
  const head = [
    `| | ${subjects.map(({ title }) => title).join(" | ")} |`,
    `|---|${subjects.map(() => "---:").join("|")}|`,
  ];
  const busy =
    report.load > machine.cores * BUSY ? " **Preliminary: the machine was busy with other work.**" : "";
  const errors = samples.flatMap(({ subject, scenario, error }) =>
    error === undefined ? [] : [`- ${subject}, ${scenario}: ${error.split("\n").at(-1) ?? ""}`],
  );
  return [
    `${report.when.slice(0, 10)}, \`${report.command}\`, Node ${machine.node}, ${machine.cores} × ${machine.cpu}, ${machine.system}.` +
      ` Medians of ${report.repeats} ${report.repeats === 1 ? "round" : "rounds"} of child processes in alternating order (${report.warmMs} ms of warm-up, ${report.measureMs} ms measured);` +
      ` in brackets the median of the ratios to the hand-written loop of the same round.${busy}`,
    "",
    ...head,
    ...rows(({ value, ratio }) =>
      ratio === undefined ? number(value) : `${number(value)} (${number(ratio)}×)`,
    ),
    "",
    "Lowest to highest of the rounds:",
    "",
    ...head,
    ...rows(({ low, high }) => `${number(low)}–${number(high)}`),
    "",
    ...Object.entries(versions).map(([name, list]) => `- ${name}: ${versionList(list)}`),
    ...Object.entries(leftOut).map(([name, why]) => `- ${name} was left out: ${why}`),
    ...(errors.length === 0 ? [] : ["", "What failed:", "", ...new Set(errors)]),
    "",
  ].join("\n");
}

function versionList(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}

function number(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const [FROM, TO] = ["<!-- bench:peers -->", "<!-- /bench:peers -->"];

/** Returns the page with the table between its two markers replaced. Throws if a marker is missing. */
export function withTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(FROM), page.indexOf(TO)];
  if (from < 0 || to < from) throw new Error(`the page has no ${FROM} … ${TO}`);
  return `${page.slice(0, from + FROM.length)}\n\n${table.trim()}\n\n${page.slice(to)}`;
}
