import { AsyncLocalStorage } from "node:async_hooks";
import { HookEvent } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../../src/journal/memory-journal.ts";
import { everything } from "../everything.ts";
import { worker } from "../worker.ts";

// Run by compiled.test.ts, with --expose-gc: makes a few runs of each kind and prints what is left of them. It ends by itself.

const storage = new AsyncLocalStorage<object>();
const heard = new Map<HookEvent, number>();
const journal = new MemoryJournal();
const governed = new Runtime(everything(journal, heard));

async function runBoth(): Promise<void> {
  for (const runtime of [new Runtime(), governed]) await runtime.run(worker(1), "go").result;
}

const contexts: WeakRef<object>[] = [];
for (let n = 0; n < 3; n++) {
  const context = { request: n };
  contexts.push(new WeakRef(context));
  await storage.run(context, runBoth);
}
// Nothing that was alive in this turn of the event loop is collected in it.
await new Promise((resolve) => setImmediate(resolve));
globalThis.gc?.();
console.log(
  JSON.stringify({
    // The last one may still be in a register.
    contexts: contexts.slice(0, -1).map((context) => context.deref() !== undefined),
    starts: heard.get(HookEvent.RUN_START),
    listed: journal.list().length,
    resources: process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "Immediate"),
  }),
);
