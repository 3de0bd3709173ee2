import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

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

test("a reader that goes away early (| head -1) ends it quietly, and no folder is left", async () => {
  const temporary = await mkdtemp(join(tmpdir(), "ravi-example-"));
  onTestFinished(() => rm(temporary, { recursive: true, force: true }));
  const child = spawn(process.execPath, ["--conditions=@ravi/source", "src/main.ts"], {
    cwd: join(import.meta.dirname, ".."),
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.once("data", () => child.stdout.destroy());
  const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(stderr).toBe("");
  expect(child.exitCode).toBe(1);
  expect(await readdir(temporary)).toEqual([]);
});
