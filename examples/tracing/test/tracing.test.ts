import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the spans of a team are one trace: calls inside of their agent, a hired agent inside of its lead", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/: \d+ tokens/, ": n tokens"))).toEqual([
    "invoke_agent lead",
    "  chat scripted: n tokens of output",
    "  invoke_agent researcher",
    "    chat scripted: n tokens of output",
    "    execute_tool look_up: the archive is closed",
    "    chat scripted: n tokens of output",
    "  chat scripted: n tokens of output",
  ]);
});
