import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

const root = import.meta.dirname;

// Tests run the sources of every @ravi package, not their build. Setting conditions replaces vite's own list, which also has "module":
// Node does not know that one, and cannot read what OpenTelemetry has there.
const conditions = ["@ravi/source", "node", "development|production"];

const folders = globSync(["{packages,apps,examples}/*/package.json", "bench/package.json"], { cwd: root })
  .map((manifest) => dirname(manifest))
  .filter((folder) => existsSync(join(root, folder, "test")))
  .toSorted();

const all = [...Map.groupBy(folders, nameOf)].flatMap(([name, together]) => {
  // Loading what they import costs as much as all tests together, and they change nothing that they share.
  const tests = project(name, {
    isolate: false,
    include: together.map((folder) => `${folder}/test/**/*.test.ts`),
    exclude: together.map((folder) => `${folder}/test/cost/**`),
  });
  const costly = together.filter((folder) => existsSync(join(root, folder, "test/cost")));
  if (costly.length === 0) return [tests];
  // What is counted there depends on what the engine has compiled, so on whatever has run before in the same process.
  const include = costly.map((folder) => `${folder}/test/cost/**/*.test.ts`);
  return [tests, project(`${name}/cost`, { isolate: true, include })];
});

// Vitest would resolve all of them before it drops those that are not asked for: 0.6 s of 1.6 s of processor time at each start.
const asked = process.argv.filter((_, index, args) => args[index - 1] === "--project");
const isByName = asked.length > 0 && asked.every((name) => all.some(({ test }) => test?.name === name));
const projects = isByName ? all.filter(({ test }) => asked.some((name) => test?.name === name)) : all;

export default defineConfig({ test: { projects, passWithNoTests: false } });

/**
 * The small examples have no script for their tests and are tested together, by that of the root: a start of vitest takes more than
 * most of them.
 */
function nameOf(folder: string): string {
  const { name, scripts } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly scripts?: Readonly<Record<string, string>>;
  };
  return scripts?.["test"] === undefined ? "examples" : name;
}

function project(
  name: string,
  files: { readonly isolate: boolean; readonly include: string[]; readonly exclude?: string[] },
): TestProjectInlineConfiguration {
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    // A time limit only guards against a hang: how fast something is belongs to the benchmarks.
    test: {
      name,
      // One root for all, as it is part of the key under which vitest keeps what it has transformed: the kernel is transformed for
      // one project and not for each of 30 (after the tests of flow, those of hooks have 27 files to transform, not 205).
      root,
      ...files,
      globalSetup: join(root, "scripts/bundle-programs.ts"),
      testTimeout: 60_000,
      hookTimeout: 60_000,
      // Programs that tests start are compiled once, also where vitest itself is not started by `pnpm test`: a start of the demo
      // from source takes 0.7 s instead of 1.2.
      env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests") },
    },
  };
}
