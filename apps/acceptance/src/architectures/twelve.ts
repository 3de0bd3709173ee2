import {
  type Agent,
  type Architecture,
  defineTool,
  type LLMClient,
  type Memory,
  type Usage,
} from "@ravi/kernel";
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
import * as z from "zod";

/** An agent with one of the strategies, and the usage that its session has counted. */
export interface Seat {
  readonly agent: Agent;
  readonly counted: () => Usage | undefined;
}

type Build = (team: Team) => Architecture;

interface Team {
  readonly ann: Agent;
  readonly bob: Agent;
  readonly judge: Agent;
}

/** The twelve strategies, each with the workers that it needs. */
export const TWELVE: Readonly<Record<string, Build>> = {
  react: () => new ReAct(),
  "self-refine": () => new SelfRefine(),
  reflexion: () => new Reflexion(),
  "tree-of-thoughts": () => new TreeOfThoughts(),
  "plan-and-execute": () => new PlanAndExecute(),
  rewoo: () => new ReWOO(),
  router: ({ ann, bob }) => new Router({ routes: { ann, bob } }),
  supervisor: ({ ann, bob }) => new Supervisor({ workers: { ann, bob } }),
  "actor-critic": ({ ann, judge }) => new ActorCritic({ actor: ann, critic: judge }),
  debate: ({ ann, bob }) => new Debate({ debaters: { ann, bob } }),
  swarm: ({ ann, bob }) => new Swarm({ members: { ann, bob } }),
  blackboard: ({ ann, bob, judge }) => new Blackboard({ experts: { ann, bob }, coordinator: judge }),
};

/**
 * Builds an agent with the named strategy, a `look_up` tool and, if the strategy needs them, workers. Throws if there is no such
 * strategy.
 */
export function seat(name: string, model: LLMClient, memory?: Memory): Seat {
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks something up.",
    input: z.object({ query: z.string() }),
    idempotent: true,
    execute: ({ query }) => `facts about ${query}`,
  });
  const worker = (who: string): Agent =>
    new StrategyAgent({ name: who, model, instructions: `You are ${who}.`, architecture: new ReAct() });
  const team = { ann: worker("ann"), bob: worker("bob"), judge: worker("judge") };
  const build = TWELVE[name];
  if (build === undefined) throw new TypeError(`no strategy ${name}`);
  let counted: (() => Usage) | undefined;
  const inner = build(team);
  const architecture: Architecture = {
    name: inner.name,
    run(session, deps, prompt) {
      counted = () => session.cumulativeUsage;
      return inner.run(session, deps, prompt);
    },
    declaredWorkers: () => inner.declaredWorkers(),
  };
  const agent = new StrategyAgent({ name: "thinker", model, tools: [lookUp], memory, architecture });
  return { agent, counted: () => counted?.() };
}
