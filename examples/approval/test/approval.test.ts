import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("one process waits, the other says yes", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("clerk: may I? approval:");
  expect(stdout).toContain("boss: yes to ");
  expect(stdout).toContain("clerk: paid 4980 to cascade");
  expect(stdout).toContain("clerk: completed: Cascade is paid.");
});
