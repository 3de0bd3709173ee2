import { createRunContext } from "@ravi/runtime";
import { restateRuntime } from "@ravi/runtime-restate";
import { greeter } from "./greeter.ts";

const { RESTATE_INGRESS, RESTATE_ADMIN } = process.env;
const client = restateRuntime({
  ingress: RESTATE_INGRESS ?? "http://localhost:8080",
  admin: RESTATE_ADMIN ?? "http://localhost:9070",
  createContext: createRunContext,
});
const run = client.run(greeter, "Hello", { executionBudget: { maxTurns: 10, deadlineS: 3_600 } });
await client.deliver(run.runId, "name", "Ada"); // any process may, now or in a week
const { status, output } = await run.result;
console.log(status, output);
await client.close();
