import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "..");

/** Runs the demo as a user does: a process of its own, from source. */
function demo(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
  execFile(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts", ...args],
    { cwd: folder },
    (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    },
  );
  return promise;
}

test("the demo hires three researchers and answers from what they found", async () => {
  const { code, stdout, stderr } = await demo();
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toContain("cascade is the cheapest at $4980.00.");
  for (const helper of ["researcher/1", "researcher/2", "researcher/3"])
    expect(stdout).toContain(`${helper}   read_note`);
  expect(stdout).toMatch(/^lead +2 +\d+ +\d+$/m);
});

test("the answer depends on the question that was asked", async () => {
  const { stdout } = await demo("--question", "Who is the cheapest for 5000 sensors?");
  expect(stdout).toContain("borealis is the cheapest at $19860.00.");
});

test("--json prints one object, and the same one every time but for the run's id", async () => {
  const [one, two] = await Promise.all([demo("--json"), demo("--json")]);
  const { runId, ...rest } = JSON.parse(one.stdout) as { runId: string };
  const { runId: other, ...again } = JSON.parse(two.stdout) as { runId: string };
  expect(runId).not.toBe(other);
  expect(rest).toEqual(again);
  expect(rest).toMatchObject({
    status: "completed",
    agents: [{ id: "lead", calls: 2 }, { calls: 3 }, { calls: 3 }, { calls: 3 }],
  });
});

test("--help says what it does, and an unknown option what is wrong", async () => {
  expect(await demo("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("--question TEXT") });
  expect(await demo("--cheap")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Unknown option '--cheap'"),
  });
});
