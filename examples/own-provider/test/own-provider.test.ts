import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeModel } from "@ravi/testing/suites";
import { expect, test } from "vitest";
import { house } from "../src/house.ts";
import { startServer } from "../src/server.ts";

describeModel("the house", {
  // What the server of the example does not look at.
  without: ["seesClose", "idempotencyKey"],
  async open({ script, apiKey, idleTimeoutMs }) {
    const { baseURL, requests, close } = await startServer(script, apiKey);
    return { client: house("small", { baseURL, apiKey, idleTimeoutMs }), requests, close };
  },
});

test("an agent works with a model of its own, under a limit in dollars", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("Bern has 146000 inhabitants.");
  expect(stdout).toMatch(/geographer +completed +2 model calls +1 tool call/);
});
