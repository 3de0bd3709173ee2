import type {
  ContentPart,
  DelegateTool,
  ModelResponse,
  RaviError,
  RunContext,
  Tool,
  ToolCall,
  ToolMessage,
} from "@ravi/kernel";
import {
  type LoopDetector,
  type LoopStep,
  type LoopVerdict,
  type ToolTurnOptions,
  toolTurn,
  truncateText,
} from "@ravi/kernel/loop";

export interface ToolStepOptions extends ToolTurnOptions {
  readonly maxChars: number;
  readonly detector: LoopDetector | undefined;
}

export interface ToolStep {
  /** One for each call, in the order asked. */
  readonly messages: readonly ToolMessage[];
  readonly stop: RaviError | undefined;
  /** The model goes round in circles, and was warned. */
  readonly isLooping: boolean;
}

/** Does what a model asked for, but for calls that have come to nothing too often, and makes the results fit to be read. */
export async function toolStep(
  ctx: RunContext,
  response: ModelResponse,
  tools: readonly (Tool | DelegateTool)[],
  options: ToolStepOptions,
): Promise<ToolStep> {
  const { detector, maxChars } = options;
  const calls = response.message.toolCalls ?? [];
  const verdicts = detector && calls.map((call) => detector.before(call));
  const blocked = verdicts?.some(isBlock) === true;
  const turn = await toolTurn(ctx, blocked ? without(response, verdicts) : response, tools, options);
  const messages = blocked ? withRefusals(calls, verdicts, turn.messages) : turn.messages;
  const after = detector?.after(
    calls.flatMap((call, at) => {
      const message = messages[at];
      return message === undefined ? [] : [stepOf(call, message, verdicts?.[at])];
    }),
  );
  return {
    messages: messages.map((message, at) => readable(message, maxChars, after?.[at])),
    stop: turn.stop,
    isLooping: after?.some(({ action }) => action === "halt") === true,
  };
}

function isBlock(verdict: LoopVerdict | undefined): boolean {
  return verdict?.action === "block";
}

function without(response: ModelResponse, verdicts: readonly LoopVerdict[]): ModelResponse {
  const toolCalls = response.message.toolCalls?.filter((_, at) => !isBlock(verdicts[at]));
  return { ...response, message: { ...response.message, toolCalls } };
}

/** The results in the order asked, with a refusal in the place of each call that was not made. */
function withRefusals(
  calls: readonly ToolCall[],
  verdicts: readonly LoopVerdict[],
  made: readonly ToolMessage[],
): ToolMessage[] {
  const messages: ToolMessage[] = [];
  let next = 0;
  for (const [at, { id, name }] of calls.entries()) {
    const verdict = verdicts[at];
    const message: ToolMessage | undefined =
      verdict?.action === "block"
        ? { role: "tool", toolCallId: id, name, content: `error: ${verdict.reason}`, isError: true }
        : made[next++];
    if (message !== undefined) messages.push(message);
  }
  return messages;
}

function stepOf(call: ToolCall, message: ToolMessage, before: LoopVerdict | undefined): LoopStep {
  const { content, isError = false } = message;
  return { call, content, isError, blocked: before?.action === "block" };
}

function readable(message: ToolMessage, maxChars: number, verdict: LoopVerdict | undefined): ToolMessage {
  const content = shorten(message.content, maxChars);
  if (verdict === undefined || verdict.action === "allow")
    return content === message.content ? message : { ...message, content };
  return { ...message, content: withNote(content, `\n[warning: ${verdict.reason}]`) };
}

function withNote(content: ToolMessage["content"], note: string): ToolMessage["content"] {
  return typeof content === "string" ? content + note : [...content, { type: "text", text: note }];
}

/** Text alone is cut: half an image is none. */
function shorten(content: ToolMessage["content"], maxChars: number): ToolMessage["content"] {
  if (typeof content === "string") return truncateText(content, maxChars);
  const length = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (length <= maxChars) return content;
  // Each part keeps its share, so that one long part does not take the place of all the others.
  return content.map((part): ContentPart => {
    if (part.type !== "text") return part;
    const share = Math.floor((part.text.length / length) * maxChars);
    return { type: "text", text: truncateText(part.text, share) };
  });
}
