import {
  type Agent,
  checkFields,
  InvalidValueError,
  isDelegate,
  type LLMClient,
  type RestartPolicy,
} from "@ravi/kernel";
import {
  type DynamicHiringOptions,
  OrchestratorAgent,
  type OrchestratorAgentOptions,
  type SubAgentConfig,
} from "@ravi/orchestrator";
import { asOwn } from "@ravi/kernel/loop";
import { RetryPolicy } from "@ravi/supervision";
import type { Budget, TreeLimits } from "../limits.ts";
import { checkBudget, checkTree } from "../limits/check.ts";
import { toExecutionBudget, toSpawnBudget } from "../limits/kernel-names.ts";
import { resolveModel } from "../models/model.ts";
import type { Models } from "../models/options.ts";
import { checkAgent } from "../run/host/check.ts";
import { AGENT_OPTIONS, type AgentOptions, budgetOf, checkList, type NeedsOutput } from "./agent.ts";
import { rememberBlueprint } from "./made/blueprint.ts";
import { hasRetry, pipelinesOf } from "./layers.ts";

/** An agent to hand work to, and the terms: `SubAgentConfig` of `@ravi/orchestrator`, with `budget` in this package's form. */
export interface Member extends Omit<SubAgentConfig, "executionBudget"> {
  /** What each of its runs may spend. */
  readonly budget?: Budget | undefined;
}

/**
 * How the model may define helpers itself: `DynamicHiringOptions` of `@ravi/orchestrator`, with `model` and `budget` in this
 * package's form.
 */
export interface DynamicHiring extends Omit<DynamicHiringOptions, "model" | "executionBudget"> {
  /** The model of the helpers. Default: the model of the lead. */
  readonly model?: string | LLMClient | undefined;
  /** What each helper may spend. */
  readonly budget?: Budget | undefined;
}

/** The options of `agent`, and those for its members. */
export interface TeamOptions<T = unknown>
  extends
    AgentOptions<T>,
    Omit<OrchestratorAgentOptions<T>, keyof AgentOptions | "executionBudget" | RenamedOptions> {
  /** The agents to hand work to. The model sees each one as the tool `handoff_<name>`. */
  readonly members?: readonly (Agent | Member)[] | undefined;
  /** How large its tree may grow. Used if the team is the root of the run, for each limit that `run` does not give. */
  readonly tree?: TreeLimits | undefined;
  /** When a member that crashed is hired again. Default: `RetryPolicy`, which is 3 times. `false`: never. */
  readonly retryPolicy?: RestartPolicy | false | undefined;
  /** Lets the model define helpers of its own. Off by default. */
  readonly dynamicHiring?: DynamicHiring | undefined;
}

/** The options that have another name or type here. */
type RenamedOptions = "subAgents" | "spawnBudget" | "retryPolicy" | "dynamicHiring";

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
  "attachments",
] as const satisfies readonly (keyof DynamicHiring)[];

const MEMBER_OPTIONS = [
  "agent",
  "name",
  "description",
  "budget",
  "priority",
  "askTimeoutS",
  "onTimeout",
  "onPreempt",
  "onFull",
  "retention",
  "attachments",
] as const satisfies readonly (keyof Member)[];

export const TEAM_OPTIONS = [
  ...AGENT_OPTIONS,
  "members",
  "tree",
  "retryPolicy",
  "dynamicHiring",
] as const satisfies readonly (keyof TeamOptions)[];

/**
 * Creates an agent that leads others. Its model hands tasks to the members, and each of them works within a headcount slot and
 * a budget of its own. Throws an `InvalidValueError` if an option is wrong or unknown.
 */
export function team<T = unknown>(options: TeamOptions<T> & NeedsOutput<NoInfer<T>>): OrchestratorAgent<T> {
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
  checkMembers(members, dynamicHiring !== undefined);
  if (dynamicHiring !== undefined) checkFields("team.dynamicHiring", dynamicHiring, DYNAMIC_HIRING_OPTIONS);
  const client = resolveModel("team.model", model, models);
  const hiring = dynamicHiring && hiringOf(dynamicHiring, models);
  const made = new OrchestratorAgent<T>({
    ...rest,
    model: client,
    executionBudget: budgetOf("team.budget", budget),
    middleware: pipelinesOf("team.middleware", middleware),
    subAgents: members.map((member, at) => configOf(`team.members[${at}]`, member)),
    spawnBudget: tree && toSpawnBudget(checkTree("team.tree", tree)),
    retryPolicy: retryPolicy === false ? undefined : (retryPolicy ?? new RetryPolicy()),
    dynamicHiring: hiring,
  });
  const tools = [...(rest.tools ?? []), ...(hiring?.tools ?? [])];
  rememberBlueprint(made, {
    model: client,
    tools: tools.map(({ name }) => name),
    helperModel: hiring?.model,
    members: members.map((member) => ("agent" in member ? member.agent : member)),
    retries: hasRetry(middleware?.chat),
    tree,
    delegates: tools.some(isDelegate),
  });
  return made;
}

function checkMembers(members: readonly unknown[], mayBeNone: boolean): void {
  checkList("team.members", members, "agents");
  if (members.length === 0 && !mayBeNone) {
    const expected = "at least one agent to hand work to, or dynamicHiring";
    throw new InvalidValueError({ field: "team.members", value: members, expected });
  }
  for (const [at, member] of members.entries()) {
    const isObject = typeof member === "object" && member !== null;
    checkAgent(`team.members[${at}]`, isObject && "agent" in member ? member.agent : member);
  }
}

/** A bare agent is a member on the default terms. */
function configOf(field: string, member: Agent | Member): SubAgentConfig {
  if (!("agent" in member)) return { agent: member };
  checkFields(field, member, MEMBER_OPTIONS);
  const { budget, ...rest } = asOwn(member, MEMBER_OPTIONS);
  return budget === undefined
    ? rest
    : { ...rest, executionBudget: toExecutionBudget(checkBudget(`${field}.budget`, budget)) };
}

function hiringOf(hiring: DynamicHiring, models: Models | undefined): DynamicHiringOptions {
  const { model, budget, ...rest } = asOwn(hiring, DYNAMIC_HIRING_OPTIONS);
  return {
    ...rest,
    ...(model !== undefined && { model: resolveModel("team.dynamicHiring.model", model, models) }),
    ...(budget !== undefined && {
      executionBudget: toExecutionBudget(checkBudget("team.dynamicHiring.budget", budget)),
    }),
  };
}
