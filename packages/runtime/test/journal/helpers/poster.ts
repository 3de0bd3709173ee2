// Posts to runs of a journal from a process of its own, each when it is told to on stdin. Arguments: directory. A line is
// `run id`, `answer run`, `cancel run` or `delete run`; the answer is the same line.
import { createInterface } from "node:readline";
import { RunId } from "@ravi/kernel";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

const [directory = ""] = process.argv.slice(2);
const journal = SqliteJournal.open(directory);
for await (const line of createInterface({ input: process.stdin })) {
  const [first = "", second = ""] = line.split(" ");
  if (first === "delete") await journal.delete(RunId(second));
  else if (first === "answer") {
    await journal.post(RunId(second), { id: "a", kind: "signal", name: "n", value: "yes", at: 1 });
  } else if (first === "cancel") {
    await journal.post(RunId(second), { id: "c", kind: "cancel", name: "", value: "enough", at: 1 });
  } else await journal.post(RunId(first), { id: second, kind: "message", name: "n", value: second, at: 1 });
  console.log(line);
}
await journal.close();
