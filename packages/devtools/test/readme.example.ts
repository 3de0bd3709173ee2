import assert from "node:assert/strict";
import { openPage } from "@ravi/devtools";
import { type Agent, AgentId } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";

// Any runtime with a journal. With `SqliteJournal.open(".ravi")` the page shows the runs of all processes that use that folder.
const runtime = new Runtime({ journal: new MemoryJournal() });

const page = await openPage(runtime);
assert.match(page.url, /^http:\/\/127\.0\.0\.1:\d+\/#key=[\w-]{22}$/); // print it, and open it in a browser

// This agent asks a person. The page shows the question, and a field for the answer.
const painter: Agent = {
  id: AgentId("painter"),
  async run(ctx) {
    const colour = await ctx.waitFor("colour");
    return { status: "completed", output: `painted ${String(colour)}`, stopReason: "done" };
  },
};
const handle = runtime.run(painter, "Paint the door.");
await runtime.deliver(handle.runId, "colour", "blue"); // what the button on the page does
assert.equal((await handle.result).output, "painted blue");

await page.close();
await runtime.close();
