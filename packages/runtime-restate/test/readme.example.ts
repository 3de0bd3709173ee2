import assert from "node:assert/strict";
import { connect } from "node:http2";
import { type Agent, AgentId, type CreateRunContext } from "@ravi/kernel";
import { restateRuntime } from "@ravi/runtime-restate";

const greeter: Agent = {
  id: AgentId("greeter"),
  version: "2",
  async run(ctx, inbox) {
    const name = await ctx.waitFor("name"); // for days, if need be: nothing of it is kept in a process
    return { status: "completed", output: `${inbox.input}, ${String(name)}`, stopReason: "done" };
  },
};

// A worker hands over `createRunContext` of @ravi/runtime: the rules are the same on every engine.
const createContext: CreateRunContext = () => {
  throw new Error("no agent runs in this example");
};
await using worker = restateRuntime({
  agents: [greeter],
  createContext,
  ingress: "http://localhost:8080",
  admin: "http://localhost:9070",
});
const { port } = await worker.listen({ host: "127.0.0.1", port: 0 });

// With a server: `await worker.deploy("http://worker.example:9080")`, and then, from any process that reaches it,
//   const handle = worker.run(greeter, "Hello", { runId: "r1", executionBudget: { deadlineS: 3600 } });
//   await worker.deliver("r1", "name", "Ada");
//   (await handle.result).output;

// What a server asks a worker when it is deployed: which services there are. They carry every agent.
const session = connect(`http://127.0.0.1:${port}`);
const request = session.request({
  ":path": "/discover",
  accept: "application/vnd.restate.endpointmanifest.v4+json",
});
const manifest = JSON.parse((await Array.fromAsync(request)).join("")) as { services: { name: string }[] };
session.close();
assert.deepEqual(manifest.services.map(({ name }) => name).toSorted(), [
  "RaviExecution",
  "RaviRoot",
  "RaviTopic",
  "RaviWatcher",
]);
