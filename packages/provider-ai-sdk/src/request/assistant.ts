import type { AssistantMessage, ReasoningPart, ToolCall } from "@ravi/kernel";
import { type CallIds, leftOut, type Notice, plainName, unknownLeftOut } from "@ravi/kernel/provider";
import { inputOf } from "./input.ts";
import { type Kept, keptIn, metadataOptions, textOptions } from "./provider-metadata.ts";
import { partsOf, textPart } from "./text.ts";

export interface AssistantTarget {
  /** The provider whose reasoning can be sent back, such as `ai-sdk/openai.responses`. */
  readonly tag: string;
  readonly modelId: string;
  readonly ids: CallIds;
  readonly notice: Notice;
}

/** An assistant's message: its parts, and its calls at their places among them. */
export function assistantParts(message: AssistantMessage, target: AssistantTarget): readonly object[] {
  const { toolCalls = [] } = message;
  const parts: object[] = [];
  let sent = 0;
  let next: Kept | undefined;
  const sendCalls = (upTo: number): void => {
    parts.push(...toolCalls.slice(sent, upTo).map((call) => toolCallPart(call, target)));
    sent = Math.max(sent, upTo);
  };
  for (const part of partsOf(message.content)) {
    switch (part.type) {
      case "text":
        // Models put blank texts before their calls, which Anthropic refuses to get back.
        if (next !== undefined || part.text.trim() !== "")
          parts.push(
            ...textPart(part.text).map((text) => ({ ...text, ...textOptions(next, target.modelId) })),
          );
        next = undefined;
        break;
      case "reasoning": {
        const kept = keptIn(part.opaque, target.tag);
        sendCalls(kept?.calls ?? 0);
        if (kept?.of === "next text") next = kept;
        else parts.push(...keptPart(part, kept, target));
        break;
      }
      case "image":
      case "file":
        parts.push(...textPart(leftOut(part, "an assistant message can only contain text", target.notice)));
        break;
      default:
        parts.push(...textPart(unknownLeftOut(part, target.notice)));
    }
  }
  sendCalls(toolCalls.length);
  return parts;
}

function keptPart(
  { text }: ReasoningPart,
  kept: Kept | undefined,
  { modelId, notice }: AssistantTarget,
): object[] {
  if (kept === undefined) {
    notice("reasoning of another provider was left out");
    return [];
  }
  const { of, model = modelId } = kept;
  if (model !== modelId) {
    notice("reasoning that only another model can read was left out");
    return [];
  }
  return typeof of === "object"
    ? [{ type: "text", text: of.text.toWellFormed(), ...metadataOptions(kept) }]
    : [{ type: "reasoning", text: text.toWellFormed(), ...metadataOptions(kept) }];
}

function toolCallPart(
  { id, name, arguments: args, opaque }: ToolCall,
  { ids, tag }: AssistantTarget,
): object {
  return {
    type: "tool-call",
    toolCallId: ids.begin(id),
    toolName: plainName(name),
    input: inputOf(args),
    ...metadataOptions(keptIn(opaque, tag)),
  };
}
