import {
  type AgentResult,
  type AssistantMessage,
  type ChatMessage,
  type DelegateTool,
  HookEvent,
  InvalidValueError,
  isPromiseLike,
  isRaviError,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  type RunContext,
  type StopReason,
  textOf,
  type Tool,
  type WindowOptions,
} from "@ravi/kernel";
import { land, type LandOptions, type LoopDetector, loopDetector, truncateText } from "@ravi/kernel/loop";
import type { Plan } from "./plan.ts";
import { readTurn } from "./read-turn.ts";
import { readStructured, withStructured } from "./structured.ts";
import { tellingHandoffs, tellStep } from "./tell.ts";
import { toolStep } from "./tool-step.ts";

/** How often in a row a model may be cut off in the middle of its calls. */
const MOST_CUT_OFFS = 3;
/** A schema's complaint about a large answer can be as large as the answer. */
const MOST_PROBLEM_CHARS = 2_000;

/** One run of a ReAct agent. It decides from what its context gives it alone, so a replay takes the same way. */
export class Run<T> {
  private readonly plan: Plan<T>;
  private readonly ctx: RunContext;
  /** Made when the first tool is asked for. */
  private detector: LoopDetector | undefined;
  private readonly tools: readonly (Tool | DelegateTool)[];
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

  constructor(plan: Plan<T>, ctx: RunContext) {
    this.plan = plan;
    this.ctx = ctx;
    const { tools, hasDelegates, clock } = plan;
    this.tools = hasDelegates ? tellingHandoffs(ctx, clock, tools) : tools;
  }

  async start(input: string): Promise<AgentResult<T>> {
    const { plan, ctx } = this;
    this.windowOptions = { ...plan.window, ...(await this.system(input)) };
    if (plan.context !== undefined)
      this.given = [...(await plan.context.getPromptWindow(ctx.supervision.sessionId))];
    await this.remember({ role: "user", content: input });
    for (let step = 1; step <= plan.maxSteps; step++) {
      tellStep(ctx, plan.clock, HookEvent.STEP_START, step);
      ctx.emit({ type: "step", step });
      try {
        const result = await this.step();
        if (result !== undefined) return result;
      } finally {
        tellStep(ctx, plan.clock, HookEvent.STEP_END, step);
      }
    }
    return this.land("steps");
  }

  /** Asks the model, and does what it asks for. A result ends the run. */
  private async step(): Promise<AgentResult<T> | undefined> {
    let response: ModelResponse;
    try {
      const request = this.makeRequest();
      response = await this.ctx.llm(this.plan.model, isPromiseLike(request) ? await request : request);
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED") && this.request !== undefined) return this.land("budget");
      throw error;
    }
    const { message } = response;
    const text = textOf(message);
    if (text.trim() !== "") this.said = text;
    const turn = readTurn(response);
    if (turn.kind === "tools") return this.callTools(response, turn.isCutOff);
    // An empty message would be refused by some providers when it goes back, and calls that are not answered by all.
    if (text.trim() !== "") await this.remember(withoutCalls(message));
    if (turn.kind === "answer") return this.finish(turn.text);
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
    const { messages, stop, isLooping } = await toolStep(ctx, response, this.tools, {
      concurrency: plan.toolConcurrency,
      validator: plan.validator,
      maxChars: plan.maxToolResultChars,
      // Calls that were cut off were not made, so they have not failed either.
      detector: isCutOff ? undefined : this.detector,
    });
    for (const message of messages) {
      const { toolCallId: callId, name, content, isError = false } = message;
      ctx.emit({ type: "toolResult", callId, name, content, isError });
      const kept = this.remember(message);
      if (isPromiseLike(kept)) await kept;
    }
    if (stop !== undefined) {
      if (isRaviError(stop, "BUDGET_EXHAUSTED")) return this.land("budget");
      throw stop;
    }
    if (isLooping) return this.land("loop");
    this.cutOffs = isCutOff ? this.cutOffs + 1 : 0;
    return this.cutOffs < MOST_CUT_OFFS ? undefined : this.partial("length");
  }

  private async finish(text: string): Promise<AgentResult<T> | undefined> {
    const { output, validator, outputRetries } = this.plan;
    if (output === undefined) return { status: "completed", output: text, stopReason: "done" };
    const parsed = await readStructured(output, text, validator);
    if (parsed.ok) return { status: "completed", output: text, structured: parsed.value, stopReason: "done" };
    const problem = truncateText(parsed.problem, MOST_PROBLEM_CHARS);
    this.ctx.emit({ type: "progress", name: "outputMisfit", data: { problem } });
    if (++this.misfits > outputRetries) return this.partial("steps");
    const content = `Your answer does not have the shape that was asked for: ${problem}. Answer again, with the corrected JSON alone.`;
    await this.remember({ role: "user", content });
    return undefined;
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
    const { instructions } = this.plan;
    const system = typeof instructions === "function" ? await instructions(this.ctx, input) : instructions;
    if (system === undefined || system === "") return {};
    if (typeof system === "string") return { system };
    throw new InvalidValueError({
      field: "ReActAgent.instructions(ctx, input)",
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
