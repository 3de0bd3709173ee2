/**
 * Packs every package as a release would and checks what came out. Exits with 1 and one line per problem. One process for all of
 * them: attw takes 1.2 s to load a compiler of its own, and 0.3 s for a package.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkPackage, createPackageFromTarballData, type Package } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

interface Manifest {
  name: string;
  version: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const lifecycle = /^(?:(?:pre|post)?(?:install|pack|publish)|prepare|prepublishOnly|dependencies)$/;
const allowed = /^(?:dist|src)\/|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
// Anything else is a git, URL, file, workspace or catalog reference, which a registry cannot serve.
const range = /^[\^~<>=\d][\w.\s|<>=^~-]*$/;
// These packages are ES modules only: attw's profile "esm-only".
const notForThem = ["node10", "node16-cjs"];

const root = join(import.meta.dirname, "..");
const temporary = mkdtempSync(join(tmpdir(), "ravi-pack-"));
try {
  // At once: 21 take as long as two that are packed by themselves.
  execFileSync("pnpm", ["-r", "--filter", "./packages/*", "pack", "--pack-destination", temporary], {
    cwd: root,
    encoding: "utf8",
  });
  for (const folder of globSync("packages/*/", { cwd: root }).toSorted()) {
    const problems = await problemsOf(join(root, folder));
    for (const problem of problems) console.error(`${folder}: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

async function problemsOf(folder: string): Promise<string[]> {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const file = join(temporary, `ravi-${basename(folder)}-${version}.tgz`);
  const tarball = Uint8Array.from(readFileSync(file));
  const packed = createPackageFromTarballData(tarball);
  const inside = `/node_modules/${packed.packageName}/`;
  const manifest = JSON.parse(packed.readFile(`${inside}package.json`)) as Manifest;
  return [
    ...checkFiles(
      packed.listFiles().map((path) => path.replace(inside, "")),
      folder,
    ),
    ...checkManifest(manifest),
    ...(await checkByPublint(tarball, manifest)),
    ...(await checkTypes(packed)),
  ];
}

function checkFiles(files: readonly string[], folder: string): string[] {
  const problems: string[] = [];
  for (const needed of ["package.json", "README.md", "LICENSE"]) {
    if (!files.includes(needed)) problems.push(`${needed} is missing from the packed files`);
  }
  for (const file of files) {
    if (!allowed.test(file) || file.endsWith(".tsbuildinfo")) {
      problems.push(`${file} is packed but not on the allow-list; narrow "files" in package.json`);
    }
    const source = file.replace(/^dist\//, "src/").replace(/\.d\.ts(?:\.map)?$/, ".ts");
    if (/^dist\/.*\.d\.ts/.test(file) && !existsSync(join(folder, source))) {
      problems.push(`${file} has no source ${source}; remove dist and build again`);
    }
  }
  return problems;
}

function checkManifest(manifest: Manifest): string[] {
  const scripts = Object.keys(manifest.scripts ?? {})
    .filter((name) => lifecycle.test(name))
    .map((name) => `script "${name}" would run on a user's machine; remove it`);
  const ranges = Object.entries({
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  })
    .filter(([, wanted]) => !range.test(wanted))
    .map(([name, wanted]) => `${name} is wanted as "${wanted}"; expected a range of versions`);
  return [...scripts, ...ranges];
}

async function checkByPublint({ buffer }: Uint8Array<ArrayBuffer>, manifest: Manifest): Promise<string[]> {
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
  return messages
    .filter(({ type }) => type === "error")
    .map((message) => `publint: ${formatMessage(message, manifest, { color: false }) ?? message.code}`);
}

async function checkTypes(packed: Package): Promise<string[]> {
  const analysis = await checkPackage(packed);
  if (!analysis.types) return ["has no types"];
  return analysis.problems
    .filter((problem) => !("resolutionKind" in problem && notForThem.includes(problem.resolutionKind)))
    .map((problem) => `attw: ${JSON.stringify(problem)}`);
}
