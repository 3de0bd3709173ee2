import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the run is cut off below its cap, with what it has, and says so", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("at most $0.02, in at most 40 model calls");
  expect(stdout).toContain("partial (budget), for $0.01");
  expect(stdout).toContain(" pages, and not all.");
});
