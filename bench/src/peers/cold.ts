import { join } from "node:path";
import { BENCH, childFigures, type Figures, numberAt } from "../harness/child.ts";
import { installedSize } from "../installed.ts";
import { folderOf, type Peer } from "./peers.ts";

// S6: the time from the start of a process until the entry is imported, minus that of an empty process; and the installed size.

interface Start {
  readonly cwd: string;
  readonly entry: readonly string[];
  readonly packages: readonly string[];
}

const OURS: Readonly<Record<string, Start>> = {
  "hand-written": { cwd: BENCH, entry: ["zod"], packages: [join(BENCH, "node_modules/zod")] },
  bare: {
    cwd: BENCH,
    entry: ["@ravi/react-agent", "@ravi/runtime"],
    packages: ["react-agent", "runtime"].map((name) => join(BENCH, "../packages", name)),
  },
};

export function startOf(subject: string, peers: readonly Peer[]): Start | undefined {
  const peer = peers.find(({ name }) => name === subject);
  if (peer === undefined) return OURS[subject];
  return { cwd: folderOf(peer.name), entry: peer.entry, packages: [folderOf(peer.name)] };
}

export async function coldStart({ cwd, entry, packages }: Start, signal: AbortSignal): Promise<Figures> {
  const time = async (imports: readonly string[]): Promise<number> => {
    const statements = imports.map((name) => `await import(${JSON.stringify(name)});`).join(" ");
    const code = `${statements} console.log(JSON.stringify({ ms: performance.now() })); process.exit(0)`;
    return numberAt(await childFigures(["--input-type=module", "-e", code], { cwd, signal }), "ms", cwd);
  };
  const empty = await time([]);
  const importMs = (await time(entry)) - empty;
  const sizes = packages.map(installedSize);
  const sum = (field: "megabytes" | "packages"): number => sizes.reduce((all, size) => all + size[field], 0);
  return { importMs, megabytes: sum("megabytes"), packages: sum("packages") };
}
