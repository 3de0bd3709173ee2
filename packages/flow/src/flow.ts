import {
  type Agent,
  type AgentDefaults,
  type AgentId,
  checkFields,
  executionBudget,
  type ExecutionBudgetOptions,
  HookEvent,
  type Hooks,
  type Inbox,
  isRaviError,
  type Pipelines,
  type RunContext,
  spawnBudget,
  type SpawnBudgetOptions,
} from "@ravi/kernel";
import { agentIdOf, checkAgentParts, hookBase } from "@ravi/kernel/loop";
import type { FlowResult, StepResult } from "./results.ts";

/** What every flow takes. */
export interface FlowOptions {
  /** Without `/`. */
  readonly name: string;
  readonly description?: string | undefined;
  /** Change it when a recorded run could not be replayed with the new definition. */
  readonly version?: string | undefined;
  readonly hooks?: Hooks | undefined;
  readonly middleware?: Pipelines | undefined;
  /** What the flow and all its branches may spend together. */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** How many agents there may be, where the flow is the root. */
  readonly spawnBudget?: SpawnBudgetOptions | undefined;
}

const KNOWN = [
  "name",
  "description",
  "version",
  "hooks",
  "middleware",
  "executionBudget",
  "spawnBudget",
] as const satisfies readonly (keyof FlowOptions)[];

/** What all flows are: an agent that hires its branches, and tells when it begins and ends. */
export abstract class Flow implements Agent<readonly StepResult[]> {
  readonly id: AgentId;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly hooks: Hooks | undefined;
  readonly pipelines: Pipelines | undefined;
  readonly defaults: AgentDefaults;

  /** A mistake is named after its owner, which checks the fields by itself that it has beyond these. */
  constructor(owner: string, options: FlowOptions, ownFields: readonly string[]) {
    checkFields(owner, options, [...ownFields, ...KNOWN]);
    checkAgentParts(owner, options);
    this.id = agentIdOf(`${owner}.name`, options.name);
    this.version = options.version;
    this.description = options.description;
    this.hooks = options.hooks;
    this.pipelines = options.middleware;
    this.defaults = defaultsOf(options);
  }

  /** FLOW_START, the branches, FLOW_END; the last comes however it ends. */
  async run(ctx: RunContext, inbox: Inbox): Promise<FlowResult> {
    const { hooks, meta } = ctx;
    const flow = this.id;
    const started = meta.now();
    if (hooks.has(HookEvent.FLOW_START))
      void hooks.dispatch(HookEvent.FLOW_START, { ...hookBase(ctx), flow, branches: this.branches });
    const tellEnd = (status: "completed" | "partial" | "failed"): void => {
      if (!hooks.has(HookEvent.FLOW_END)) return;
      const durationMs = meta.now() - started;
      void hooks.dispatch(HookEvent.FLOW_END, { ...hookBase(ctx), flow, status, durationMs });
    };
    try {
      const result = await this.flow(ctx, inbox.input);
      tellEnd(result.status === "completed" ? "completed" : "partial");
      return result;
    } catch (error) {
      // A suspended run has not ended: the flow goes on when it is resumed.
      if (!isRaviError(error, "SUSPENDED")) tellEnd(isCutOff(error) ? "partial" : "failed");
      throw error;
    }
  }

  /** How many branches or steps there are. */
  protected abstract readonly branches: number;
  protected abstract flow(ctx: RunContext, input: string): Promise<FlowResult>;
}

/** What the runtime takes for a flow that was cut off, and not for one that has failed. */
function isCutOff(error: unknown): boolean {
  return (
    isRaviError(error, "BUDGET_EXHAUSTED") ||
    isRaviError(error, "DEADLINE_EXCEEDED") ||
    isRaviError(error, "PAUSED")
  );
}

function defaultsOf(options: FlowOptions): AgentDefaults {
  return Object.freeze({
    ...(options.executionBudget !== undefined && {
      executionBudget: executionBudget(options.executionBudget),
    }),
    ...(options.spawnBudget !== undefined && { spawnBudget: spawnBudget(options.spawnBudget) }),
  });
}
