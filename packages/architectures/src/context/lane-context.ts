import {
  type ChatMessage,
  isRaviError,
  type Leaf,
  type LLMClient,
  type ModelRequest,
  type ModelResponse,
  type Outcome,
  type RaviError,
  type RunContext,
  textOf,
  type WindowOptions,
} from "@ravi/kernel";
import { Conversation } from "@ravi/kernel/loop";
import { DelegatingContext } from "./delegating-context.ts";

export interface LaneOptions {
  /** What the conversation begins with. */
  readonly past?: readonly ChatMessage[] | undefined;
  /** `false`: the last turn is kept for whoever has more to say at the end than this part of the work. */
  readonly land?: boolean | undefined;
}

/**
 * A conversation of its own on the lane of its agent: one attempt, one step of a plan. What is said in it is not part of the
 * agent's own conversation, and is forgotten with it.
 */
export class LaneContext extends DelegatingContext {
  /** Why the money ended, if it did. */
  outOfBudget: RaviError | undefined;
  private readonly mayLand: boolean;
  private readonly pastLength: number;
  private readonly conversation: Conversation;

  constructor(inner: RunContext, options: LaneOptions = {}) {
    super(inner);
    this.mayLand = options.land ?? true;
    this.pastLength = options.past?.length ?? 0;
    this.conversation = new Conversation(options.past);
  }

  /** What the model has said last in it. */
  get lastText(): string {
    const last = this.said.findLast(
      (message) => message.role === "assistant" && textOf(message).trim() !== "",
    );
    return last === undefined ? "" : textOf(last);
  }

  /** What was said and found in it, for whoever goes on from there. */
  get found(): string {
    const parts = this.said.flatMap((message) => {
      const text = textOf(message).trim();
      if (text === "" || message.role === "user") return [];
      return message.role === "tool" ? `[${message.name}] ${text}` : text;
    });
    return parts.join("\n");
  }

  /** All after the conversation that it begins with. */
  private get said(): readonly ChatMessage[] {
    return this.conversation.messages.filter(({ role }) => role !== "system").slice(this.pastLength);
  }

  override async llm(
    model: LLMClient,
    request: ModelRequest,
    options?: { readonly wrapUp?: boolean | undefined },
  ): Promise<ModelResponse> {
    if (options?.wrapUp === true && !this.mayLand && this.outOfBudget !== undefined) throw this.outOfBudget;
    try {
      return await this.inner.llm(model, request, options);
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) this.outOfBudget ??= error;
      throw error;
    }
  }

  override window(options?: WindowOptions): readonly ChatMessage[] {
    return this.conversation.window(options);
  }

  override remember(message: ChatMessage): void {
    this.conversation.remember(message);
  }

  protected override async runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    const outcomes = await this.inner.batch(leaves);
    for (const [at, outcome] of outcomes.entries()) {
      // What a child could not afford is the child's affair.
      if (leaves[at]?.kind !== "hire" && "error" in outcome && isRaviError(outcome.error, "BUDGET_EXHAUSTED"))
        this.outOfBudget ??= outcome.error;
    }
    return outcomes;
  }
}
