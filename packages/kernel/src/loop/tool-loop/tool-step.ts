import type { RaviError } from "../../errors/base.ts";
import type { ModelResponse } from "../../model/llm.ts";
import type { ContentPart, ToolCall, ToolMessage } from "../../model/messages.ts";
import type { DelegateTool, Tool } from "../../model/tool.ts";
import type { LoopDetector, LoopStep, LoopVerdict } from "../loop-detection.ts";
import { toolTurn, type ToolTurnOptions, type TurnContext } from "../tool-turn.ts";
import { truncateText } from "../truncate.ts";

export interface ToolStepOptions extends ToolTurnOptions {
  readonly maxChars: number;
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
  ctx: TurnContext,
  response: ModelResponse,
  tools: readonly (Tool | DelegateTool)[],
  options: ToolStepOptions,
  detector: LoopDetector | undefined,
): Promise<ToolStep> {
  const { maxChars, onResult } = options;
  const told =
    onResult && ((call: ToolCall, message: ToolMessage) => onResult(call, readable(message, maxChars)));
  if (detector === undefined) {
    const { messages, stop } = await toolTurn(ctx, response, tools, { ...options, onResult: told });
    return { messages: messages.map((message) => readable(message, maxChars)), stop, isLooping: false };
  }
  const verdicts: LoopVerdict[] = [];
  const before: ToolTurnOptions["before"] = (call) => {
    const verdict = detector.before(call);
    verdicts.push(verdict);
    return verdict.action === "block" ? verdict.reason : options.before?.(call);
  };
  const { messages, stop } = await toolTurn(ctx, response, tools, { ...options, before, onResult: told });
  const calls = response.message.toolCalls ?? [];
  const after = detector.after(
    calls.flatMap((call, at) => {
      const message = messages[at];
      return message === undefined ? [] : [stepOf(call, message, verdicts[at])];
    }),
  );
  return {
    messages: messages.map((message, at) => readable(message, maxChars, after[at])),
    stop,
    isLooping: after.some(({ action }) => action === "halt"),
  };
}

function stepOf(call: ToolCall, message: ToolMessage, before: LoopVerdict | undefined): LoopStep {
  const { content, isError = false } = message;
  return { call, content, isError, blocked: before?.action === "block" };
}

function readable(message: ToolMessage, maxChars: number, verdict?: LoopVerdict | undefined): ToolMessage {
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
