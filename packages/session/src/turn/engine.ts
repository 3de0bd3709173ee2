import {
  type AgentResult,
  cancellationOf,
  type ChatMessage,
  deepFreeze,
  HookEvent,
  isRaviError,
  MiddlewareTermination,
  type ModelRequest,
  type ModelResponse,
  type StopReason,
  textOf,
  type UserMessage,
} from "@ravi/kernel";
import {
  abortable,
  hookBase,
  isStop,
  land,
  type LandOptions,
  MOST_CUT_OFFS,
  readTurn,
  soundUsage,
  tellTermination,
  withoutCalls,
} from "@ravi/kernel/loop";
import { estimateMessages, estimateTools } from "../compaction/tokens.ts";
import { LOOP_DETECTION, type Verdict } from "../guardrails/chain.ts";
import { withFreshIds } from "../tree/valid-prompt.ts";
import type { TurnDeps } from "./deps.ts";
import { readLiveState } from "./live-state.ts";
import type { PromptList } from "./prompt-list.ts";
import { toolBatch } from "./tool-batch.ts";

/** A model call failed, which is the only kind of error that is retried. */
export class ModelCallFailed extends Error {
  constructor(cause: unknown) {
    super("a model call failed", { cause });
  }
}

/**
 * Calls the model, makes the tool calls that it asks for, and repeats until it answers. What is complete is stored at once, so
 * after a failure `run` can be called again and continues from there.
 */
export class Engine {
  private readonly deps: TurnDeps;
  list: PromptList;
  /** The number of model calls that succeeded. */
  answered = 0;
  /** Whether something was stored after the user's message that must not be lost. */
  hasWork = false;
  private steps = 0;
  private cutOffs = 0;
  /** The last text of the model in this turn. */
  lastText = "";
  private wasReminded = false;

  constructor(deps: TurnDeps, list: PromptList) {
    this.deps = deps;
    this.list = list;
  }

  async run(): Promise<AgentResult<never>> {
    const { deps } = this;
    for (;;) {
      if (this.steps >= deps.settings.maxSteps) return this.land("steps");
      await this.takeSteering();
      const step = this.steps + 1;
      this.reportStep(HookEvent.STEP_START, step);
      deps.report({ type: "step", step });
      try {
        const result = await this.step();
        if (result !== undefined) return result;
      } finally {
        this.reportStep(HookEvent.STEP_END, step);
      }
      // Counted only now: a step whose model call failed is taken again by the next attempt.
      this.steps = step;
    }
  }

  /** Stores a message, and adds it to what the model sees. Returns the id of its entry. */
  async store(
    message: ChatMessage,
    extra: { prompt?: string; id?: string; response?: ModelResponse } = {},
  ): Promise<string> {
    const { session, meter, model, emit } = this.deps;
    const { prompt, id, response } = extra;
    const usage = response?.usage;
    const name = response === undefined ? undefined : (response.model ?? model.info.model);
    const draft = {
      kind: "message",
      message,
      ...(usage !== undefined && { usage }),
      ...(name !== undefined && { model: name }),
      ...(prompt !== undefined && { prompt }),
    } as const;
    // Whoever reads the events gets it too, and must not change what is done and sent.
    deepFreeze(message);
    const entryId = await session.append(draft, id);
    this.list.push(message);
    if (response === undefined) meter.added(message);
    await emit("message_end", { message, entryId, usage, model: name });
    return entryId;
  }

  /** One model call and its tool calls. Returns a result if the turn is over. */
  private async step(): Promise<AgentResult<never> | undefined> {
    const response = await this.callModel();
    if (response === "budget") return this.land("budget");
    const { deps } = this;
    this.answered++;
    const message = withFreshIds(response.message, this.list.callIds);
    const text = textOf(message);
    if (text.trim() !== "") this.lastText = text;
    const answer = readTurn({ ...response, message }, deps.merged.tools.length > 0);
    if (answer.kind === "tools") return this.callTools({ ...response, message }, answer.isCutOff);
    // Some providers refuse an empty message when it is sent back to them, and all refuse calls without results.
    if (text.trim() !== "") await this.store(withoutCalls(message), { response });
    this.hasWork ||= text.trim() !== "";
    if (answer.kind === "end") return this.partial(answer.stopReason);
    if (answer.kind === "answer") {
      if (!(await this.takeSteering()))
        return { status: "completed", output: answer.text, stopReason: "done" };
      return undefined;
    }
    if (this.wasReminded) return this.partial("steps");
    this.wasReminded = true;
    // Only for the model, and not stored: it is not part of the conversation.
    this.list.push({ role: "user", content: answer.tell });
    deps.meter.added({ role: "user", content: answer.tell });
    return undefined;
  }

