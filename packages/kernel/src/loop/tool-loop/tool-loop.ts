import type { AgentResult, StopReason } from "../../agent/agent.ts";
import type { Inbox } from "../../agent/inbox.ts";
import type { RunContext, WindowOptions } from "../../agent/run-context.ts";
import { isPromiseLike, type MaybePromise } from "../../core/types.ts";
import { type BudgetExhaustedError, InvalidValueError } from "../../errors/errors.ts";
import { isRaviError } from "../../errors/is.ts";
import type { ModelRequest, ModelResponse } from "../../model/llm.ts";
import { type AssistantMessage, type ChatMessage, textOf } from "../../model/messages.ts";
import { HookEvent } from "../../ports/hooks.ts";
import { land, type LandOptions } from "../land.ts";
import { type LoopDetector, loopDetector } from "../loop-detection.ts";
import type { ToolTurnOptions } from "../tool-turn.ts";
import { truncateText } from "../truncate.ts";
import { Mail } from "./mail.ts";
import type { LoopPlan } from "./plan.ts";
import { readTurn } from "./read-turn.ts";
import { readStructured, withStructured } from "./structured.ts";
import { tellHandoff, tellStep } from "./tell.ts";
import { toolStep, type ToolStepOptions } from "./tool-step.ts";

/** How often in a row a model may be cut off in the middle of its calls. */
const MOST_CUT_OFFS = 3;
/** A schema's complaint about a large answer can be as large as the answer. */
const MOST_PROBLEM_CHARS = 2_000;

/** What an agent of its own kind adds to one run of the loop. */
export interface LoopExtension extends Pick<ToolTurnOptions, "before" | "onHire" | "afterHires"> {
  /** The model wants to end with this answer. Messages say what it must know first, and it goes on with them. */
  readonly beforeAnswer?: ((text: string) => MaybePromise<readonly ChatMessage[]>) | undefined;
}

/**
 * Asks a model, does what it asks for, and repeats until it answers (R19). It decides from what its context gives it alone, so
 * a replay takes the same way. With a text instead of an inbox nobody can talk to it while it works.
 */
export function toolLoop<T>(
  plan: LoopPlan<T>,
  ctx: RunContext,
  inbox: Inbox | string,
  extension: LoopExtension = {},
): Promise<AgentResult<T>> {
  const loop = new Loop(plan, ctx, typeof inbox === "string" ? undefined : new Mail(inbox), extension);
  return loop.start(typeof inbox === "string" ? inbox : inbox.input);
}

class Loop<T> {
  private readonly plan: LoopPlan<T>;
  private readonly ctx: RunContext;
  private readonly mail: Mail | undefined;
  private readonly extension: LoopExtension;
  private readonly stepOptions: ToolStepOptions;
  /** Made when the first tool is asked for. */
  private detector: LoopDetector | undefined;
  private windowOptions: WindowOptions = {};
  /** The user's own conversation. */
  private given: readonly ChatMessage[] = [];
  /** The newest request, for the landing. */
  private request: ModelRequest | undefined;
  /** The last text of the model in this run. */
  private said = "";
  private cutOffs = 0;
  private wasToldToAnswer = false;
  private misfits = 0;

  constructor(plan: LoopPlan<T>, ctx: RunContext, mail: Mail | undefined, extension: LoopExtension) {
    this.plan = plan;
    this.ctx = ctx;
    this.mail = mail;
    this.extension = extension;
    const { before, onHire, afterHires } = extension;
    this.stepOptions = {
      concurrency: plan.toolConcurrency,
      validator: plan.validator,
      maxChars: plan.maxToolResultChars,
      before,
      afterHires,
      onHire: (call, leaf) => {
        tellHandoff(ctx, leaf, plan.clock);
        onHire?.(call, leaf);
      },
    };
  }

