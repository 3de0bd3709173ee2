import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./workspace.ts";

/** A row of docs/behaviours.md. */
export interface Behaviour {
  readonly number: string;
  /** The files that it links, relative to the repository's root. */
  readonly files: readonly string[];
}

const PLACES = [
  "{packages,apps,examples}/*/test{,-server,-browser}/**/*.ts",
  "bench/test/**/*.ts",
  "packages/testing/src/suites/**/*.ts",
];

/** The numbers of behaviours that each file with tests bears, by its path relative to the root. */
export function readNumbers(): Map<string, ReadonlySet<string>> {
  const files = globSync(PLACES, { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
  return new Map(files.map((file) => [file, new Set(numbersIn(readFileSync(join(root, file), "utf8")))]));
}

/** The numbers at the beginning of the names of tests: one (`R14: …`), or several (`R14, R16: …`, `R8 × R27: …`, `R14–R16: …`). */
export function numbersIn(source: string): string[] {
  const names = source.matchAll(/["'`](?:× )?([JORT]\d+(?:(?:, | × |–)(?:[JORT]\d+|%s))*):/g);
  const rules = source.matchAll(/\brule: "([JORT]\d+)"/g);
  return [...names, ...rules].flatMap(([, numbers = ""]) =>
    numbers.split(/, | × /).flatMap((each) => (each === "%s" ? [] : rangeOf(each))),
  );
}

function rangeOf(text: string): string[] {
  const [first = "", last = first] = text.split("–");
  const from = Number(first.slice(1));
  return Array.from({ length: Number(last.slice(1)) - from + 1 }, (_, index) => `${first[0]}${from + index}`);
}

/** The rows of the tables in docs/behaviours.md. */
export function behavioursIn(text: string): Behaviour[] {
  return [...text.matchAll(/^\| ([JORT]\d+) .*\|$/gm)].map(([row, number = ""]) => ({
    number,
    files: [...row.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, file = ""]) => file),
  }));
}
