import type { Agent, LLMClient, ModelRequest } from "@ravi/kernel";
import { fromSpawnBudget, type OwnLimits, type TreeLimits } from "../limits.ts";

/** What is known of an agent that was made here, beyond what its interface tells: enough to say what it can cost. */
export interface Blueprint {
  readonly model: LLMClient;
  readonly members: readonly Agent[];
  /** It hands work to agents that are not known here, by tools that are delegates. */
  readonly delegates: boolean;
  /** It has a layer of its own that tries failed calls again. */
  readonly retries: boolean;
  /** As it was written, without what the kernel adds. */
  readonly tree?: TreeLimits | undefined;
  /** Undefined for an agent whose calls only a run can tell: tools and layers may add to them, and call models themselves. */
  readonly closed?: ClosedLoop | undefined;
}

/** An agent that hears nobody but the user and its model. */
export interface ClosedLoop {
  /** Its first request without the user's message. */
  readonly request: Omit<ModelRequest, "messages">;
  readonly system: string | undefined;
  /** Model calls of one run, the last one included. */
  readonly calls: number;
}

const blueprints = new WeakMap<Agent, Blueprint>();

export function keepBlueprint(agent: Agent, blueprint: Blueprint): void {
  blueprints.set(agent, blueprint);
}

export function blueprintOf(agent: Agent): Blueprint | undefined {
  return blueprints.get(agent);
}

/** The agent and all who are known to work for it, each once. */
export function staffOf(root: Agent): readonly Agent[] {
  const found = new Set<Agent>();
  const visit = (agent: Agent): void => {
    if (found.has(agent)) return;
    found.add(agent);
    for (const member of blueprints.get(agent)?.members ?? []) visit(member);
  };
  visit(root);
  return [...found];
}

/** What an agent says of its own limits. */
export function ownLimits(agent: Agent): OwnLimits {
  const { executionBudget, spawnBudget } = agent.defaults ?? {};
  const known = blueprints.get(agent);
  if (known !== undefined) return { budget: executionBudget, tree: known.tree };
  return { budget: executionBudget, tree: spawnBudget && fromSpawnBudget(spawnBudget) };
}
