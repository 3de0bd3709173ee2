import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the greeter greets, under limits that nobody had to write", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("Hello, Ada. Nice to meet you.");
  expect(stdout).toContain("limited to $1 and 100 model calls");
  expect(stdout).toContain("greeter  completed");
});
