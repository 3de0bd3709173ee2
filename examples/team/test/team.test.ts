import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("three researchers work for one lead, and the tree shows who spent what", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("cascade is the cheapest, at $4980.");
  expect(stdout).toContain("├─ researcher/1");
  expect(stdout).toContain("└─ researcher/3");
});
