import type { AgentResult, StopReason } from "../../agent/agent.ts";
import type { Inbox } from "../../agent/inbox.ts";
import type { RunContext } from "../../agent/run-context.ts";
import { isPromiseLike, type MaybePromise } from "../../core/types.ts";
import type { BudgetExhaustedError } from "../../errors/errors.ts";
import { isRaviError } from "../../errors/is.ts";
import type { ModelResponse } from "../../model/llm.ts";
import {
  type AssistantMessage,
  type ChatMessage,
  textOf,
  type ToolCall,
  type ToolMessage,
} from "../../model/messages.ts";
import type { SchemaLike } from "../../model/schema.ts";
import { HookEvent } from "../../ports/hooks.ts";
import { directOf } from "../at-once.ts";
import { userMessage } from "../attachments.ts";
import { checkHost } from "../check-agent.ts";
import { checkSchemas } from "../check-schemas.ts";
import { keepShapes } from "../keep-shapes.ts";
import { KnownCalls } from "./steps/known-calls.ts";
import { land, type LandOptions } from "../land.ts";
import { type ToolTurn, turnAtOnce } from "../tool-turn.ts";
import { withoutThoughts } from "../thoughts.ts";
import { truncateText } from "../truncate.ts";
import { Turn as MadeTurn } from "./steps/turn.ts";
import type { LoopExtension } from "./extension.ts";
import { Mail } from "./steps/mail.ts";
import type { LoopPlan } from "./plan.ts";
import { Prompt } from "./steps/prompt.ts";
import { MOST_CUT_OFFS, readTurn, type Turn, withoutCalls } from "./read-turn.ts";
import { type Reading, readStructured, withStructured } from "./steps/structured.ts";
import { tellStep } from "./tell.ts";
import { type ToolStep, ToolSteps } from "./steps/tool-step.ts";

/** A schema's error about a large answer can be as large as the answer. */
const MAX_PROBLEM_CHARS = 2_000;

const NO_CALLS: readonly ToolCall[] = Object.freeze([]);

const NO_EXTENSION: LoopExtension = Object.freeze({});

/**
 * Asks a model, makes the calls that it asks for, and repeats until it answers. It decides only from what its context
 * returns, so a replay does the same. If only the input is passed, nobody can send it messages while it works.
 */
export function toolLoop<T>(
  plan: LoopPlan<T>,
  ctx: RunContext,
  given: Inbox | LoopInput | string,
  extension: LoopExtension<NoInfer<T>> = NO_EXTENSION,
): Promise<AgentResult<T>> {
  if (typeof given === "string") return new Loop(plan, ctx, undefined, undefined, extension).start(given);
  checkHost(plan, given);
  const { input, attachments } = given;
  const mail = "take" in given ? new Mail(given) : undefined;
  return new Loop(plan, ctx, mail, attachments, extension).start(input);
}

/** What a loop begins with. */
export type LoopInput = Pick<Inbox, "input" | "attachments">;

/** Keeps an object of each class that a loop is made of. */
export function keepLoopShapes(plan: LoopPlan, ctx: RunContext, inbox: Inbox): void {
  const steps = new ToolSteps(plan, ctx, NO_EXTENSION, undefined);
  const calls = new KnownCalls();
  calls.getOrAdd("");
  keepShapes(
    new Loop(plan, ctx, new Mail(inbox), undefined, NO_EXTENSION),
    steps,
    new MadeTurn(ctx, [], steps, true),
    calls,
  );
}

class Loop<T> {
  private readonly plan: LoopPlan<T>;
  private readonly ctx: RunContext;
  private readonly mail: Mail | undefined;
  private readonly attachments: LoopInput["attachments"];
  private readonly extension: LoopExtension<T>;
  /** Created with the first tool call. */
  private steps: ToolSteps<T> | undefined;
  private readonly prompt: Prompt;
  /** Whether calls can be made: by tools, or by an extension instead of them. */
  private readonly hasTools: boolean;
  /** The model's last text in this run. */
  private lastText = "";
  private hasWorked = false;
  private cutOffs = 0;
  private wasAskedToAnswer = false;
  private invalidAnswers = 0;

  constructor(
    plan: LoopPlan<T>,
    ctx: RunContext,
    mail: Mail | undefined,
    attachments: LoopInput["attachments"],
    extension: LoopExtension<T>,
  ) {
    this.plan = plan;
    this.ctx = ctx;
    this.mail = mail;
    this.attachments = attachments;
    this.extension = extension;
    this.prompt = new Prompt(plan, ctx);
    this.hasTools = plan.tools.length > 0 || extension.before !== undefined;
  }

