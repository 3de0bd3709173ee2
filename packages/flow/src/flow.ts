import {
  type AgentDefaults,
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
import {
  AgentBase,
  agentIdOf,
  checkAgentParts,
  checkHost,
  hookBase,
  type LoopInput,
} from "@ravi/kernel/loop";
import type { FlowResult, StepResult } from "./results.ts";

/** The options of every flow. */
export interface FlowOptions {
  /** The agent's id, without `/`. */
  readonly name: string;
  /** What other agents are told about the flow. */
  readonly description?: string | undefined;
  /**
   * A recorded run resumes only with the version it began with. Change it when old runs could not be replayed with the new
   * definition.
   */
  readonly version?: string | undefined;
  /** Called in addition to the runtime's hooks. */
  readonly hooks?: Hooks | undefined;
  /** Middleware of this flow. The runtime's own is outside of it. */
  readonly middleware?: Pipelines | undefined;
  /** What the flow and all its branches may spend together. Default: no limit of its own. */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** How many agents there may be, if the flow is the root of a run. */
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

/** The base of all flows: an agent that hires its branches and reports when it starts and ends. */
export abstract class Flow extends AgentBase<readonly StepResult[]> {
  declare readonly defaults: AgentDefaults;

  /** `owner` names the class in error messages; `ownFields` are its additional options, which it checks itself. */
  constructor(owner: string, options: FlowOptions, ownFields: readonly string[]) {
    checkFields(owner, options, [...ownFields, ...KNOWN]);
    checkAgentParts(owner, options);
    super(agentIdOf(`${owner}.name`, options.name), options, defaultsOf(options));
  }

  /** Dispatches FLOW_START, runs the branches and dispatches FLOW_END, also if it fails; but not if the run is suspended. */
  async run(ctx: RunContext, inbox: Inbox): Promise<FlowResult> {
    checkHost(this, inbox);
    const { hooks, meta } = ctx;
    const flow = this.id;
    const started = meta.now();
    if (hooks.has(HookEvent.FLOW_START))
      void hooks.dispatch(HookEvent.FLOW_START, { ...hookBase(ctx), flow, branches: this.branches });
    const dispatchEnd = (status: "completed" | "partial" | "failed"): void => {
      if (!hooks.has(HookEvent.FLOW_END)) return;
      const durationMs = Math.max(0, meta.now() - started);
      void hooks.dispatch(HookEvent.FLOW_END, { ...hookBase(ctx), flow, status, durationMs });
    };
    try {
      const result = await this.flow(ctx, inbox);
      dispatchEnd(result.status === "completed" ? "completed" : "partial");
      return result;
    } catch (error) {
      // A suspended run has not ended: the flow continues when it is resumed.
      if (!isRaviError(error, "SUSPENDED")) dispatchEnd(isCutOff(error) ? "partial" : "failed");
      throw error;
    }
  }

  /** How many branches or steps there are. */
  protected abstract readonly branches: number;
  protected abstract flow(ctx: RunContext, given: LoopInput): Promise<FlowResult>;
}

/** Errors after which the runtime counts the flow as cut off (`partial`), not as failed. */
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
