import {
  type ChatMessage,
  isRaviError,
  type Leaf,
  type LLMClient,
  type LlmOptions,
  type ModelRequest,
  type ModelResponse,
  type Outcome,
  type RaviError,
  type RunContext,
  textOf,
  type WindowOptions,
} from "@ravi/kernel";
import { Conversation } from "@ravi/kernel/loop";
import { saidIn } from "../session.ts";
import { DelegatingContext } from "./delegating-context.ts";

export interface IsolatedOptions {
  /** The messages that the conversation begins with. */
  readonly past?: readonly ChatMessage[] | undefined;
  /** If `false`, the last turn is not used here but left to the strategy, which has more to answer from. Default: true. */
  readonly land?: boolean | undefined;
}

/**
 * A separate conversation of the agent, for one attempt or one step of a plan. Its messages are not part of the agent's own conversation
 * and are discarded with it.
 */
export class IsolatedContext extends DelegatingContext {
  /** The error, if the budget was exhausted. */
  outOfBudget: RaviError | undefined;
  private readonly mayLand: boolean;
  private readonly pastLength: number;
  private readonly conversation: Conversation;

  constructor(inner: RunContext, options: IsolatedOptions = {}) {
    super(inner);
    this.mayLand = options.land ?? true;
    this.pastLength = options.past?.length ?? 0;
    this.conversation = new Conversation(options.past);
  }

  /** The last text of the model in this conversation. */
  get lastText(): string {
    const last = this.newMessages.findLast((message) => saidIn(message) !== "");
    return last === undefined ? "" : saidIn(last);
  }

  /** The texts of the model and of tools in this conversation, as material for a model that continues from there. */
  get found(): string {
    const parts = this.newMessages.flatMap((message) => {
      const text = message.role === "tool" ? textOf(message).trim() : saidIn(message).trim();
      if (text === "") return [];
      return message.role === "tool" ? `[${message.name}] ${text}` : text;
    });
    return parts.join("\n");
  }

  /** The messages after `past`, without the system prompt. */
  private get newMessages(): readonly ChatMessage[] {
    return this.conversation.messages.filter(({ role }) => role !== "system").slice(this.pastLength);
  }

  override async llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
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
      // A child's exhausted budget concerns the child only.
      if (leaves[at]?.kind !== "hire" && "error" in outcome && isRaviError(outcome.error, "BUDGET_EXHAUSTED"))
        this.outOfBudget ??= outcome.error;
    }
    return outcomes;
  }
}
