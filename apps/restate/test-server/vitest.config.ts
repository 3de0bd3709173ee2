import { basename, join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = join(import.meta.dirname, "../../..");
const conditions = ["@ravi/source", "module", "node", "development|production"];

/** The files that take longest. Vitest begins with the largest, so that the conformance suite would run at the end, alone. */
const LONGEST = ["demo.test.ts", "conformance.test.ts", "kills.test.ts", "runs.test.ts"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.includes(basename(moduleId));
    const place = ({ moduleId }: TestSpecification): number => LONGEST.indexOf(basename(moduleId));
    const long = files.filter(isLong).toSorted((one, other) => place(one) - place(other));
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    return [...long, ...(await super.sort(files.filter((file) => !isLong(file))))];
  }
}

// These tests need a Restate server, which `pnpm test:restate` installs. So they are not part of the workspace's own test run.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "restate",
    // As in vitest.config.ts: what it has transformed is found here again, and whatever the files share is loaded once.
    root,
    isolate: false,
    include: ["apps/restate/test-server/*.test.ts"],
    globalSetup: join(root, "scripts/bundle-programs.ts"),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Workers and demos are processes that load the same sources again and again, so their compiled code is cached.
    env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests") },
    // Each file has its own servers and mostly waits; more files at once would only slow each other down.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
});
