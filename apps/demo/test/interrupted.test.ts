import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { readArgs } from "../src/args.ts";
import { runDemo } from "../src/run-demo.ts";
import { demo, withFolder } from "./run.ts";

const SHOW_CURSOR = "\u001B[?25h";

test("a reader that goes away early (| head -1) ends it quietly: the run keeps its place", async () => {
  await withFolder(async (folder) => {
    const child = spawn(
      process.execPath,
      ["--conditions=@ravi/source", "--no-warnings", "src/main.ts", "--live", "--journal", folder],
      { cwd: join(import.meta.dirname, ".."), stdio: ["ignore", "pipe", "pipe"] },
    );
    child.stdout.once("data", () => child.stdout.destroy());
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.once("close", resolve);
    const [stderr, code] = await Promise.all([text(child.stderr), promise]);
    expect(stderr).not.toContain("    at ");
    expect(stderr).toContain("--resume");
    expect(code).toBe(3);
  });
});

test("SIGTERM suspends it too; what is printed to go on can be pasted into a shell", async () => {
  await withFolder(async (folder) => {
    let isTold = false;
    const ran = await demo(["--live", "--journal", join(folder, "it's here")], {
      onLine: (line, kill) => {
        if (isTold || !line.includes("lead")) return;
        isTold = true;
        kill("SIGTERM");
      },
    });
    expect(ran.code).toBe(143);
    expect(ran.stderr).toContain(String.raw`it'\''s here' --resume`);
    expect(ran.stdout).toContain(SHOW_CURSOR);
  });
});

test("a signal that comes before the run has begun starts nothing, and leaves no folder behind", async () => {
  await withFolder(async (folder) => {
    vi.stubEnv("TMPDIR", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const running = runDemo(readArgs(["--json"]));
    process.emit("SIGTERM");
    expect(await running).toBe(143);
    expect(await readdir(folder)).toEqual([]);
  });
});

test("ended at once by a second Ctrl-C it leaves a terminal with its cursor", async () => {
  await withFolder(async (folder) => {
    const ran = await demo(["--live", "--journal", folder], {
      onLine: (line, kill) => {
        // Two signals of a kind that are pending at once are one, so there is another one right behind.
        if (line.includes("lead")) for (const signal of ["SIGINT", "SIGTERM"] as const) kill(signal);
      },
    });
    // Two signals of two kinds, taken by two threads, may be seen in either order; the first says how it ended.
    expect([130, 143]).toContain(ran.code);
    expect(ran.stdout.endsWith(SHOW_CURSOR)).toBe(true);
  });
});

test("a disk that fills up: what was paid for is kept, also in a folder that nobody named, and how to go on is said", async () => {
  await withFolder(async (folder) => {
    // No file may grow past that many blocks; SQLite sees a write that fails.
    const command = `trap '' XFSZ; ulimit -f 200; exec "$0" --conditions=@ravi/source --no-warnings src/main.ts`;
    const child = spawn("sh", ["-c", command, process.execPath], {
      cwd: join(import.meta.dirname, ".."),
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/the journal .*ravi\.db could not be written/);
    const kept = /--journal (\S+) --resume/.exec(stderr)?.[1] ?? "";
    const resumed = await demo(["--json", "--journal", kept, "--resume"]);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('"status":"completed"') });
  });
});

test("two of them in one folder would spoil the bill: the second is refused", async () => {
  await withFolder(async (folder) => {
    // What the first one holds while it is at work.
    using lock = new DatabaseSync(join(folder, "demo.lock"));
    lock.exec("BEGIN EXCLUSIVE");
    const second = await demo(["--json", "--journal", folder]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/no other demo is using/) });
  });
});

test("--journal without a name is refused, and writes nothing where it was started", async () => {
  const ran = await demo(["--json", "--journal", ""]);
  expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/--journal is ""/) });
});
