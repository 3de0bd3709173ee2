import type {
  Agent,
  AgentDefaults,
  AgentId,
  AgentResult,
  DelegateTool,
  Hooks,
  Inbox,
  Pipelines,
  RunContext,
  SchemaLike,
} from "@ravi/kernel";
import {
  type DelegateOptions,
  delegateTo,
  type LoopOptions,
  type LoopPlan,
  planLoop,
  toolLoop,
} from "@ravi/kernel/loop";

/** Options of a `ReActAgent`. */
export type ReActAgentOptions<T = unknown> = LoopOptions<T>;

/**
 * An agent that asks its model, makes the tool calls that it asks for, and repeats until it answers. One object can serve any
 * number of runs at the same time: it keeps no state between them.
 */
export class ReActAgent<T = unknown> implements Agent<T> {
  readonly id: AgentId;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly hooks: Hooks | undefined;
  readonly pipelines: Pipelines | undefined;
  readonly output: SchemaLike<T> | undefined;
  readonly defaults: AgentDefaults | undefined;
  private readonly plan: LoopPlan<T>;

  constructor(options: ReActAgentOptions<T>) {
    const plan = planLoop("ReActAgent", options);
    this.plan = plan;
    this.id = plan.id;
    this.version = plan.version;
    this.description = plan.description;
    this.hooks = plan.hooks;
    this.pipelines = plan.middleware;
    this.output = plan.output;
    this.defaults = plan.defaults;
  }

  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>> {
    return toolLoop(this.plan, ctx, inbox);
  }

  /** This agent as a tool of another agent. A call of the tool hires it, with its own slot and budget. */
  asDelegate(options?: DelegateOptions): DelegateTool<T> {
    return delegateTo(this, options);
  }
}
