import { type ChatMessage, type ModelRequest, textOf, type ToolCall } from "@ravi/kernel";

/**
 * How tokens are counted if a script does not say: one for every four characters (UTF-16 units), rounded up once for the whole
 * input and once for the whole output. No model counts like this, but it is the same on every machine and easy to check by
 * hand.
 */
const CHARACTERS_PER_TOKEN = 4;
/** An image or a file counts as 85 tokens, whatever its size. */
const CHARACTERS_PER_ATTACHMENT = 340;

/** Counts the texts, the names and arguments of tool calls, and the tools and the output schema as JSON. Returns at least 1. */
export function estimateInputTokens(request: ModelRequest): number {
  let characters = 0;
  for (const message of request.messages) characters += charactersOf(message);
  if (request.tools !== undefined && request.tools.length > 0)
    characters += JSON.stringify(request.tools).length;
  if (request.output !== undefined) characters += JSON.stringify(request.output.schema).length;
  return Math.max(1, Math.ceil(characters / CHARACTERS_PER_TOKEN));
}

export function estimateOutputTokens(answer: {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
}): number {
  const characters = answer.text.length + answer.reasoning.length + charactersOfCalls(answer.toolCalls);
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

function charactersOf(message: ChatMessage): number {
  let characters = textOf(message).length;
  if (typeof message.content !== "string") {
    const attachments = message.content.filter((part) => part.type === "image" || part.type === "file");
    characters += attachments.length * CHARACTERS_PER_ATTACHMENT;
  }
  if (message.role === "assistant") characters += charactersOfCalls(message.toolCalls ?? []);
  return characters;
}

function charactersOfCalls(calls: readonly ToolCall[]): number {
  return calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
}
