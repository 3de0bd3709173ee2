// An approval from another process: a clerk wants to pay, and waits until somebody else says yes. The wait survives a restart.
//
// This process says yes. The clerk (clerk.ts) is a separate process; all that they share is the directory of the journal.
// It needs no key: a scripted model stands in for a real one.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { deliver, runs } from "@ravi/sdk";

// If the reader of the output has left (`| head`) or the disk is full, that output is lost; the rest of the work is still done.
process.stdout.on("error", () => (process.exitCode = 1));

const journal = await mkdtemp(join(tmpdir(), "ravi-approval-"));
process.on("exit", () => rmSync(journal, { recursive: true, force: true }));
const program = fileURLToPath(new URL("./clerk.ts", import.meta.url));
const clerk = spawn(process.execPath, [...process.execArgv, program, journal], {
  stdio: ["ignore", "pipe", "inherit"],
});

const lines: string[] = [];
for await (const line of createInterface({ input: clerk.stdout })) {
  lines.push(line);
  console.log(`clerk: ${line}`);
  if (!line.startsWith("may I?")) continue;
  // The journal knows what every run waits for, so this process could also look once an hour.
  for (const { runId, waitingFor = [] } of await runs({ journal })) {
    for (const { name, question } of waitingFor) {
      console.log(`boss: yes to ${runId}, which asked ${JSON.stringify(question)}`);
      await deliver(runId, name, { approved: true }, { journal, mustExist: true });
    }
  }
}

assert.deepEqual(lines.slice(1), ["paid 4980 to cascade", "completed: Cascade is paid."]);