  // Everything that is awaited in every step is in this function, because another asynchronous function costs two more promises a
  // turn. Nothing else is, because all variables of such a function are saved and restored each time it waits.
  async start(input: string): Promise<AgentResult<T>> {
    const { plan, ctx, mail, prompt } = this;
    const direct = directOf(ctx);
    if (plan.hasRawSchemas) checkSchemas(plan, ctx.validator);
    const instructed = prompt.begin(input);
    if (isPromiseLike(instructed)) await instructed;
    const begun = this.remember(userMessage(input, this.attachments));
    if (isPromiseLike(begun)) await begun;
    let at: number | undefined;
    let repeated = 0;
    for (let step = 1; step <= plan.maxSteps; step++) {
      tellStep(ctx, HookEvent.STEP_START, step, plan.clock, at);
      ctx.emit({ type: "step", step });
      let isAgain = false;
      try {
        if (mail?.isWaiting === true) await this.readMail(mail);
        let response: ModelResponse | undefined;
        let result: MaybePromise<AgentResult<T> | undefined>;
        try {
          const made = prompt.make();
          const request = isPromiseLike(made) ? await made : made;
          const asked = direct?.ask(ctx, plan.model, request);
          if (direct === undefined || asked === undefined) response = await ctx.llm(plan.model, request);
          else {
            let given: ModelResponse;
            try {
              given = await asked;
            } catch (error) {
              throw direct.failed(ctx, error);
            }
            response = direct.answered(ctx, plan.model, given);
          }
        } catch (error) {
          result = this.afterFailure(error);
        }
        if (response !== undefined) result = this.afterAnswer(response);
        const end = isPromiseLike(result) ? await result : result;
        if (end !== undefined) return end;
        // More budget was granted for a refused call, so the step is repeated. Only once, because what is granted may never be
        // enough.
        isAgain = response === undefined && step !== repeated;
      } finally {
        at = tellStep(ctx, HookEvent.STEP_END, step, plan.clock);
      }
      if (isAgain) repeated = step--;
    }
    return this.land("steps");
  }

  /** Handles an answer. A result ends the run. Returns a promise only if something has to be awaited. */
  private afterAnswer(response: ModelResponse): MaybePromise<AgentResult<T> | undefined> {
    const turn = readTurn(response, this.hasTools);
    const remembered = this.keepAnswer(response.message, turn);
    if (isPromiseLike(remembered)) return Promise.resolve(remembered).then(() => this.take(response, turn));
    return this.take(response, turn);
  }

  private take(response: ModelResponse, turn: Turn): MaybePromise<AgentResult<T> | undefined> {
    if (turn.kind !== "tools") return this.answer(turn);
    const calls = response.message.toolCalls ?? NO_CALLS;
    const steps = this.beginTools(calls);
    const made = turnAtOnce(this.ctx, response, this.plan.tools, steps);
    if (isPromiseLike(made)) return this.takeLater(made, calls, steps, turn.isCutOff);
    return this.takeResults(made, calls, steps, turn.isCutOff);
  }

  private takeLater(
    made: PromiseLike<ToolTurn>,
    calls: readonly ToolCall[],
    steps: ToolSteps<T>,
    isCutOff: boolean,
  ): Promise<AgentResult<T> | undefined> {
    return Promise.resolve(made).then((done) => this.takeResults(done, calls, steps, isCutOff));
  }

  private takeResults(
    done: ToolTurn,
    calls: readonly ToolCall[],
    steps: ToolSteps<T>,
    isCutOff: boolean,
  ): MaybePromise<AgentResult<T> | undefined> {
    const read = steps.read(calls, done, isCutOff);
    const kept = this.keepResults(read.messages);
    if (isPromiseLike(kept)) return Promise.resolve(kept).then(() => this.afterTools(read, isCutOff));
    return this.afterTools(read, isCutOff);
  }

  /** The model was not called, or failed. If the budget is used up, the run can still end with a result. */
  private afterFailure(error: unknown): Promise<AgentResult<T> | undefined> {
    if (isRaviError(error, "BUDGET_EXHAUSTED") && this.prompt.wasMade) return this.overBudget(error);
    throw error;
  }

  /** Adds the model's message to the conversation. */
  private keepAnswer(message: AssistantMessage, { kind }: Turn): MaybePromise<void> {
    const text = textOf(message);
    const isText = text !== "" && text.trim() !== "";
    this.hasWorked = true;
    // What cannot be used may be thoughts alone.
    if (isText && (kind !== "nothing" || withoutThoughts(text).trim() !== "")) this.lastText = text;
    if (kind === "tools") return this.remember(message);
    // Some providers refuse an empty message when it is sent back, and all refuse calls without results.
    return isText ? this.remember(withoutCalls(message)) : undefined;
  }

  /** Handles a turn without tools. A result ends the run. */
  private answer(turn: Exclude<Turn, { kind: "tools" }>): MaybePromise<AgentResult<T> | undefined> {
    if (turn.kind === "answer") {
      const mayBeInterrupted = this.mail?.isWaiting === true || this.extension.beforeAnswer !== undefined;
      return mayBeInterrupted ? this.finishUnlessInterrupted(turn.text) : this.finish(turn.text);
    }
    if (turn.kind === "end") return this.partial(turn.stopReason);
    if (this.wasAskedToAnswer) return this.partial("steps");
    this.wasAskedToAnswer = true;
    const told = this.remember({ role: "user", content: turn.tell });
    return isPromiseLike(told) ? told.then(() => undefined) : undefined;
  }

