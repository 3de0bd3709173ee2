import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Balancer } from "./balancer.ts";
import { callers } from "./bench-agents.ts";
import { compose } from "./compose.ts";
import { RestateServer } from "./server.ts";

// One large tree on two workers: how many calls per second its root object admits, and what an admission costs meanwhile.
// node --conditions=@ravi/source src/bench-tree.ts [agents] [calls of each] [ms that the model takes]

const [agents = 200, calls = 10, modelMs = 1_000] = process.argv.slice(2).map(Number);
const { caller, lead } = callers();
const settings = { RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: "16" };
const server = await RestateServer.start({ settings });
await using balancer = await Balancer.start();
const { ingress, admin } = server;
const workers = await Promise.all(
  [1, 2].map(async () => {
    const flags = ["--conditions=@ravi/source", "--no-warnings"];
    const child = fork(join(import.meta.dirname, "bench-worker.ts"), [ingress, admin], { execArgv: flags });
    const [port] = (await once(child, "message")) as [number];
    balancer.add(port);
    return child;
  }),
);
const client = compose({ ingress, admin, agents: [lead, caller] });
await client.deploy(balancer.url);

const options = { executionBudget: { maxCostUsd: 1e6 }, spawnBudget: { maxAgents: agents + 1 } };
async function timed(each: string): Promise<{ ms: number; extra: number }> {
  const began = performance.now();
  const { output, status } = await client.run(lead, `${agents}x${each}`, options).result;
  if (status !== "completed") throw new Error(`the tree has ${status}`);
  return { ms: performance.now() - began, extra: Number(output) };
}
await timed("1");
const hired = await timed("0");
console.log(`${agents} agents, hired at once and over at once: ${(hired.ms / 1000).toFixed(1)} s`);
const flat = await timed(`${calls}x0`);
const perSecond = Math.round(agents / (flat.extra / 1000));
console.log(`a model that answers at once: ${flat.extra.toFixed(0)} ms a call, ${perSecond} admissions/s`);
const slow = await timed(`${calls}x${modelMs}`);
const wanted = Math.round((agents * 1000) / modelMs);
console.log(
  `a model that takes ${modelMs} ms (${wanted} calls/s wanted): ${slow.extra.toFixed(0)} ms a call beyond it`,
);
await client.close();
for (const worker of workers) worker.disconnect();
await server.stop();
process.exit(0);
