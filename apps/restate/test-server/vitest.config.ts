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
    fileParallelism: false,
  },
});
