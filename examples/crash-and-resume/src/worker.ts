// Reads three pages. The first worker kills itself in the middle of the second page. Started by main.ts.

import { agent, model, resume, run, tool } from "@ravi/sdk";
import * as z from "zod";

// It shares the standard output of main.ts, which reports it if that is lost.
process.stdout.on("error", () => {});

const [mode, journal = "", baseURL] = process.argv.slice(2);

const read = tool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number().int() }),
  idempotent: true, // so a read that was cut off by the crash may simply be repeated
  execute({ page }) {
    if (mode === "start" && page === 2) process.kill(process.pid, "SIGKILL");
    console.log(`worker: page ${page}`);
    return `Page ${page}: nothing new.`;
  },
});
const reader = agent({
  name: "reader",
  model: model("openai:small", { baseURL, apiKey: "sk-loopback" }),
  tools: [read],
});

const result =
  mode === "start"
    ? await run(reader, "What do the pages say?", { runId: "report", journal })
    : await resume("report", { agents: reader, journal });
console.log(`worker: ${result.output}`);
if (result.error !== undefined) console.error(result.error.message);
process.exitCode = result.status === "completed" ? 0 : 1;
