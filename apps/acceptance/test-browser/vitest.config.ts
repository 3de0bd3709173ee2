import { defineConfig } from "vitest/config";

const conditions = ["@ravi/source", "module", "node", "development|production"];

// These tests need a browser, which not every machine has. So they are not part of the workspace's own test run.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "devtools in a browser",
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    // Guards against a hang. The browser's own limits (30 s) are reached first, and say what they have waited for.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The page looks once a second, which is as long as a poll lasts by default.
    expect: { poll: { timeout: 30_000 } },
  },
});
