import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("a process that has to end lets its payment finish, and the next one continues without another", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout.match(/: paid$/gm)).toHaveLength(1);
  expect(stdout).toContain("blue: bill-7 is suspended");
  expect(stdout).toContain("green: bill-7 is completed");
});
