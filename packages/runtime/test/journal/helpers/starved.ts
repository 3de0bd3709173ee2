// Opens new journals in a process that has used up its files, all but none, one, two …, and says what came of each: what was
// opened has to work. Argument: directory.
import { closeSync, openSync } from "node:fs";
import { isRaviError, RunId } from "@ravi/kernel";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

const [directory = ""] = process.argv.slice(2);
const held: number[] = [];
try {
  for (;;) held.push(openSync("/dev/null", "r"));
} catch {
  // That was all of them.
}
for (let left = 0; left < 12; left++) {
  process.stdout.write(`${await attempt(`${directory}/${left}`)}\n`);
  closeSync(held.pop() ?? -1);
}

async function attempt(folder: string): Promise<string> {
  let what = "open";
  try {
    await using journal = SqliteJournal.open(folder);
    what = "list";
    journal.list();
    what = "claim";
    await journal.claim(RunId("r"), "one", 1_000);
    return "works";
  } catch (error) {
    return `${what}: ${isRaviError(error) ? error.code : String(error)}`;
  }
}
