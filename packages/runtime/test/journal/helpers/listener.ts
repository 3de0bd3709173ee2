// Listens to a run of a journal, and has nothing else to do. Arguments: directory, run.
import { RunId } from "@ravi/kernel";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

const [directory = "", run = ""] = process.argv.slice(2);
SqliteJournal.open(directory).watch(RunId(run), () => console.log("told"));
console.log("listening");
