import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the answer has the schema's type, after one that did not fit", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("Acme asks for $4980, not paid yet");
  const parts = stdout.split("\n").filter((line) => line.startsWith("so far: "));
  expect(parts[0]).toBe("so far: {}");
  expect(parts).toContain('so far: {"vendor":"Acme","total":"4,980 "}');
  expect(parts.at(-1)).toBe('so far: {"vendor":"Acme","total":4980,"paid":false}');
  expect(stdout).toContain("2 model calls: one answer did not fit the schema");
});
