import process from "node:process";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent, run, startResume, tool } from "@ravi/sdk";

// One run as a process of its own, whose tool needs an approval. In `hang` it is killed while its tool pays. Prints the result as JSON.

const [mode = "", journal = ""] = process.argv.slice(2);

const pay = tool({
  name: "pay",
  description: "Pays a bill.",
  input: z.object({ usd: z.number() }),
  needsApproval: mode !== "hang",
  execute({ usd }) {
    console.log(`paid ${usd}`);
    return mode === "hang" ? new Promise<string>(() => {}) : "paid";
  },
});
const model = scriptedModel(({ messages }) => {
  const result = messages.find(({ role }) => role === "tool");
  return result === undefined
    ? { toolCalls: [{ name: "pay", arguments: { usd: 12 } }] }
    : `I was told: ${String(result.content)}`;
});
const clerk = agent({ name: "clerk", model, tools: [pay] });
const options = { journal, prices: { scripted: { input: 1, output: 1 } } };
const keepAlive = setInterval(() => {}, 1_000);
const { status, output } =
  mode === "resume"
    ? await startResume("run-1", { ...options, agents: clerk }).result
    : await run(clerk, "Pay the bill.", { ...options, runId: "run-1" });
clearInterval(keepAlive);
console.log(JSON.stringify({ status, output }));
