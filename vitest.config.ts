import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { defineConfig } from "vitest/config";

const root = import.meta.dirname;

// Tests run the sources of every @ravi package, not their build. Setting conditions replaces vite's own list.
const conditions = ["@ravi/source", "module", "node", "development|production"];

const projects = globSync(["{packages,apps,examples}/*/package.json", "bench/package.json"], { cwd: root })
  .map((manifest) => dirname(join(root, manifest)))
  .filter((folder) => existsSync(join(folder, "test")))
  .toSorted()
  .map((folder) => ({
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    // A time limit only guards against a hang: how fast something is belongs to the benchmarks.
    test: {
      name: nameOf(folder),
      // Loading what these import costs more than half of their tests, and they change nothing that they share.
      isolate: !/^(?:provider-.*|session|architectures)$/.test(basename(folder)),
      root: folder,
      include: ["test/**/*.test.ts"],
      testTimeout: 60_000,
      hookTimeout: 60_000,
      // Programs that tests start are compiled once: a start of the demo takes 0.7 s instead of 1.2.
      env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests") },
    },
  }));

export default defineConfig({ test: { projects, passWithNoTests: false } });

function nameOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string };
  return manifest.name;
}
