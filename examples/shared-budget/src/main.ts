// One budget for two processes: both answer letters for the same tenant, a hundred each, five at once, and together they never
// spend more than the tenant has.
//
// It needs no key: a scripted model stands in for a real one.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SharedLedger } from "./shared-ledger.ts";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

const LIMIT_USD = 0.05;
const folder = await mkdtemp(join(tmpdir(), "ravi-shared-budget-"));
try {
  const file = join(folder, "budgets.db");
  const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const work = async () => {
    const args = [...process.execArgv, worker, file, String(LIMIT_USD)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return JSON.parse(stdout) as { readonly answered: number; readonly spent: number };
  };
  const [one, two] = await Promise.all([work(), work()]);

  const acme = new SharedLedger(file, "tenant acme", {});
  const { cost } = acme.used;
  acme.close();
  console.log(
    `${one.answered + two.answered} of 200 letters answered, for $${cost.toFixed(4)} of $${LIMIT_USD}`,
  );
  assert(cost <= LIMIT_USD);
  assert.equal(cost.toFixed(6), (one.spent + two.spent).toFixed(6));
  // Each letter costs $0.001, and up to $0.0012 is reserved for it. So the last few may be refused while others are being answered.
  assert(one.answered + two.answered > 37);
} finally {
  await rm(folder, { recursive: true, force: true });
}