  private async callTools(
    response: ModelResponse,
    isCutOff: boolean,
  ): Promise<AgentResult<never> | undefined> {
    this.wasReminded = false;
    await this.store(response.message, { response });
    const calls = response.message.toolCalls ?? [];
    // Ids are assigned before any call is made, so that a resumed run gives each result the same id.
    const ids = calls.map(() => this.deps.session.nextId());
    const batch = await toolBatch(response, this.deps);
    // Set before storing: the calls were made even if their results cannot be stored.
    this.hasWork = true;
    for (const [at, message] of batch.messages.entries()) {
      const id = ids[at];
      if (message !== undefined && id !== undefined) await this.store(message, { id });
    }
    if (batch.stop !== undefined) {
      if (isRaviError(batch.stop, "BUDGET_EXHAUSTED")) return this.land("budget");
      throw batch.stop;
    }
    if (batch.halt !== undefined) return this.halt(batch.halt);
    if (batch.isTerminal)
      return { status: "completed", output: terminalText(response, batch.messages), stopReason: "done" };
    this.cutOffs = isCutOff ? this.cutOffs + 1 : 0;
    return this.cutOffs < MOST_CUT_OFFS ? undefined : this.partial("length");
  }

  private async callModel(): Promise<ModelResponse | "budget"> {
    const { ctx, model, meter, ephemeral, host, settings } = this.deps;
    const isRetried = settings.retry.maxRetries > 0;
    const seen = await abortable(readLiveState(ctx, ephemeral, host), ctx.signal);
    const request = this.request(seen);
    try {
      const response = await abortable(ctx.llm(model, request, { retried: isRetried }), ctx.signal);
      meter.answered(
        soundUsage(response.usage),
        () => estimateMessages([...request.messages, response.message]) + estimateTools(request.tools),
      );
      return response;
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) return "budget";
      // When a call is aborted, clients throw errors of all kinds; the reason of the abort is what counts.
      if (ctx.signal.aborted) throw cancellationOf(ctx.signal);
      if (isStop(error)) throw error;
      throw new ModelCallFailed(error);
    }
  }

  private request(seen: readonly UserMessage[] = []): ModelRequest {
    const { messages } = this.list;
    const { specs } = this.deps.merged;
    return {
      ...this.deps.settings.settings,
      ...(specs !== undefined && { tools: specs }),
      messages: seen.length === 0 ? messages : [...messages, ...seen],
    };
  }

  /** Stores messages that were sent to the running turn; whether there were any. */
  private takeSteering(): Promise<boolean> {
    return this.deps.mailbox.storeSteering((message) => this.store(message));
  }

  /** Ends the turn with one last model call without tools, and returns a partial result. */
  private async land(stopReason: LandOptions["stopReason"]): Promise<AgentResult<never>> {
    const { ctx, model } = this.deps;
    const result = await land(ctx, {
      model,
      request: this.request(),
      stopReason,
      said: this.lastText,
      hasWorked: this.answered > 0,
    });
    if (result.output.trim() !== "" && result.output !== this.lastText)
      await this.store({ role: "assistant", content: result.output });
    this.hasWork = true;
    return result;
  }

  /** A loop ends the turn with a last answer. Any other halt means that something must not go on, so it is thrown. */
  private async halt({ by, reason }: Verdict): Promise<AgentResult<never>> {
    const { ctx } = this.deps;
    const stop = new MiddlewareTermination({ layer: by, reason });
    tellTermination(ctx.hooks, stop, () => hookBase(ctx));
    if (by === LOOP_DETECTION) return this.land("loop");
    throw stop;
  }

  private partial(stopReason: StopReason): AgentResult<never> {
    return { status: "partial", output: this.lastText, stopReason };
  }

  private reportStep(event: typeof HookEvent.STEP_START | typeof HookEvent.STEP_END, step: number): void {
    const { ctx } = this.deps;
    if (ctx.hooks.has(event)) void ctx.hooks.dispatch(event, { ...hookBase(ctx), step });
  }
}

/**
 * The text of a turn that ends with tool calls: what the model said together with its last calls, or else the last result.
 * Earlier texts were no answer.
 */
function terminalText({ message }: ModelResponse, results: readonly (ChatMessage | undefined)[]): string {
  const lastText = textOf(message);
  const last = results.at(-1);
  return lastText.trim() !== "" || last === undefined ? lastText : textOf(last);
}
