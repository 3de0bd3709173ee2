import { isRaviError, type LLMClient, type RunContext, type ToolSpec } from "@ravi/kernel";
import { compact } from "../compaction/compact.ts";
import { type CompactionPlan, isDue } from "../compaction/options.ts";
import { ContextMeter, estimateMessages } from "../compaction/tokens.ts";
import type { CompactionReason } from "../extensions/events.ts";
import type { CompactionOutcome, ContextUsage } from "../extensions/extension.ts";
import type { Session } from "../tree/session.ts";
import type { Stage } from "./stage.ts";

export interface CompactionTask {
  readonly ctx: RunContext;
  readonly session: Session;
  readonly model: LLMClient;
  readonly system: string;
  readonly tools: readonly ToolSpec[] | undefined;
}

/** Knows how full the context is, and when it is time to make it shorter. */
export class Compactor {
  readonly meter = new ContextMeter();
  private readonly plan: CompactionPlan;
  private readonly stage: Stage;
  private isAsked = false;
  /** From how many tokens on it is tried again in a session, where there was nothing to gain by it. */
  private again = { sessionId: "", at: 0 };
  /** The place in the conversation that the meter is about. */
  private measured: string | undefined;

  constructor(plan: CompactionPlan, stage: Stage) {
    this.plan = plan;
    this.stage = stage;
  }

  usage(model: LLMClient): ContextUsage {
    return { tokens: this.meter.tokens, window: this.windowOf(model) };
  }

  /** After the running turn. */
  ask(): void {
    this.isAsked = true;
  }

  /** A session that was just opened, forked or switched to is guessed at; one that goes on was counted. */
  async measure(session: Session): Promise<void> {
    if (this.measured !== placeOf(session)) this.meter.reset(estimateMessages(await session.messages()));
    this.measured = placeOf(session);
  }

  /** The meter is right for where the session stands now. */
  settle(session: Session): void {
    this.measured = placeOf(session);
  }

  isDue(model: LLMClient, { sessionId }: Session): boolean {
    const { auto, strategy, reserveTokens } = this.plan;
    const { tokens } = this.meter;
    if (this.isAsked) return true;
    const canCompact = strategy !== undefined || this.stage.host.handles("session_before_compact");
    const isFull = isDue(tokens, this.windowOf(model), reserveTokens);
    const { again } = this;
    return auto && canCompact && isFull && (tokens >= again.at || again.sessionId !== sessionId);
  }

  /** After a turn (O12). The turn itself went well: a failure here is collected and not thrown, an abort ends this alone. */
  async afterTurn(task: CompactionTask): Promise<void> {
    const { tokens } = this.meter;
    const reason = this.isAsked ? "asked" : "threshold";
    this.isAsked = false;
    this.again = { sessionId: "", at: 0 };
    try {
      const { status } = await this.run(task, reason);
      if (status === "nothingToDo" || status === "noSmaller")
        this.again = { sessionId: task.session.sessionId, at: this.muchMore(tokens, task.model) };
    } catch (error) {
      if (task.ctx.signal.aborted) return;
      if (isRaviError(error, "SUSPENDED")) throw error;
      this.stage.host.collect({ source: "compaction", event: "session_before_compact", error });
    }
  }

  async run(task: CompactionTask, reason: CompactionReason): Promise<CompactionOutcome> {
    const { ctx, session, model, system, tools } = task;
    const { plan, meter, stage } = this;
    const window = this.windowOf(model);
    // A strategy's own model call is no part of the conversation.
    stage.isMuted = true;
    try {
      return await compact({ ctx, session, emit: stage.emit, plan, meter, reason, window, system, tools });
    } finally {
      stage.isMuted = false;
    }
  }

  /** When half of the room that is left is gone: a strategy may have paid a model to find out that it gains nothing. */
  private muchMore(tokens: number, model: LLMClient): number {
    const room = (this.windowOf(model) ?? tokens) - tokens;
    return tokens + Math.max(0, Math.ceil(room / 2));
  }

  private windowOf({ info }: LLMClient): number | null {
    return this.plan.contextWindow ?? info.contextWindow ?? null;
  }
}

function placeOf(session: Session): string {
  return `${session.sessionId} ${session.leaf}`;
}
