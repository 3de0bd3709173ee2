import { parseArgs } from "node:util";
import { HookManager } from "@ravi/hooks";
import { HookEvent } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { createRunContext } from "@ravi/runtime";
import { restateRuntime } from "@ravi/runtime-restate";
import { SpawnTracker } from "@ravi/supervision";
import { buildTeam, rules } from "../compose.ts";
import { pricesOf, realModel } from "../models.ts";
import { STAND_IN_MODEL, STAND_IN_PRICES } from "../stand-in/server.ts";

// A worker process of `demo --engine restate`: it runs whichever agents of the team the server assigns to it.

const { values } = parseArgs({
  options: {
    ingress: { type: "string", default: "" },
    admin: { type: "string", default: "" },
    port: { type: "string", default: "0" },
    "stand-in": { type: "string" },
    model: { type: "string", default: "" },
    "base-url": { type: "string" },
    price: { type: "string" },
  },
});
const { ingress, admin, "stand-in": standIn } = values;
const model =
  standIn === undefined
    ? await realModel(values.model, values["base-url"])
    : openai(STAND_IN_MODEL, { baseURL: standIn, apiKey: "no-key-needed" });
const prices =
  standIn === undefined ? pricesOf(values.model, values.price) : { "openai:stand-in": STAND_IN_PRICES };
// The demo that shows the tree is another process, so preemptions and resumptions are sent to it.
const hooks = new HookManager();
for (const event of [HookEvent.PREEMPTED, HookEvent.RESUMED] as const)
  hooks.on(event, (payload) => void process.send?.({ event, payload }));
const runtime = restateRuntime({
  ...rules(prices),
  agents: buildTeam(model).everybody,
  createContext: createRunContext,
  ingress,
  admin,
  hooks,
  headcount: ({ spawnBudget, rootId }, snapshot) =>
    snapshot === undefined ? new SpawnTracker(spawnBudget, { rootId }) : SpawnTracker.restore(snapshot),
});
// On Linux several workers share one port. Elsewhere the first worker does all the work.
await runtime.listen({
  host: "127.0.0.1",
  port: Number(values.port),
  reusePort: process.platform === "linux",
});
process.send?.({ event: "ready" });
// Ends with the demo.
process.on("disconnect", () => process.exit(0));
