import { type Agent, checkFields, isDelegate, type LLMClient, type RestartPolicy } from "@ravi/kernel";
import { asOwn } from "@ravi/kernel/loop";
import {
  type DynamicHiringOptions,
  OrchestratorAgent,
  type OrchestratorAgentOptions,
  type SubAgentConfig,
} from "@ravi/orchestrator";
import { RetryPolicy } from "@ravi/supervision";
import {
  type Budget,
  checkBudget,
  checkTree,
  toExecutionBudget,
  toSpawnBudget,
  type TreeLimits,
} from "../limits.ts";
import { type Models, resolveModel } from "../models/model.ts";
import { checkAgent } from "../run/check.ts";
import { AGENT_OPTIONS, type AgentOptions, budgetOf, checkList } from "./agent.ts";
import { keepBlueprint } from "./blueprint.ts";
import { hasRetry, pipelinesOf } from "./layers.ts";

/** Somebody to hand work to, and on what terms: `SubAgentConfig` of `@ravi/orchestrator`. */
export interface Member extends Omit<SubAgentConfig, "executionBudget"> {
  /** What each of its runs may spend. */
  readonly budget?: Budget | undefined;
}

/** `DynamicHiringOptions` of `@ravi/orchestrator`. */
export interface DynamicHiring extends Omit<DynamicHiringOptions, "model" | "executionBudget"> {
  /** The lead's. */
  readonly model?: string | LLMClient | undefined;
  readonly budget?: Budget | undefined;
}

export interface TeamOptions<T = unknown>
  extends
    AgentOptions<T>,
    Omit<OrchestratorAgentOptions<T>, keyof AgentOptions | "executionBudget" | OwnWords> {
  /** Agents to hand work to; the model sees each as `handoff_<name>`. */
  readonly members?: readonly (Agent | Member)[] | undefined;
  /** How large its tree may grow. Counts where it is the root, and where `run` says nothing else. */
  readonly tree?: TreeLimits | undefined;
  /** When a member that crashed is hired again: `RetryPolicy`, 3 times. */
  readonly retryPolicy?: RestartPolicy | false | undefined;
  /** Lets the model define helpers of its own. Off unless given. */
  readonly dynamicHiring?: DynamicHiring | undefined;
}

type OwnWords = "subAgents" | "spawnBudget" | "retryPolicy" | "dynamicHiring";

const DYNAMIC_HIRING_OPTIONS = [
  "tools",
  "model",
  "maxHelpers",
  "maxSteps",
  "budget",
  "priority",
  "askTimeoutS",
  "onPreempt",
  "onFull",
] as const satisfies readonly (keyof DynamicHiring)[];

export const TEAM_OPTIONS = [
  ...AGENT_OPTIONS,
  "members",
  "tree",
  "retryPolicy",
  "dynamicHiring",
] as const satisfies readonly (keyof TeamOptions)[];

/** An agent that leads others: its model hands them tasks, and each works on a seat and a budget of its own. */
export function team<T = unknown>(options: TeamOptions<T>): OrchestratorAgent<T> {
  checkFields("team", options, TEAM_OPTIONS);
  const {
    model,
    models,
    budget,
    middleware,
    members = [],
    tree,
    retryPolicy,
    dynamicHiring,
    ...rest
  } = asOwn<TeamOptions<T>>(options, TEAM_OPTIONS);
  checkList("team.tools", rest.tools, "tools");
  checkMembers(members);
  if (dynamicHiring !== undefined) checkFields("team.dynamicHiring", dynamicHiring, DYNAMIC_HIRING_OPTIONS);
  const client = resolveModel("team.model", model, models);
  const made = new OrchestratorAgent<T>({
    ...rest,
    model: client,
    executionBudget: budgetOf("team.budget", budget),
    middleware: pipelinesOf("team.middleware", middleware),
    subAgents: members.map((member, at) => configOf(`team.members[${at}]`, member)),
    spawnBudget: tree && toSpawnBudget(checkTree("team.tree", tree)),
    retryPolicy: retryPolicy === false ? undefined : (retryPolicy ?? new RetryPolicy()),
    dynamicHiring: dynamicHiring && hiringOf(dynamicHiring, models),
  });
  keepBlueprint(made, {
    model: client,
    members: members.map((member) => ("agent" in member ? member.agent : member)),
    retries: hasRetry(middleware?.chat),
    tree,
    delegates: (rest.tools ?? []).some(isDelegate),
  });
  return made;
}

function checkMembers(members: readonly unknown[]): void {
  checkList("team.members", members, "agents");
  for (const [at, member] of members.entries()) {
    const isObject = typeof member === "object" && member !== null;
    checkAgent(`team.members[${at}]`, isObject && "agent" in member ? member.agent : member);
  }
}

/** An agent alone stands for itself on the usual terms. */
function configOf(field: string, member: Agent | Member): SubAgentConfig {
  if (!("agent" in member)) return { agent: member };
  const { budget, ...rest } = member;
  return budget === undefined
    ? rest
    : { ...rest, executionBudget: toExecutionBudget(checkBudget(`${field}.budget`, budget)) };
}

function hiringOf(
  { model, budget, ...rest }: DynamicHiring,
  models: Models | undefined,
): DynamicHiringOptions {
  return {
    ...rest,
    ...(model !== undefined && { model: resolveModel("team.dynamicHiring.model", model, models) }),
    ...(budget !== undefined && {
      executionBudget: toExecutionBudget(checkBudget("team.dynamicHiring.budget", budget)),
    }),
  };
}
