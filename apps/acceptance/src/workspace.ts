import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** The repository's root folder. */
export const root = join(import.meta.dirname, "../../..");

export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** A member of the workspace with the imports of all its files. */
export interface Member {
  /** Relative to the root: `packages/kernel`. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly files: readonly SourceFile[];
  /** The packages that its tsconfig files refer to. */
  readonly references: readonly Reference[];
}

interface Reference {
  /** The file that refers: `tsconfig.build.json`. */
  readonly from: string;
  /** `@ravi/kernel` */
  readonly to: string;
}

export interface SourceFile {
  /** Relative to the member: `src/index.ts`. */
  readonly path: string;
  readonly imports: readonly string[];
}

/** Reads all packages, apps, examples and the benchmark. */
export function readWorkspace(): Member[] {
  const manifests = globSync(["{packages,apps,examples}/*/package.json", "bench/package.json"], {
    cwd: root,
  });
  return manifests.toSorted().map((manifest) => readMember(dirname(join(root, manifest))));
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function readMember(folder: string): Member {
  const files = globSync("{src,test}/**/*.{ts,mts,js,mjs}", { cwd: folder }).toSorted();
  return {
    folder: relative(root, folder),
    manifest: readManifest(folder),
    files: files.map((path) => ({ path, imports: importsOf(readFileSync(join(folder, path), "utf8")) })),
    references: globSync("tsconfig*.json", { cwd: folder }).flatMap((from) =>
      referencesOf(readFileSync(join(folder, from), "utf8")).map((to) => ({ from, to })),
    ),
  };
}

/** The packages that a tsconfig refers to. One has comments, so that `JSON.parse` would not read it. */
export function referencesOf(tsconfig: string): string[] {
  const found = tsconfig.matchAll(/"path":\s*"[./]+(?:packages\/)?([\w-]+)\/tsconfig\.build\.json"/g);
  return [...found].map((match) => `@ravi/${match[1]}`);
}

/**
 * Every specifier that a file imports, type imports included. One in a comment counts too: a false alarm is better than a miss.
 */
export function importsOf(source: string): string[] {
  const found = source.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*["']([@.\w][\w@./:-]*)["']/g);
  return [...new Set([...found].map((match) => String(match[1])))];
}
