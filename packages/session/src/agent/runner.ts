import { type AgentResult, isRaviError, type LLMClient, type RunContext } from "@ravi/kernel";
import { abortable, checkSchemas, type LoopInput } from "@ravi/kernel/loop";
import type { CompactionOutcome } from "../extensions/extension.ts";
import type { Mailbox, Queued } from "../queue/mailbox.ts";
import type { Session } from "../tree/session.ts";
import type { TurnDeps } from "../turn/deps.ts";
import { Turn } from "../turn/turn.ts";
import { type CompactionTask, Compactor } from "./compactor.ts";
import type { Gate } from "./gate.ts";
import { allowList, type Parts } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { SessionEmitter } from "./emitter.ts";
import type { Inheritance, PartsLoader } from "./parts-loader.ts";

/** The state of a session that changes. */
export interface SessionState {
  readonly gate: Gate;
  model: LLMClient;
  /** Messages to the running turn that no turn has read yet. */
  readonly queued: Queued[];
}

/** One run: its first input, and where further messages come from. */
export interface RunStart extends LoopInput {
  readonly ctx: RunContext;
  readonly session: Session;
  readonly mailbox: Mailbox;
}

interface Job {
  readonly ctx: RunContext;
  readonly session: Session;
  readonly parts: Parts;
}

/** What a runner works with. */
export interface RunnerParts {
  readonly plan: Plan;
  readonly emitter: SessionEmitter;
  readonly loader: PartsLoader;
  readonly state: SessionState;
  readonly inherited: Inheritance | undefined;
}

/** Runs the turns of a session one after the other, and compacts between them if that is due. */
export class Runner {
  readonly compactor: Compactor;
  private readonly plan: Plan;
  private readonly emitter: SessionEmitter;
  private readonly loader: PartsLoader;
  private readonly state: SessionState;
  private readonly inherited: Inheritance | undefined;
  private current: Turn | undefined;

  constructor({ plan, emitter, loader, state, inherited }: RunnerParts) {
    this.compactor = new Compactor(plan.compaction, emitter, plan.redact);
    this.plan = plan;
    this.emitter = emitter;
    this.loader = loader;
    this.state = state;
    this.inherited = inherited;
  }

  /** Runs a turn, then one for each message that is queued, and returns the result of the last turn. */
  async turns(start: RunStart): Promise<AgentResult> {
    const { ctx, session, mailbox } = start;
    const { emitter } = this;
    const { sessionId } = session;
    let next: LoopInput | undefined = start;
    try {
      for (;;) {
        const result = await this.turn(start, next);
        // A run that was stopped early begins no further turn; queued messages wait for the next run.
        const isCutOff = result.status !== "completed" || ctx.signal.aborted;
        next = isCutOff ? undefined : await mailbox.takeNext();
        if (next !== undefined) continue;
        if (ctx.signal.aborted || !this.isQueued(mailbox)) await emitter.emit("settled", { sessionId });
        if (isCutOff || ctx.signal.aborted) return result;
        // A message may have arrived while `settled` was emitted.
        do next = await mailbox.takeNext();
        while (next === undefined && !this.closeIfNothingQueued());
        if (next === undefined) return result;
      }
    } catch (error) {
      if (ctx.signal.aborted || !this.isQueued(mailbox)) await emitter.emit("settled", { sessionId });
      // Exceeding the deadline or losing the slot (a pause) is not a failure: the result says so and keeps the text so far.
      const output = this.current?.lastText ?? "";
      if (isRaviError(error, "DEADLINE_EXCEEDED"))
        return { status: "partial", output, stopReason: "deadline" };
      if (isRaviError(error, "PAUSED")) return { status: "paused", output, stopReason: "paused" };
      throw error;
    } finally {
      this.current = undefined;
      // Only now: what extensions store after a turn has its numbers too.
      session.endTurn();
    }
  }

