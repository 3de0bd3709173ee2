import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { agent, type RunOptions, start } from "@ravi/sdk";

// As scripts/bundle-programs.ts has bundled it.
const program = join(import.meta.dirname, "../node_modules/.cache/programs/interrupted.js");
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "ravi-sdk-"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program; each time its output matches one of the texts, in their order, it gets a SIGINT. */
function interrupted(args: readonly string[], ...when: readonly RegExp[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args]);
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const waiting = [...when];
  let stdout = "";
  let stderr = "";
  const look = (): void => {
    if (waiting[0]?.test(stdout + stderr) !== true) return;
    waiting.shift();
    child.kill("SIGINT");
  };
  child.stdout.on("data", (text) => ((stdout += String(text)), look()));
  child.stderr.on("data", (text) => ((stderr += String(text)), look()));
  child.on("error", reject);
  child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  return promise;
}

const lastLine = ({ stdout }: Ended): unknown => JSON.parse(stdout.trim().split("\n").at(-1) ?? "");

test("Ctrl-C suspends the run and says how to go on; another process does, and repeats nothing that is on record", async () => {
  const first = await interrupted(["start", directory, "true"], /called/);
  expect(first).toMatchObject({ code: 0, signal: null });
  expect(first.stderr).toContain("ravi: run run-1 is being suspended; press Ctrl-C again to exit at once");
  expect(first.stderr).toContain(
    `resume("run-1", { agents: [clerk], journal: ${JSON.stringify(directory)} })`,
  );
  expect(first.stderr).toContain(
    "ravi: its limit of 600 seconds counts from its start, also while it is suspended",
  );
  expect(lastLine(first)).toMatchObject({ status: "suspended", why: "suspended: Ctrl-C", listeners: 0 });

  const second = await interrupted(["resume", directory]);
  expect(second).toMatchObject({ code: 0, stderr: "" });
  expect(second.stdout).not.toContain("noted");
  expect(lastLine(second)).toMatchObject({ status: "completed", output: "Done." });
});

test("a second Ctrl-C ends the process at once", async () => {
  const ended = await interrupted(["stuck", "", "true"], /called/, /being suspended/);
  expect(ended).toMatchObject({ code: 130, signal: null });
  expect(ended.stdout).not.toContain("{");
});

test("the first Ctrl-C of a later run suspends that run, and does not end the process", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation(() => {
    throw new Error("the process would have ended");
  });
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const hanging = agent({ name: "hanging", model: scriptedModel([{ fault: { type: "hang" } }]) });
  for (const _ of ["first", "second"]) {
    const handle = start(hanging, "Hi", { journal: new MemoryJournal(), handleSignals: true });
    process.emit("SIGINT");
    expect((await handle.result).status).toBe("suspended");
  }
  expect(exit).not.toHaveBeenCalled();
});

test("without a journal Ctrl-C cancels, and says so", async () => {
  const ended = await interrupted(["start", "", "true"], /called/);
  expect(ended.stderr).toContain("has no journal and is being cancelled");
  expect(ended.stderr).not.toContain("resume(");
  expect(lastLine(ended)).toMatchObject({ status: "cancelled", why: "cancelled: Ctrl-C", listeners: 0 });
});

test("a program that did not ask for it, away from a terminal, dies of Ctrl-C as always; its run can be resumed", async () => {
  expect(await interrupted(["start", directory], /called/)).toMatchObject({
    code: null,
    signal: "SIGINT",
    stderr: "",
  });
  const second = await interrupted(["resume", directory]);
  expect(second.stdout).not.toContain("noted");
  expect(lastLine(second)).toMatchObject({ status: "completed", inDoubt: [expect.stringContaining("#2")] });
});

describe("without a word about it", () => {
  const listeners = () => process.listenerCount("SIGINT");
  const atTerminal = (value: boolean) =>
    Object.defineProperty(process.stderr, "isTTY", { value, configurable: true });

  /** How many listen while it runs. */
  async function whileRunning(options: RunOptions): Promise<number> {
    const hanging = agent({ name: "hanging", model: scriptedModel([{ fault: { type: "hang" } }]) });
    const handle = start(hanging, "Hi", options);
    const during = listeners();
    await handle.suspend();
    return during;
  }

  test("Ctrl-C is taken at a terminal only, with a journal only, and never from a program that has its own way", async () => {
    const before = listeners();
    const said = vi.spyOn(process.stderr, "write");
    const own = () => {};
    const journal = () => ({ journal: new MemoryJournal() });
    atTerminal(true);
    const plain = await whileRunning(journal());
    const two = await Promise.all([whileRunning(journal()), whileRunning(journal())]);
    const bare = await whileRunning({});
    const refused = await whileRunning({ ...journal(), handleSignals: false });
    process.on("SIGINT", own);
    const handled = await whileRunning(journal());
    process.off("SIGINT", own);
    atTerminal(false);
    const piped = await whileRunning(journal());
    expect(said.mock.calls.filter(([text]) => String(text).includes("ravi:"))).toEqual([]);
    expect({ plain, two, bare, refused, handled, piped, after: listeners() - before }).toEqual({
      plain: 1,
      two: [1, 1],
      bare: 0,
      refused: 0,
      handled: 1,
      piped: 0,
      after: 0,
    });
  });
});
