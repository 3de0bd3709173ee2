import type { Agent, LLMClient, ModelRequest } from "@ravi/kernel";
import type { OwnLimits, TreeLimits } from "../../limits.ts";
import { fromSpawnBudget } from "../../limits/kernel-names.ts";

/**
 * What `agent()` and `team()` remember about the agent that they made, beyond its interface. `estimate` and the retry layer
 * need it.
 */
export interface Blueprint {
  readonly model: LLMClient;
  /** The model of the helpers that its own model defines, if that is another one. */
  readonly helperModel?: LLMClient | undefined;
  /** The names of its tools, and of those of helpers that its own model defines. */
  readonly tools: readonly string[];
  /** The agents that it may hand work to. */
  readonly members: readonly Agent[];
  /** It, or a helper that it defines, also has delegate tools, which hand work to agents that are not known here. */
  readonly delegates: boolean;
  /** Its own middleware has a retry layer. */
  readonly retries: boolean;
  /** The limits as the user wrote them, without the kernel's defaults. */
  readonly tree?: TreeLimits | undefined;
  /**
   * Undefined if the number of its calls is not known before it runs: tools and layers may add calls, and call models
   * themselves.
   */
  readonly closed?: ClosedLoop | undefined;
}

/** An agent whose prompt consists only of its instructions, the user's input and its model's own answers. */
export interface ClosedLoop {
  /** Its first request, without the messages. */
  readonly request: Omit<ModelRequest, "messages">;
  /** The system prompt. */
  readonly system: string | undefined;
  /** The most model calls of one run, including the last one that wraps up. */
  readonly calls: number;
}

const blueprints = new WeakMap<Agent, Blueprint>();

export function rememberBlueprint(agent: Agent, blueprint: Blueprint): void {
  blueprints.set(agent, blueprint);
}

export function blueprintOf(agent: Agent): Blueprint | undefined {
  return blueprints.get(agent);
}

/** The agent and all members that it may hire, directly or indirectly, each once. */
export function teamOf(root: Agent): readonly Agent[] {
  const found = new Set<Agent>();
  const visit = (agent: Agent): void => {
    if (found.has(agent)) return;
    found.add(agent);
    for (const member of blueprints.get(agent)?.members ?? []) visit(member);
  };
  visit(root);
  return [...found];
}

/** The limits that an agent declares for itself. */
export function ownLimits(agent: Agent): OwnLimits {
  const { executionBudget, spawnBudget } = agent.defaults ?? {};
  const known = blueprints.get(agent);
  if (known !== undefined) return { budget: executionBudget, tree: known.tree };
  return { budget: executionBudget, tree: spawnBudget && fromSpawnBudget(spawnBudget) };
}
