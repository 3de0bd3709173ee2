import {
  type AgentDefaults,
  type AgentResult,
  type DelegateTool,
  type Inbox,
  InvalidValueError,
  type RunContext,
  spawnBudget,
  type SpawnBudgetOptions,
} from "@ravi/kernel";
import {
  AgentBase,
  type DelegateOptions,
  delegateTo,
  type LoopPlan,
  planLoop,
  toolLoop,
} from "@ravi/kernel/loop";
import { handoffsFor } from "./team/handoffs.ts";
import { type DynamicHiring, dynamicHiring } from "./team/helpers.ts";
import type { OrchestratorAgentOptions } from "./options.ts";
import { Team, type TeamOptions } from "./team/team.ts";

const OWNER = "OrchestratorAgent";
const OWN_FIELDS = [
  "subAgents",
  "spawnBudget",
  "retryPolicy",
  "dynamicHiring",
] as const satisfies readonly Exclude<keyof OrchestratorAgentOptions, keyof LoopPlan>[];

/**
 * An agent whose model hands tasks to other agents. They run in parallel, each with a slot, a budget and a time limit. One object
 * can serve any number of runs at the same time.
 */
export class OrchestratorAgent<T = unknown> extends AgentBase<T> {
  private readonly plan: LoopPlan<T>;
  private readonly teamOptions: TeamOptions;

  constructor(options: OrchestratorAgentOptions<T>) {
    const hiring =
      options?.dynamicHiring === undefined
        ? undefined
        : dynamicHiring(`${OWNER}.dynamicHiring`, options.dynamicHiring, options);
    const plan = planLoop(OWNER, options, OWN_FIELDS, toolsOf(options, hiring));
    checkSomebody(options);
    checkPolicy(options);
    super(plan.id, plan, withSpawnBudget(plan.defaults, options.spawnBudget));
    this.plan = plan;
    this.teamOptions = { retryPolicy: options.retryPolicy, maxHelpers: hiring?.maxHelpers };
  }

  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>> {
    const team = new Team(ctx, this.teamOptions);
    try {
      return await toolLoop(this.plan, ctx, inbox, team);
    } finally {
      team.dismiss();
    }
  }

  /** This agent as a tool of another agent. A call of the tool hires it. */
  asDelegate(options?: DelegateOptions): DelegateTool<T> {
    return delegateTo(this, options);
  }
}

function withSpawnBudget(
  defaults: AgentDefaults | undefined,
  spawns: SpawnBudgetOptions | undefined,
): AgentDefaults | undefined {
  return spawns === undefined ? defaults : Object.freeze({ ...defaults, spawnBudget: spawnBudget(spawns) });
}

function toolsOf(
  options: OrchestratorAgentOptions,
  hiring: DynamicHiring | undefined,
): OrchestratorAgentOptions["tools"] {
  const { subAgents = [], tools = [] } = options ?? {};
  const handoffs = handoffsFor(`${OWNER}.subAgents`, subAgents);
  // Anything but an array is passed on: `planLoop` refuses it with an error that names the field.
  const list: unknown = tools;
  if (!Array.isArray(list)) return tools;
  return [...tools, ...handoffs, ...(hiring === undefined ? [] : [hiring.tool])];
}

/** Called when the names of the options are known to be right: a misspelt `subAgents` is named as such. */
function checkSomebody({ subAgents = [], dynamicHiring: hiring }: OrchestratorAgentOptions): void {
  if (subAgents.length > 0 || hiring !== undefined) return;
  throw new InvalidValueError({
    field: `${OWNER}.subAgents`,
    value: subAgents,
    expected: "at least one sub-agent, or the option dynamicHiring",
  });
}

const POLICY_METHODS = ["shouldRetry", "delayMs", "reset"] as const;

function checkPolicy({ retryPolicy }: OrchestratorAgentOptions): void {
  const isComplete = POLICY_METHODS.every((method) => typeof retryPolicy?.[method] === "function");
  if (retryPolicy === undefined || isComplete) return;
  throw new InvalidValueError({
    field: `${OWNER}.retryPolicy`,
    value: retryPolicy,
    expected: `a RestartPolicy with the methods ${POLICY_METHODS.join(", ")}, such as a RetryPolicy of @ravi/supervision`,
  });
}
