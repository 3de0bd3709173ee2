import type { ChatMessage, ToolSpec, Usage } from "@ravi/kernel";

const PER_MESSAGE = 4;
const PER_IMAGE = 1_600;
const CHARACTERS_PER_TOKEN = 4;

/** Estimates tokens from the length. It is replaced by the provider's own count with the next answer. */
function estimateMessage(message: ChatMessage): number {
  let characters = 0;
  let tokens = PER_MESSAGE;
  if (typeof message.content === "string") characters += message.content.length;
  else
    for (const part of message.content) {
      if (part.type === "text" || part.type === "reasoning") characters += part.text.length;
      else tokens += PER_IMAGE;
    }
  if (message.role === "assistant")
    for (const call of message.toolCalls ?? []) characters += call.name.length + call.arguments.length;
  return tokens + Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

export function estimateMessages(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

export function estimateTools(tools: readonly ToolSpec[] | undefined): number {
  return tools === undefined ? 0 : Math.ceil(JSON.stringify(tools).length / CHARACTERS_PER_TOKEN);
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
    this.guessed += estimateMessage(message);
  }

  /** Starts again with an estimate: for another conversation, or for the same one after a compaction. */
  reset(tokens: number): void {
    this.counted = 0;
    this.guessed = tokens;
  }
}
