// Waits for a message, in a run, and has nothing else to do. Arguments: directory, run.
import { type Agent, AgentId } from "@ravi/kernel";
import { Runtime } from "../../../src/index.ts";
import { SqliteJournal } from "../../../src/journal/sqlite-journal.ts";

const [directory = "", runId = ""] = process.argv.slice(2);
const waiter: Agent = {
  id: AgentId("waiter"),
  async run(ctx) {
    console.log("waiting");
    return { status: "completed", output: String(await ctx.waitFor("n")), stopReason: "done" };
  },
};
const journal = SqliteJournal.open(directory);
const runtime = new Runtime({ journal });
console.log((await runtime.run(waiter, "go", { runId }).result).output);
// Neither is closed: nothing of them keeps the process.
