import { expect, test } from "vitest";
import * as architectures from "@ravi/architectures";

test("the package exports these names and no others", () => {
  expect(Object.keys(architectures).toSorted()).toEqual([
    "ActorCritic",
    "Blackboard",
    "Debate",
    "PROMPTS",
    "PlanAndExecute",
    "ReAct",
    "ReWOO",
    "Reflexion",
    "Router",
    "SelfRefine",
    "StrategyAgent",
    "Supervisor",
    "Swarm",
    "TreeOfThoughts",
    "freshSession",
    "scopeForWorker",
    "spawnChild",
    "spawnChildren",
    "withExtraTools",
  ]);
});
