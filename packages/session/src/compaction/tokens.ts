import type { ChatMessage, ToolSpec, Usage } from "@ravi/kernel";
import { estimateTokens } from "@ravi/kernel/loop";

/**
 * Estimates as the strategies of `@ravi/context` do, since they are told a window by these estimates. The provider's own count
 * replaces them with the next answer.
 */
export function estimateMessages(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateTokens(message);
  return tokens;
}

export function estimateTools(tools: readonly ToolSpec[] = []): number {
  return estimateMessages(tools.map((tool) => ({ role: "system", content: JSON.stringify(tool) })));
}

/** How full the context is: the provider's count for the last call, and an estimate of what was added since. */
export class ContextMeter {
  private counted = 0;
  private guessed = 0;

  get tokens(): number {
    return this.counted + this.guessed;
  }

  /** After a model call. `guess` estimates the request and the answer if the provider did not report usage. */
  answered(usage: Usage | undefined, guess: () => number): void {
    this.counted = usage === undefined ? guess() : usage.inputTokens + usage.outputTokens;
    this.guessed = 0;
  }

  added(message: ChatMessage): void {
    this.guessed += estimateTokens(message);
  }

  /** Starts again with an estimate: for another conversation, or for the same one after a compaction. */
  reset(tokens: number): void {
    this.counted = 0;
    this.guessed = tokens;
  }
}
