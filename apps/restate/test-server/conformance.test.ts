import { ExecutionTracker } from "@ravi/resources";
import { SpawnTracker } from "@ravi/supervision";
import type { JsonObject, Supervision } from "@ravi/kernel";
import { describeRuntime } from "@ravi/testing/suites";
import { afterAll, beforeAll } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

describeRuntime("on Restate", () => house(server), {
  headcount: ({ spawnBudget, agentId }: Supervision, snapshot?: JsonObject) =>
    snapshot === undefined
      ? new SpawnTracker(spawnBudget, { rootId: agentId })
      : SpawnTracker.restore(snapshot),
  ledger: ({ executionBudget, agentId }: Supervision) =>
    new ExecutionTracker(executionBudget, { scope: agentId }),
});
