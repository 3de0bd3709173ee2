import type { Agent, Architecture, LLMClient } from "@ravi/kernel";
import {
  ActorCritic,
  Blackboard,
  Debate,
  PlanAndExecute,
  ReAct,
  Reflexion,
  ReWOO,
  Router,
  SelfRefine,
  StrategyAgent,
  Supervisor,
  Swarm,
  TreeOfThoughts,
} from "@ravi/architectures";
import { calculate } from "./calculate.ts";

/** The twelve strategies with their defaults, all with the same model and tool. */
export function lineUp(model: LLMClient): Readonly<Record<string, Agent>> {
  const worker = (name: string, description: string): Agent =>
    new StrategyAgent({
      name,
      description,
      model,
      tools: [calculate],
      instructions: `You are ${name}. ${description} Be short.`,
      architecture: new ReAct(),
    });
  const maths = worker("maths", "Works out numbers.");
  const checker = worker("checker", "Checks what others worked out.");
  const team = { maths, checker };
  const strategies: readonly Architecture[] = [
    new ReAct(),
    new SelfRefine(),
    new Reflexion(),
    new TreeOfThoughts(),
    new PlanAndExecute(),
    new ReWOO(),
    new Router({ routes: team, fallback: "maths" }),
    new Supervisor({ workers: team }),
    new ActorCritic(),
    new Debate(),
    new Swarm({ members: { checker, maths } }),
    new Blackboard({ experts: team }),
  ];
  return Object.fromEntries(
    strategies.map((architecture) => [
      architecture.name,
      new StrategyAgent({
        name: architecture.name,
        model,
        tools: [calculate],
        instructions: "Answer questions with numbers. Be short.",
        architecture,
      }),
    ]),
  );
}
