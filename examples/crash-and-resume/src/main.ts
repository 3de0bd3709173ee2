// After a crash nothing is paid for twice: a worker is really killed (SIGKILL) in the middle of its run, and another continues.
//
// It needs no key: the workers (worker.ts) talk to an OpenAI-compatible server that this process runs on loopback. Its answers
// are scripted, and it keeps a bill, which shows that every answer was paid for once.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loopbackOpenAI } from "@ravi/testing";

// If the reader of the output has left (`| head`) or the disk is full, that output is lost; the rest of the work is still done.
process.stdout.on("error", () => (process.exitCode = 1));

const server = await loopbackOpenAI({
  script: ({ messages }) => {
    const pages = messages.filter(({ role }) => role === "tool").length;
    if (pages === 3) return "All three pages say the same.";
    return { toolCalls: [{ name: "read", arguments: { page: pages + 1 } }] };
  },
  prices: { input: 0.25, output: 2 },
});
const journal = await mkdtemp(join(tmpdir(), "ravi-crash-"));
process.on("exit", () => rmSync(journal, { recursive: true, force: true }));

const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** Runs a worker to its end, however it ends. */
async function worker(mode: "start" | "resume"): Promise<string> {
  const args = [...process.execArgv, program, mode, journal, server.url];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  const { promise, resolve } = Promise.withResolvers<string>();
  child.on("close", (code, signal) => resolve(signal ?? `exit ${code}`));
  return promise;
}

const first = await worker("start");
console.log(`the first worker ended with ${first}, after ${server.bill().calls} model calls`);
const second = await worker("resume");
console.log(`the second worker ended with ${second}, after ${server.bill().calls} model calls in all`);
await server.close();

assert.equal(first, "SIGKILL");
assert.equal(second, "exit 0");
assert.equal(server.bill().calls, 4, "as many as without the crash");
