// Appends to a run for ever, or as often as it is told, and says on stdout what was acknowledged. Arguments: directory,
// run, owner, count, size of a body. Waits until the claim is released, or goes on with that of a
// process of the same owner that was killed.
import { writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { ExecId, RunId } from "@ravi/kernel";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

const [directory = "", name = "", owner = "", count = "0", size = "10"] = process.argv.slice(2);
const run = RunId(name);
const journal = SqliteJournal.open(directory);
let claim = await journal.claim(run, owner, 600_000);
while (claim === null) {
  await wait(20);
  claim = await journal.claim(run, owner, 600_000);
}
const { epoch } = claim;
const from = (await journal.load(run)).length;
const last = count === "0" ? Infinity : from + Number(count);
for (let n = from + 1; n <= last; n++) {
  const large = n % 50 === 0 ? 300_000 : Number(size);
  const entry = { exec: ExecId(run), key: `k#${n}`, attempt: 1, phase: "begin", at: n } as const;
  await journal.append(run, epoch, [{ ...entry, body: { text: "x".repeat(large) } }]);
  // At once and unbuffered: what is said here must be on disk, whatever happens next.
  writeSync(1, `${n}\n`);
}
await journal.release(run, epoch);
await journal.close();
