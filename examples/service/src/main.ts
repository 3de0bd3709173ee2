// A deployment: the first process of a server is told to end (SIGTERM) while its agent pays a bill, and the second one continues the run.
// Nothing is paid twice, and nobody is asked whether the payment has happened.
//
// service.ts is what a server needs for this; worker.ts is the server. It needs no key: a scripted model stands in for a real one.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

// If the reader of the output has left (`| head`) or the disk is full, that output is lost; the rest of the work is still done.
process.stdout.on("error", () => (process.exitCode = 1));

const journal = await mkdtemp(join(tmpdir(), "ravi-service-"));
process.on("exit", () => rmSync(journal, { recursive: true, force: true }));
const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

assert.deepEqual(await live("blue", "paying"), ["paying", "paid", "bill-7 is suspended"]);
assert.deepEqual(await live("green"), ["bill-7 is completed"]);

/** Runs a process to its end; with `until`, it is told to end when it says that. Returns what it has said. */
async function live(name: string, until?: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [...process.execArgv, program, journal], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    console.log(`${name}: ${line}`);
    if (line === until) child.kill("SIGTERM");
  }
  return lines;
}
