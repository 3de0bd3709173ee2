import type { AgentResult, AgentSession, Architecture, DelegateTool, Inbox, RunContext } from "@ravi/kernel";
import { AgentBase, checkHost, checkText, type DelegateOptions, delegateTo } from "@ravi/kernel/loop";
import { partsFor, type RunParts } from "./dependencies.ts";
import { drive, type StrategyEvents, driveToEnd, observed } from "./drive.ts";
import { planStrategy, type StrategyAgentOptions, type StrategyPlan } from "./options.ts";
import { freshSession } from "./session.ts";
import { type NumberedEvent, StrategyStream } from "./stream.ts";

/**
 * An agent that works by a given reasoning strategy. One instance can serve any number of runs at once: the state of a run is in its
 * session.
 */
export class StrategyAgent extends AgentBase {
  readonly architecture: Architecture;
  private readonly plan: StrategyPlan;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: StrategyAgentOptions) {
    const plan = planStrategy(options);
    super(plan.id, plan, plan.defaults);
    this.plan = plan;
    this.architecture = plan.architecture;
  }

  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
    checkHost(this, inbox);
    return this.continue(await this.openSession(ctx, inbox.input), ctx, inbox);
  }

  /** Runs on a session that may already have a conversation; the prompt is appended to it. */
  continue(session: AgentSession, ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
    const parts = partsFor(this.plan, session, ctx, inbox, false);
    return driveToEnd(this.drive(session, parts, inbox.input), parts.deps.runtime);
  }

  /**
   * Runs for one reader, who gets the agent's events, numbered, while they happen. The reader drives the run: the strategy does not go on
   * beyond the event that was asked for. Breaking off cancels the run.
   */
  stream(ctx: RunContext, inbox: Inbox): AsyncGenerator<NumberedEvent, AgentResult, void> {
    return new StrategyStream(ctx, inbox.input, async (tapped) => {
      const session = await this.openSession(tapped, inbox.input);
      return this.drive(session, partsFor(this.plan, session, tapped, inbox, true), inbox.input);
    });
  }

  /** This agent as a tool of another agent. A call of it is a hire, with its own slot and budget, not a plain tool call. */
  asDelegate(options?: DelegateOptions): DelegateTool {
    return delegateTo(this, options);
  }

  /** A new session for `continue`, with this agent's instructions. */
  async openSession(ctx: RunContext, input: string): Promise<AgentSession> {
    const { instructions } = this.plan;
    const text: unknown = typeof instructions === "function" ? await instructions(ctx, input) : instructions;
    const given = text === undefined ? text : checkText("StrategyAgent.instructions(ctx, input)", text);
    return freshSession({ id: ctx.execId, instructions: given });
  }

  private drive(session: AgentSession, { deps, observer }: RunParts, prompt: string): StrategyEvents {
    const { architecture } = this.plan;
    const driven = drive(architecture, session, deps, prompt);
    return observer === undefined ? driven : observed(driven, observer, architecture.name);
  }
}