  async start(input: string): Promise<AgentResult<T>> {
    const { plan, ctx } = this;
    this.windowOptions = { ...plan.window, ...(await this.system(input)) };
    if (plan.context !== undefined)
      this.given = [...(await plan.context.getPromptWindow(ctx.supervision.sessionId))];
    await this.remember({ role: "user", content: input });
    for (let step = 1; step <= plan.maxSteps; step++) {
      tellStep(ctx, HookEvent.STEP_START, step, plan.clock);
      ctx.emit({ type: "step", step });
      try {
        const result = await this.step();
        if (result !== undefined) return result;
      } finally {
        tellStep(ctx, HookEvent.STEP_END, step, plan.clock);
      }
    }
    return this.land("steps");
  }

  /** Asks the model, and does what it asks for. A result ends the run. */
  private async step(): Promise<AgentResult<T> | undefined> {
    if (this.mail?.isWaiting === true) await this.readMail(this.mail);
    let response: ModelResponse;
    try {
      const request = this.makeRequest();
      response = await this.ctx.llm(this.plan.model, isPromiseLike(request) ? await request : request);
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED") && this.request !== undefined) return this.overBudget(error);
      throw error;
    }
    const { message } = response;
    const text = textOf(message);
    if (text.trim() !== "") this.said = text;
    const turn = readTurn(response);
    if (turn.kind === "tools") return this.callTools(response, turn.isCutOff);
    // An empty message would be refused by some providers when it goes back, and calls that are not answered by all.
    if (text.trim() !== "") await this.remember(withoutCalls(message));
    if (turn.kind === "answer") {
      const mayBeInterrupted = this.mail?.isWaiting === true || this.extension.beforeAnswer !== undefined;
      return mayBeInterrupted && (await this.isInterrupted(turn.text)) ? undefined : this.finish(turn.text);
    }
    if (turn.kind === "end") return this.partial(turn.stopReason);
    if (this.wasToldToAnswer) return this.partial("steps");
    this.wasToldToAnswer = true;
    await this.remember({ role: "user", content: turn.tell });
    return undefined;
  }

  private async callTools(response: ModelResponse, isCutOff: boolean): Promise<AgentResult<T> | undefined> {
    const { ctx, plan } = this;
    this.wasToldToAnswer = false;
    if (plan.loopDetection !== false) this.detector ??= loopDetector(plan.loopDetection);
    const remembered = this.remember(response.message);
    if (isPromiseLike(remembered)) await remembered;
    for (const call of response.message.toolCalls ?? []) ctx.emit({ type: "toolCall", call });
    // Calls that were cut off were not made, so they have not failed either.
    const detector = isCutOff ? undefined : this.detector;
    const step = await toolStep(ctx, response, plan.tools, this.stepOptions, detector);
    const { messages, stop, isLooping } = step;
    for (const message of messages) {
      const { toolCallId: callId, name, content, isError = false } = message;
      ctx.emit({ type: "toolResult", callId, name, content, isError });
      const kept = this.remember(message);
      if (isPromiseLike(kept)) await kept;
    }
    if (stop !== undefined) {
      if (isRaviError(stop, "BUDGET_EXHAUSTED")) return this.overBudget(stop);
      throw stop;
    }
    if (isLooping) return this.land("loop");
    this.cutOffs = isCutOff ? this.cutOffs + 1 : 0;
    return this.cutOffs < MOST_CUT_OFFS ? undefined : this.partial("length");
  }

  /** Whether there is something that the model has not heard yet, and has to, before it is done (R24). */
  private async isInterrupted(text: string): Promise<boolean> {
    const { mail, extension } = this;
    let heard = mail?.isWaiting === true && (await this.readMail(mail));
    for (const message of (await extension.beforeAnswer?.(text)) ?? []) {
      await this.remember(this.readable(message));
      heard = true;
    }
    return heard;
  }

  /** What an extension tells is a result like that of a tool, and as long at most. */
  private readable(message: ChatMessage): ChatMessage {
    if (message.role !== "user" || typeof message.content !== "string") return message;
    const content = truncateText(message.content, this.plan.maxToolResultChars);
    return content === message.content ? message : { ...message, content };
  }

