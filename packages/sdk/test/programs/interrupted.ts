import process from "node:process";
import type { Journal } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent, resume, run, tool } from "@ravi/sdk";

// One run as a process of its own, to be interrupted at its second model call, which never answers in `start` and does in
// `resume`. Prints a line when it is called, and the result as JSON.

const [mode = "", directory = "", handle = ""] = process.argv.slice(2);

const note = tool({
  name: "note",
  description: "Notes something.",
  input: z.object({ text: z.string() }),
  execute({ text }) {
    console.log(`noted ${text}`);
    return "noted";
  },
});
const model = scriptedModel(({ messages }) => {
  if (!messages.some(({ role }) => role === "tool"))
    return { toolCalls: [{ name: "note", arguments: { text: "it" } }] };
  console.log("called");
  return mode === "resume" ? "Done." : { fault: { type: "hang" } };
});
const clerk = agent({ name: "clerk", model, tools: [note] });
const handleSignals = handle === "" ? undefined : handle === "true";

/** A journal that never lets go, so that there is time for a second Ctrl-C. */
function stuckJournal(): Journal {
  const journal = new MemoryJournal();
  return new Proxy<Journal>(journal, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "release") return () => new Promise(() => {});
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const keepAlive = setInterval(() => {}, 1_000);
const journal = mode === "stuck" ? stuckJournal() : directory === "" ? undefined : directory;
const result =
  mode === "resume"
    ? await resume("run-1", { agents: clerk, journal: directory, handleSignals })
    : await run(clerk, "Note it", { runId: "run-1", journal, handleSignals, budget: { seconds: 600 } });
clearInterval(keepAlive);
const { status, output, inDoubt, error } = result;
console.log(
  JSON.stringify({
    status,
    output,
    inDoubt,
    why: error?.message,
    listeners: process.listenerCount("SIGINT"),
  }),
);
