import assert from "node:assert/strict";
import { connect } from "node:http2";
import { type Agent, AgentId, type CreateRunContext } from "@ravi/kernel";
import { restateRuntime } from "@ravi/runtime-restate";

const greeter: Agent = {
  id: AgentId("greeter"),
  version: "2",
  async run(ctx, inbox) {
    const name = await ctx.waitFor("name"); // may take days; meanwhile the server keeps the run, not a process
    return { status: "completed", output: `${inbox.input}, ${String(name)}`, stopReason: "done" };
  },
};

// A real worker passes `createRunContext` of @ravi/runtime, which enforces the same rules on every engine.
const createContext: CreateRunContext = () => {
  throw new Error("no agent runs in this example");
};
const worker = restateRuntime({
  agents: [greeter],
  createContext,
  ingress: "http://localhost:8080",
  admin: "http://localhost:9070",
});
const { port } = await worker.listen({ host: "127.0.0.1", port: 0 });

// With a Restate server: `await worker.deploy("http://worker.example:9080")`, then, from any process that can reach the server:
//   const handle = worker.run(greeter, "Hello", { runId: "r1", executionBudget: { deadlineS: 3600 } });
//   await worker.deliver("r1", "name", "Ada");
//   (await handle.result).output;

// When a worker is deployed, the server asks it for its services. The same four serve every agent.
const session = connect(`http://127.0.0.1:${port}`);
const request = session.request({
  ":path": "/discover",
  accept: "application/vnd.restate.endpointmanifest.v4+json",
});
const manifest = JSON.parse((await Array.fromAsync(request)).join("")) as { services: { name: string }[] };
session.close();
await worker.close();
assert.deepEqual(manifest.services.map(({ name }) => name).toSorted(), [
  "RaviExecution",
  "RaviRoot",
  "RaviTopic",
  "RaviWatcher",
]);
