import type { RunContext, WindowOptions } from "../../../agent/run-context.ts";
import { isPromiseLike, type MaybePromise } from "../../../core/types.ts";
import { InvalidValueError } from "../../../errors/errors.ts";
import { isRaviError } from "../../../errors/is.ts";
import type { ModelRequest } from "../../../model/llm.ts";
import type { ChatMessage } from "../../../model/messages.ts";
import type { LoopPlan } from "../plan.ts";

const NO_WINDOW: WindowOptions = Object.freeze({});
const NO_MESSAGES: readonly ChatMessage[] = Object.freeze([]);

/** Builds the requests of one run. */
export class Prompt {
  private readonly plan: LoopPlan;
  private readonly ctx: RunContext;
  private window: WindowOptions = NO_WINDOW;
  /** The conversation of the user's `context`. */
  private given: readonly ChatMessage[] = NO_MESSAGES;
  /** The latest request; undefined before the first. */
  private newest: ModelRequest | undefined;

  constructor(plan: LoopPlan, ctx: RunContext) {
    this.plan = plan;
    this.ctx = ctx;
  }

  get wasMade(): boolean {
    return this.newest !== undefined;
  }

  /** Reads the instructions and the user's `context`. Returns a promise only if one of them does. */
  begin(input: string): MaybePromise<void> {
    const { instructions, context } = this.plan;
    const system = typeof instructions === "function" ? instructions(this.ctx, input) : instructions;
    if (isPromiseLike(system) || context !== undefined) return this.beginLater(system);
    this.instruct(system);
  }

  /** A request with everything that the window holds now. */
  make(): MaybePromise<ModelRequest> {
    const window = this.ctx.window(this.window);
    return isPromiseLike(window)
      ? window.then((messages) => this.requestOf(messages))
      : this.requestOf(window);
  }

  /** A request for the last turn. If compaction needs a model and there is no budget for it, the latest request is used. */
  async makeLast(): Promise<ModelRequest> {
    try {
      return await this.make();
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED") && this.newest !== undefined) return this.newest;
      throw error;
    }
  }

  private async beginLater(system: MaybePromise<string | undefined>): Promise<void> {
    const { context } = this.plan;
    this.instruct(await system);
    if (context === undefined) return;
    this.given = [...(await context.getPromptWindow(this.ctx.supervision.sessionId))];
    if (this.given.length > 0) this.window = { ...this.window, alsoSent: this.given };
  }

  private instruct(system: string | undefined): void {
    const { window, owner } = this.plan;
    if (system === undefined || system === "") this.window = window;
    else if (typeof system === "string") this.window = { ...window, system };
    else {
      const field = `${owner}.instructions(ctx, input)`;
      throw new InvalidValueError({ field, value: system, expected: "a string" });
    }
  }

  private requestOf(window: readonly ChatMessage[]): ModelRequest {
    const { given, newest } = this;
    const messages = given.length === 0 ? window : insertAfterSystem(window, given);
    // The list only grows, so the same request already contains what is new in it.
    if (newest?.messages === messages) return newest;
    return (this.newest = Object.freeze({ ...this.plan.request, messages }));
  }
}

function insertAfterSystem(
  window: readonly ChatMessage[],
  given: readonly ChatMessage[],
): readonly ChatMessage[] {
  const at = window[0]?.role === "system" ? 1 : 0;
  return [...window.slice(0, at), ...given, ...window.slice(at)];
}