  private async finishUnlessInterrupted(text: string): Promise<AgentResult<T> | undefined> {
    return (await this.isInterrupted(text)) ? undefined : this.finish(text);
  }

  private beginTools(calls: readonly ToolCall[]): ToolSteps<T> {
    const { ctx } = this;
    this.wasAskedToAnswer = false;
    // By index: see `isListOf`.
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at];
      if (call !== undefined) ctx.emit({ type: "toolCall", call });
    }
    return (this.steps ??= new ToolSteps(this.plan, ctx, this.extension, this.attachments));
  }

  // Not inlined into the loop, because iteration over a list is not compiled inside of an asynchronous function.
  private keepResults(messages: readonly ToolMessage[]): MaybePromise<void> {
    let at = 0;
    for (const message of messages) {
      at++;
      const kept = this.keepResult(message);
      if (isPromiseLike(kept)) return this.keepRest(kept, messages.slice(at));
    }
  }

  private async keepRest(kept: PromiseLike<void>, rest: readonly ToolMessage[]): Promise<void> {
    await kept;
    for (const message of rest) await this.keepResult(message);
  }

  private keepResult(message: ToolMessage): MaybePromise<void> {
    const { toolCallId: callId, name, content, isError = false } = message;
    this.ctx.emit({ type: "toolResult", callId, name, content, isError });
    return this.remember(message);
  }

  /** Decides after the tool results whether the run ends. */
  private afterTools(
    { stop, isLooping }: ToolStep,
    isCutOff: boolean,
  ): MaybePromise<AgentResult<T> | undefined> {
    const finished = this.steps?.finished;
    if (stop !== undefined) {
      if (!isRaviError(stop, "BUDGET_EXHAUSTED")) throw stop;
      if (finished === undefined) return this.overBudget(stop);
    }
    if (finished !== undefined) return this.complete(finished);
    if (isLooping) return this.land("loop");
    this.cutOffs = isCutOff ? this.cutOffs + 1 : 0;
    return this.cutOffs < MOST_CUT_OFFS ? undefined : this.partial("length");
  }

  /** Whether there is something new that the model must read before it ends. */
  private async isInterrupted(text: string): Promise<boolean> {
    const { mail, extension } = this;
    let hasNews = mail?.isWaiting === true && (await this.readMail(mail));
    for (const message of (await extension.beforeAnswer?.(text)) ?? []) {
      await this.remember(this.readable(message));
      hasNews = true;
    }
    return hasNews;
  }

  /** A message from an extension is limited like a tool result. */
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

  private finish(text: string): MaybePromise<AgentResult<T> | undefined> {
    const { output } = this.plan;
    if (output === undefined) return this.complete({ status: "completed", output: text, stopReason: "done" });
    return this.finishStructured(output, text);
  }

  private async finishStructured(output: SchemaLike<T>, text: string): Promise<AgentResult<T> | undefined> {
    const { outputRetries } = this.plan;
    const parsed = await readStructured(text, this.readingOf(output));
    if (parsed.ok) return this.complete({ status: "completed", ...parsed.value, stopReason: "done" });
    const problem = truncateText(parsed.problem, MAX_PROBLEM_CHARS);
    this.ctx.emit({ type: "progress", name: "outputMisfit", data: { problem } });
    if (++this.invalidAnswers > outputRetries) return { ...this.partial("invalid"), problem };
    const content = `Your answer does not match the required schema: ${problem}. Answer again, with the corrected JSON only.`;
    await this.remember({ role: "user", content });
    return undefined;
  }

  private complete(result: AgentResult<T>): MaybePromise<AgentResult<T>> {
    const { mail } = this;
    return mail?.hasQuestions === true ? mail.answer(result.output).then(() => result) : result;
  }

  /** Asks for more budget, or lands. Undefined if more was granted; then the step is repeated. */
  private async overBudget(refusal: BudgetExhaustedError): Promise<AgentResult<T> | undefined> {
    const { plan, ctx } = this;
    if (plan.onBudget === "ask" && (await ctx.requestBudget?.(refusal)) === true) return undefined;
    return this.land("budget");
  }

  private partial(stopReason: StopReason): AgentResult<T> {
    return { status: "partial", output: this.lastText, stopReason };
  }

  private async land(stopReason: LandOptions["stopReason"]): Promise<AgentResult<T>> {
    const { ctx, plan, lastText, hasWorked } = this;
    const request = await this.prompt.makeLast();
    const result = await land(ctx, { model: plan.model, request, stopReason, said: lastText, hasWorked });
    // The last text belongs to the conversation, which may continue in another run.
    if (result.output.trim() !== "" && result.output !== this.lastText)
      await this.remember({ role: "assistant", content: result.output });
    return plan.output === undefined ? result : withStructured(result, this.readingOf(plan.output));
  }

  private readingOf(schema: SchemaLike<T>): Reading<T> {
    const { isWrapped, validator = this.ctx.validator } = this.plan;
    return { schema, isWrapped, validator };
  }

  private remember(message: ChatMessage): MaybePromise<void> {
    return this.ctx.remember(message);
  }
}
