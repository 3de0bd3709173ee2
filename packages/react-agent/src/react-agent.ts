import type { AgentResult, DelegateTool, Inbox, RunContext } from "@ravi/kernel";
import {
  AgentBase,
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
export class ReActAgent<T = unknown> extends AgentBase<T> {
  private readonly plan: LoopPlan<T>;

  constructor(options: ReActAgentOptions<T>) {
    const plan = planLoop("ReActAgent", options);
    super(plan.id, plan, plan.defaults);
    this.plan = plan;
  }

  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<T>> {
    return toolLoop(this.plan, ctx, inbox);
  }

  /** This agent as a tool of another agent. A call of the tool hires it, with its own slot and budget. */
  asDelegate(options?: DelegateOptions): DelegateTool<T> {
    return delegateTo(this, options);
  }
}