  /** Compacts outside of a turn. */
  async compactNow(ctx: RunContext, session: Session): Promise<CompactionOutcome> {
    const { emitter, compactor } = this;
    const { sessionId } = session;
    const parts = await this.loader.loaded();
    await compactor.measure(session);
    const outcome = await compactor.run(this.taskOf({ ctx, session, parts }), "asked");
    compactor.markMeasured(session);
    await emitter.emit("save_point", { sessionId, leaf: session.leaf });
    await emitter.emit("settled", { sessionId });
    return outcome;
  }

  private async turn(
    { ctx, session, mailbox }: RunStart,
    { input, attachments }: LoopInput,
  ): Promise<AgentResult> {
    const parts = await abortable(this.loader.loaded(), ctx.signal);
    const { validator } = this.plan.turn;
    checkSchemas({ owner: "SessionAgent", tools: parts.merged.tools, validator }, ctx.validator);
    await this.compactor.measure(session);
    const turn = new Turn(this.turnDeps({ ctx, session, parts }, mailbox, attachments));
    this.current = turn;
    try {
      const result = await turn.run(input);
      await mailbox.answer(result.output);
      await this.emitter.emit("save_point", { sessionId: session.sessionId, leaf: session.leaf });
      await this.compactIfDue({ ctx, session, parts }, turn.compactionId);
      this.compactor.markMeasured(session);
      return result;
    } finally {
      session.catchUp();
    }
  }

  private isQueued(mailbox: Mailbox): boolean {
    return this.state.queued.length > 0 || mailbox.hasMore;
  }

  /**
   * True if no message is left; the run then also stops accepting messages. Both happen synchronously, so that no message can
   * arrive in between and be lost.
   */
  private closeIfNothingQueued(): boolean {
    const { running } = this.emitter;
    if (running === undefined) return true;
    if (running.isOwn && this.state.queued.length > 0) return false;
    running.isOpen = false;
    return true;
  }

  private turnDeps(job: Job, mailbox: Mailbox, attachments: LoopInput["attachments"]): TurnDeps {
    const { ctx, session, parts } = job;
    const { emitter, loader, compactor, plan, inherited } = this;
    const { channel: named } = ctx.scope.metadata;
    const channel = typeof named === "string" ? named : null;
    const { sessionId } = session;
    const toolNames = parts.merged.tools.map(({ name }) => name);
    return {
      ctx,
      attachments,
      session,
      host: emitter.host,
      guard: parts.guard,
      model: this.state.model,
      mailbox,
      meter: compactor.meter,
      settings: { ...plan.turn, allowed: allowList(plan.id, inherited?.allowed, parts.merged) },
      ephemeral: parts.ephemeral,
      channel,
      merged: parts.merged,
      systemPrompt: (now) => loader.prompt({ channel, now, sessionId, toolNames }),
      // A child uses its parent's prompt, which names the parent's session.
      useSystemPrompt: (text) =>
        loader.usePrompt(channel, { sessionId: inherited?.sessionId ?? sessionId, text }),
      compact: (reason) => compactor.run(this.taskOf(job), reason),
      emit: emitter.emit,
      report: (event) => emitter.report(event),
      errorJSON: (error) => plan.redact.error(error),
    };
  }

  private async compactIfDue(job: Job, entryId: string): Promise<void> {
    const { ctx, session } = job;
    // A child keeps no conversation that would be worth compacting.
    if (this.inherited !== undefined || ctx.signal.aborted) return;
    const reason = await this.compactor.reasonAfterTurn(ctx, this.state.model, session);
    if (reason === null) return;
    this.state.gate.phase = "compaction";
    try {
      await this.compactor.afterTurn({ ...this.taskOf(job), entryId }, reason);
    } finally {
      this.state.gate.phase = "turn";
    }
  }

  private taskOf({ ctx, session, parts }: Job): CompactionTask {
    const { state, loader } = this;
    return { ctx, session, model: state.model, system: loader.lastPrompt, tools: parts.merged.specs };
  }
}
