import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const conditions = ["@ravi/source", "module", "node", "development|production"];

// These tests need a Restate server, which `pnpm test:restate` installs. They are no project of the workspace's own run.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "restate",
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Workers and demos are processes that load the same sources again and again.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "ravi-restate-compile-cache") },
    // Each has servers of its own and mostly waits; more at once would only make each other slow.
    maxWorkers: 2,
  },
});
