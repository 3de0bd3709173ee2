import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const conditions = ["@ravi/source", "module", "node", "development|production"];

// These tests need a Restate server, which `pnpm test:restate` installs. So they are not part of the workspace's own test run.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "restate",
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Workers and demos are processes that load the same sources again and again, so their compiled code is cached.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "ravi-restate-compile-cache") },
    // Each file has its own servers and mostly waits; more files at once would only slow each other down.
    maxWorkers: 2,
  },
});
