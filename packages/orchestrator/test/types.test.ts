import { expectTypeOf, test } from "vitest";
import type { Agent } from "@ravi/kernel";
import { OrchestratorAgent, type SubAgentConfig } from "@ravi/orchestrator";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent } from "./support.ts";

test("an agent of any result can be handed work, and `output` gives the orchestrator's own", () => {
  const typed = { ...agent("typed"), output: z.object({ n: z.number() }) } satisfies Agent;
  expectTypeOf<{ agent: Agent<{ n: number }> }>().toExtend<SubAgentConfig>();
  const lead = new OrchestratorAgent({
    name: "lead",
    model: scriptedModel([]),
    subAgents: [{ agent: typed }],
    output: z.object({ verdict: z.enum(["yes", "no"]) }),
  });
  expectTypeOf(lead).toExtend<Agent<{ verdict: "yes" | "no" }>>();
});
