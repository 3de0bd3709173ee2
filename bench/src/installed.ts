import { existsSync, globSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly files?: readonly string[] | undefined;
  readonly dependencies?: Readonly<Record<string, string>> | undefined;
}

export interface Installed {
  readonly megabytes: number;
  readonly packages: number;
}

/**
 * The size of a package and all its dependencies, each counted once. For a package of this workspace, only the published files
 * count.
 */
export function installedSize(folder: string): Installed {
  const seen = new Map<string, number>();
  const visit = (at: string): void => {
    if (seen.has(at)) return;
    const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Manifest;
    seen.set(at, bytesOf(at, manifest));
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const found = find(name, at);
      if (found !== undefined) visit(found);
    }
  };
  visit(realpathSync(folder));
  const bytes = [...seen.values()].reduce((sum, each) => sum + each, 0);
  return { megabytes: bytes / 1_048_576, packages: seen.size };
}

/** The folder in which Node would find a package. */
function find(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const candidate = join(at, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (dirname(at) === at) return undefined;
  }
}

/** For our own packages only what `files` lists, since tests and caches are not published. */
function bytesOf(folder: string, { files = [] }: Manifest): number {
  const isOurs = !folder.includes("node_modules");
  const listed = isOurs ? [...files, "package.json"] : ["."];
  const kept = listed.filter((each) => !each.startsWith("!"));
  const left = listed.filter((each) => each.startsWith("!")).map((each) => each.slice(1));
  return globSync(withContent(kept), { cwd: folder, exclude: ["**/node_modules/**", ...withContent(left)] })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

/** A name in `files` is that of a file, or of a folder with all that is in it. */
function withContent(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => [name, `${name}/**/*`]);
}
