import { join } from "node:path";
import { expect, test } from "vitest";
import { sh } from "../src/shell.ts";

const program = join(import.meta.dirname, "../src/first-run.ts");

async function firstRun(...budget: string[]): Promise<unknown> {
  const { stdout, stderr, code } = await sh(process.execPath, [
    "--conditions=@ravi/source",
    program,
    ...budget,
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

// The vocabulary takes 0.15 s and 65 MB: see docs/decisions/0060.
test("R18: a first run that is far from its limits loads no vocabulary", async () => {
  expect(await firstRun()).toEqual({ status: "completed", loaded: [] });
});

test("R18: one that is near a limit is counted with it", async () => {
  expect(await firstRun("20000")).toEqual({
    status: "completed",
    loaded: [expect.stringContaining("o200k_base")],
  });
});
