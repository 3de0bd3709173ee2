import { isRaviError, type LLMClient, type RunContext, type ToolSpec } from "@ravi/kernel";
import { compact } from "../compaction/compact.ts";
import { type CompactionPlan, isDue } from "../compaction/options.ts";
import { ContextMeter, estimateMessages } from "../compaction/tokens.ts";
import type { CompactionReason } from "../extensions/events.ts";
import type { CompactionOutcome, ContextUsage } from "../extensions/extension.ts";
import type { Redactor } from "../tree/redact.ts";
import type { Session, SessionManager } from "../tree/session.ts";
import type { SessionEmitter } from "./emitter.ts";

/** What one compaction works on. */
export interface CompactionTask {
  readonly ctx: RunContext;
  readonly session: Session;
  readonly model: LLMClient;
  readonly system: string;
  readonly tools: readonly ToolSpec[] | undefined;
  /** The id of its entry, if it comes after a turn. */
  readonly entryId?: string | undefined;
}

/** Knows how full the context is, and decides when to compact it. */
export class Compactor {
  readonly meter = new ContextMeter();
  private readonly plan: CompactionPlan;
  private readonly emitter: SessionEmitter;
  private readonly redact: Redactor;
  /** The sessions that are to be compacted after their next turn; undefined stands for whichever has one first. */
  private readonly requested = new Set<string | undefined>();
  /**
   * After a compaction that gained nothing for its money, or that failed and would fail again: the session, and the number of tokens from
   * which it is tried again there.
   */
  private retryAt = { sessionId: "", at: 0 };
  /** The session and leaf that the meter's count is for. */
  private measured: string | undefined;

  constructor(plan: CompactionPlan, emitter: SessionEmitter, redact: Redactor) {
    this.plan = plan;
    this.emitter = emitter;
    this.redact = redact;
  }

  usage(model: LLMClient): ContextUsage {
    return { tokens: this.meter.tokens, window: this.windowOf(model) };
  }

  /** Requests a compaction after the running turn, or the next one of that session. */
  request(sessionId: string | undefined): void {
    this.requested.add(sessionId);
  }

  private isRequested({ sessionId }: SessionManager): boolean {
    return this.requested.has(sessionId) || this.requested.has(undefined);
  }

  private fulfil({ sessionId }: SessionManager): void {
    this.requested.delete(sessionId);
    this.requested.delete(undefined);
  }

  /** Estimates the size of a session that was just opened, forked or switched to. One that goes on has been counted already. */
  async measure(session: SessionManager): Promise<void> {
    if (this.measured !== positionOf(session)) this.meter.reset(estimateMessages(await session.messages()));
    this.markMeasured(session);
  }

  /** Records that the meter is right for where the session stands now. */
  markMeasured(session: SessionManager): void {
    this.measured = positionOf(session);
  }

  /**
   * Why to compact after this turn: it was asked for, or the context is nearly full and compaction can help. Null if there is no reason.
   * That is recorded: a replay would not know what somebody has asked for, or what was tried in vain before.
   */
  async reasonAfterTurn(
    ctx: RunContext,
    model: LLMClient,
    session: Session,
  ): Promise<CompactionReason | null> {
    const canCompact =
      this.plan.strategy !== undefined || this.emitter.host.handles("session_before_compact");
    const reason = (): CompactionReason | null => {
      if (this.isRequested(session)) return "asked";
      return canCompact && this.isDue(model, session) ? "threshold" : null;
    };
    return canCompact
      ? ((await ctx.record("session_compaction", reason)) as CompactionReason | null)
      : reason();
  }

  private isDue(model: LLMClient, { sessionId }: Session): boolean {
    const { auto, reserveTokens } = this.plan;
    const { tokens } = this.meter;
    const isFull = isDue(tokens, this.windowOf(model), reserveTokens);
    const { retryAt } = this;
    return auto && isFull && (tokens >= retryAt.at || retryAt.sessionId !== sessionId);
  }

  /**
   * Compacts after a turn. The turn itself succeeded, so an error here is told and collected, but not thrown, and an abort ends
   * only the compaction.
   */
  async afterTurn(task: CompactionTask, reason: CompactionReason): Promise<void> {
    const { tokens } = this.meter;
    this.fulfil(task.session);
    this.retryAt = { sessionId: "", at: 0 };
    const retryLater = (): void => {
      this.retryAt = { sessionId: task.session.sessionId, at: this.retryThreshold(tokens, task.model) };
    };
    let mayHaveCost = false;
    try {
      const { status } = await this.run(task, reason, () => void (mayHaveCost = true));
      if (mayHaveCost && (status === "nothingToDo" || status === "noSmaller")) retryLater();
    } catch (error) {
      if (task.ctx.signal.aborted) return;
      if (isRaviError(error, "SUSPENDED")) throw error;
      // The strategy may have paid a model that gives no summary, and would after each turn.
      if (!isRaviError(error) || !error.retryable) retryLater();
      this.emitter.host.collect({ source: "compaction", event: "session_before_compact", error });
      const data = { error: this.redact.error(error).message };
      this.emitter.report({ type: "progress", name: "compactionFailed", data });
    }
  }

  /** Compacts now. Throws the error of the strategy, if there is one. */
  async run(task: CompactionTask, reason: CompactionReason, onCost?: () => void): Promise<CompactionOutcome> {
    const { plan, meter } = this;
    const { emit } = this.emitter;
    const window = this.windowOf(task.model);
    const outcome = await compact({ ...task, emit, plan, meter, reason, window, onCost });
    // What was asked for and made by hand is not made again after the next turn.
    if (reason === "asked" && outcome.status !== "cancelled") this.fulfil(task.session);
    return outcome;
  }

  /**
   * The size at which half of the room that is left is used up. Not earlier, because the strategy has paid a model to find out that
   * it gains nothing.
   */
  private retryThreshold(tokens: number, model: LLMClient): number {
    const room = (this.windowOf(model) ?? tokens) - tokens;
    return tokens + Math.max(0, Math.ceil(room / 2));
  }

  private windowOf({ info }: LLMClient): number | null {
    return this.plan.contextWindow ?? info.contextWindow ?? null;
  }
}

function positionOf(session: SessionManager): string {
  return `${session.sessionId} ${session.leaf}`;
}
