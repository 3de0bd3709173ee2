import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the second worker goes on where the first was killed, and nothing is paid for twice", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("the first worker ended with SIGKILL, after 2 model calls");
  expect(stdout).toContain("the second worker ended with exit 0, after 4 model calls in all");
  expect(stdout).toContain("worker: All three pages say the same.");
});
