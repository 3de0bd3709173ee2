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
import { type DelegateOptions, delegateTo } from "./delegate.ts";
import type { ReActAgentOptions } from "./options.ts";
import { type Plan, planFor } from "./plan.ts";
import { Run } from "./run.ts";

/**
 * Asks its model, does what it asks for, and repeats until it answers. One definition serves any number of runs at once: it
 * keeps nothing of them.
 */
export class ReActAgent<T = unknown> implements Agent<T> {
  readonly id: AgentId;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly hooks: Hooks | undefined;
  readonly pipelines: Pipelines | undefined;
  readonly output: SchemaLike<T> | undefined;
  readonly defaults: AgentDefaults | undefined;
  private readonly plan: Plan<T>;

  constructor(options: ReActAgentOptions<T>) {
    const plan = planFor(options);
    this.plan = plan;
    this.id = plan.id;
    this.version = plan.version;
    this.description = plan.description;
    this.hooks = plan.hooks;
    this.pipelines = plan.middleware;
    this.output = plan.output;
    const budget = plan.executionBudget;
    this.defaults = budget === undefined ? undefined : Object.freeze({ executionBudget: budget });
  }

  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>> {
    return new Run(this.plan, ctx).start(inbox.input);
  }

  /** This agent as a tool of another one: a hire, with a seat and a budget, and not a plain call. */
  asDelegate(options?: DelegateOptions): DelegateTool<T> {
    return delegateTo(this, options);
  }
}
