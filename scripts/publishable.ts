/**
 * Run in a package's folder: packs it as a release would and checks what came out.
 * Exits with 1 and one line per problem.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Manifest {
  name: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const lifecycle = /^(?:(?:pre|post)?(?:install|pack|publish)|prepare|prepublishOnly|dependencies)$/;
const allowed = /^(?:dist|src)\/|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
// Anything else is a git, URL, file, workspace or catalog reference, which a registry cannot serve.
const range = /^[\^~<>=\d][\w.\s|<>=^~-]*$/;

const folder = mkdtempSync(join(tmpdir(), "ravi-pack-"));
try {
  const tarball = join(folder, "package.tgz");
  run("pnpm", ["pack", "--out", tarball]);
  run("tar", ["-xzf", tarball, "-C", folder]);
  const files = run("tar", ["-tzf", tarball])
    .trim()
    .split("\n")
    .map((file) => file.replace(/^package\//, ""));
  const manifest = JSON.parse(readFileSync(join(folder, "package/package.json"), "utf8")) as Manifest;

  const problems = [
    ...checkFiles(files),
    ...checkManifest(manifest),
    ...check("publint", ["run", tarball, "--strict"]),
    ...check("attw", [tarball, "--profile", "esm-only", "--no-definitely-typed"]),
  ];
  for (const problem of problems) console.error(`${manifest.name}: ${problem}`);
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function checkFiles(files: readonly string[]): string[] {
  const problems: string[] = [];
  for (const needed of ["package.json", "README.md", "LICENSE"]) {
    if (!files.includes(needed)) problems.push(`${needed} is missing from the packed files`);
  }
  for (const file of files) {
    if (!allowed.test(file) || file.endsWith(".tsbuildinfo")) {
      problems.push(`${file} is packed but not on the allow-list; narrow "files" in package.json`);
    }
    const source = file.replace(/^dist\//, "src/").replace(/\.d\.ts(?:\.map)?$/, ".ts");
    if (/^dist\/.*\.d\.ts/.test(file) && !existsSync(source)) {
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

function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8" });
}

function check(command: string, args: readonly string[]): string[] {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (error) throw error;
  return status === 0 ? [] : [`${command} is not satisfied\n${stdout}${stderr}`];
}
