import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { createRunContext } from "@ravi/runtime";
import { restateRuntime } from "@ravi/runtime-restate";
import { SpawnTracker } from "@ravi/supervision";
import { greeter } from "./greeter.ts";

const { RESTATE_INGRESS, RESTATE_ADMIN, PORT } = process.env;
const worker = restateRuntime({
  agents: [greeter],
  ingress: RESTATE_INGRESS ?? "http://localhost:8080",
  admin: RESTATE_ADMIN ?? "http://localhost:9070",
  createContext: createRunContext, // the rules, the same with every engine
  headcount: (root, snapshot) =>
    snapshot === undefined
      ? new SpawnTracker(root.spawnBudget, { rootId: root.agentId })
      : SpawnTracker.restore(snapshot),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.agentId }),
  meter: new ModelMeter(), // a limit in dollars needs its prices
});
const { port } = await worker.listen({ host: "127.0.0.1", port: Number(PORT ?? 9080) });
await worker.deploy(`http://127.0.0.1:${port}`); // registers it: where the server reaches this worker
console.log(`greeter works on port ${port}`);
