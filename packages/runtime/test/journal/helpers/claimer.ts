import { RunId } from "@ravi/kernel";
import { processOwner } from "../../../src/journal/parts/owner.ts";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

// Claims a run once for every line that it hears, and says what it got: claimer.ts <directory> <run> <id>

const [directory = "", run = "", id = ""] = process.argv.slice(2);
const journal = SqliteJournal.open(directory);
const owner = processOwner(id);
for await (const _ of process.stdin) {
  const claim = await journal.claim(RunId(run), owner, 600_000);
  process.stdout.write(`${claim === null ? "refused" : "claimed"}\n`);
}
await journal.close();