  private async readMail(mail: Mail): Promise<boolean> {
    const messages = await mail.take();
    for (const message of messages) await this.remember(message);
    return messages.length > 0;
  }

  private async finish(text: string): Promise<AgentResult<T> | undefined> {
    const { output, outputRetries } = this.plan;
    if (output === undefined) return this.complete({ status: "completed", output: text, stopReason: "done" });
    const parsed = await readStructured(output, text, this.plan.validator);
    if (parsed.ok) {
      const structured = parsed.value;
      return this.complete({ status: "completed", output: text, structured, stopReason: "done" });
    }
    const problem = truncateText(parsed.problem, MOST_PROBLEM_CHARS);
    this.ctx.emit({ type: "progress", name: "outputMisfit", data: { problem } });
    if (++this.misfits > outputRetries) return this.partial("steps");
    const content = `Your answer does not have the shape that was asked for: ${problem}. Answer again, with the corrected JSON alone.`;
    await this.remember({ role: "user", content });
    return undefined;
  }

  private complete(result: AgentResult<T>): MaybePromise<AgentResult<T>> {
    const { mail } = this;
    return mail?.hasQuestions === true ? mail.answer(result.output).then(() => result) : result;
  }

  /** With more granted it takes the step again; undefined then. */
  private async overBudget(refusal: BudgetExhaustedError): Promise<AgentResult<T> | undefined> {
    const { plan, ctx } = this;
    if (plan.onBudget === "ask" && (await ctx.requestBudget?.(refusal)) === true) return undefined;
    return this.land("budget");
  }

  private partial(stopReason: StopReason): AgentResult<T> {
    return { status: "partial", output: this.said, stopReason };
  }

  private async land(stopReason: LandOptions["stopReason"]): Promise<AgentResult<T>> {
    const { ctx, plan } = this;
    const request = await this.lastRequest();
    const result = await land(ctx, { model: plan.model, request, stopReason, said: this.said });
    // What it said at the end belongs to the conversation, which may go on in another run.
    if (result.output.trim() !== "" && result.output !== this.said)
      await this.remember({ role: "assistant", content: result.output });
    return plan.output === undefined ? result : withStructured(result, plan.output, plan.validator);
  }

  /** With what the last turn has added. A compaction may need a model and find no money for it; then it is left out. */
  private async lastRequest(): Promise<ModelRequest> {
    try {
      return await this.makeRequest();
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED") && this.request !== undefined) return this.request;
      throw error;
    }
  }

  private makeRequest(): MaybePromise<ModelRequest> {
    const window = this.ctx.window(this.windowOptions);
    return isPromiseLike(window)
      ? window.then((messages) => this.requestOf(messages))
      : this.requestOf(window);
  }

  private requestOf(window: readonly ChatMessage[]): ModelRequest {
    const messages = this.given.length === 0 ? window : insertAfterSystem(window, this.given);
    return (this.request = { ...this.plan.request, messages });
  }

  private async system(input: string): Promise<{ readonly system?: string }> {
    const { instructions, owner } = this.plan;
    const system = typeof instructions === "function" ? await instructions(this.ctx, input) : instructions;
    if (system === undefined || system === "") return {};
    if (typeof system === "string") return { system };
    throw new InvalidValueError({
      field: `${owner}.instructions(ctx, input)`,
      value: system,
      expected: "a text",
    });
  }

  private remember(message: ChatMessage): MaybePromise<void> {
    return this.ctx.remember(message);
  }
}

function withoutCalls(message: AssistantMessage): AssistantMessage {
  return message.toolCalls === undefined ? message : { role: "assistant", content: message.content };
}

function insertAfterSystem(
  window: readonly ChatMessage[],
  given: readonly ChatMessage[],
): readonly ChatMessage[] {
  const at = window[0]?.role === "system" ? 1 : 0;
  return [...window.slice(0, at), ...given, ...window.slice(at)];
}
