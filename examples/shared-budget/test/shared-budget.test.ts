import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeLedger, type LedgerSetup } from "@ravi/testing/suites";
import { afterAll, expect, test } from "vitest";
import { SharedLedger } from "../src/shared-ledger.ts";

const folder = mkdtempSync(join(tmpdir(), "ravi-shared-ledger-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let opened = 0;
const files = new WeakMap<object, string>();
const open = ({ budget, scope }: LedgerSetup, file = join(folder, `${++opened}.db`)) => {
  const ledger = new SharedLedger(file, scope, budget);
  files.set(ledger, file);
  return ledger;
};

describeLedger("a ledger in a SQLite file", (setup) => open(setup), {
  second: (ledger, setup) => open(setup, files.get(ledger)),
  close: (ledger) => (ledger as SharedLedger).close(),
});

test("two processes together spend no more than their tenant has", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts"],
    { cwd: join(import.meta.dirname, "..") },
  );
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^(?:3[89]|4\d|50) of 200 letters answered, for \$0\.0\d+ of \$0\.05$/m);
});
