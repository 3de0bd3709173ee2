import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

test("one process waits, the other says yes", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("clerk: may I? approval:");
  expect(stdout).toMatch(/boss: yes to .+, which asked .+"tool":"pay".+4980/);
  expect(stdout).toContain("clerk: paid 4980 to cascade");
  expect(stdout).toContain("clerk: completed: Cascade is paid.");
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
