import { parseArgs } from "node:util";
import { SlidingWindow } from "@ravi/context";
import { openai } from "@ravi/provider-openai";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { killingJournal, type KillPoint } from "./killing-journal.ts";
import { referenceTeam } from "./team.ts";

// The reference run as a process of its own: starts or resumes the run and prints its result as one JSON object.

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "" },
    journal: { type: "string", default: "" },
    outbox: { type: "string", default: "" },
    resume: { type: "boolean", default: false },
    decisions: { type: "string", default: "{}" },
    kill: { type: "string" },
  },
});
const model = openai("small", { baseURL: values.url, apiKey: "sk-loopback", maxOutputTokens: 200 });
const { lead } = referenceTeam(model, values.outbox);
const kill = values.kill === undefined ? undefined : (JSON.parse(values.kill) as KillPoint);
const store = SqliteJournal.open(values.journal);
const runtime = new Runtime({
  agents: [lead],
  journal: killingJournal(store, kill),
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
  compaction: new SlidingWindow({ messages: 4 }),
});
const handle = values.resume
  ? runtime.resume("reference", { decisions: JSON.parse(values.decisions) as Record<string, "skip"> })
  : runtime.run(lead, "ant bee cicada", {
      runId: "reference",
      spawnBudget: { maxAgents: 4 },
      executionBudget: { maxTurns: 40, maxTokens: 1_000_000 },
    });
// The approval is delivered before it is asked for; it is kept until then.
if (!values.resume) await runtime.deliver("reference", "approval:reference/hire:editor#1:tool:1:0", true);
const { status, output, inDoubt, usage, error } = await handle.result;
console.log(
  JSON.stringify({
    status,
    output,
    inDoubt,
    usage,
    error: error?.message,
    entries: (await store.load(handle.runId)).length,
  }),
);
await runtime.close();
await store.close();
