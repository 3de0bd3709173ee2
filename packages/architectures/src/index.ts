/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Twelve reasoning strategies behind one interface, and `StrategyAgent`, which runs an agent with one of them.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { scopeForWorker } from "@ravi/kernel/loop";
export { spawnChild, spawnChildren, withExtraTools } from "./run/worker.ts";
export type { StrategyAgentOptions } from "./options.ts";
export { type OwnPrompts, PROMPTS, type Prompts } from "./prompts.ts";
export { freshSession, type FreshSessionOptions } from "./session.ts";
export { StrategyAgent } from "./strategy-agent.ts";
export type { NumberedEvent } from "./stream.ts";

export { ActorCritic, type ActorCriticOptions } from "./strategies/actor-critic.ts";
export { Blackboard, type BlackboardOptions } from "./strategies/blackboard.ts";
export { Debate, type DebateOptions } from "./strategies/debate.ts";
export { PlanAndExecute, type PlanAndExecuteOptions } from "./strategies/plan-and-execute.ts";
export { ReAct } from "./strategies/react.ts";
export { Reflexion, type ReflexionOptions } from "./strategies/reflexion.ts";
export { ReWOO, type ReWOOOptions } from "./strategies/rewoo.ts";
export { Router, type RouterOptions } from "./strategies/router.ts";
export { SelfRefine, type SelfRefineOptions } from "./strategies/self-refine.ts";
export { Supervisor, type SupervisorOptions } from "./strategies/supervisor.ts";
export { Swarm, type SwarmOptions } from "./strategies/swarm.ts";
export type { SpawnWorker } from "./strategies/team.ts";
export { TreeOfThoughts, type TreeOfThoughtsOptions } from "./strategies/tree-of-thoughts.ts";
