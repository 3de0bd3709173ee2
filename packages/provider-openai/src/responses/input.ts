import type {
  AssistantMessage,
  ChatMessage,
  JsonObject,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "@ravi/kernel";
import {
  type CallIds,
  callIds,
  leftOut,
  type Notice,
  pairedCalls,
  plainName,
  unknownLeftOut,
} from "@ravi/kernel/provider";
import { sendableArguments } from "../request/sendable-arguments.ts";
import { keptIn, reasoningItem } from "./kept.ts";
import { inputParts, inputText } from "./parts.ts";

export interface InputContext {
  readonly provider: string;
  /** Whether it is another server than OpenAI's own or Azure's. */
  readonly isCompatible: boolean;
  readonly notice: Notice;
}

/**
 * A conversation as input items of the Responses API. A message always becomes the same items, whatever follows it, so the prompt
 * cache finds the beginning of the conversation again.
 */
export function inputItems(messages: readonly ChatMessage[], context: InputContext): JsonObject[] {
  const ids = callIds(MAX_ID);
  return pairedCalls(messages).flatMap((message) => {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }];
      case "user":
        return [userItem(message, context.notice)];
      case "assistant":
        return assistantItems(message, ids, context);
      default:
        return [outputItem(message, ids, context.notice)];
    }
  });
}

/** There is no field for the speaker's name, so it is put into the text. */
function userItem({ content, name }: UserMessage, notice: Notice): JsonObject {
  if (typeof content === "string")
    return { role: "user", content: name === undefined ? content : `${name}: ${content}` };
  const parts = inputParts(content, notice);
  return { role: "user", content: name === undefined ? parts : [inputText(`${name}:`), ...parts] };
}

function outputItem({ toolCallId, content }: ToolMessage, ids: CallIds, notice: Notice): JsonObject {
  return {
    type: "function_call_output",
    call_id: ids.latest(toolCallId),
    output: typeof content === "string" ? content : inputParts(content, notice),
  };
}

function assistantItems(message: AssistantMessage, ids: CallIds, context: InputContext): JsonObject[] {
  const { content, toolCalls = [] } = message;
  const items: JsonObject[] = [];
  let sent = 0;
  const sendCalls = (upTo: number): void => {
    for (; sent < Math.min(upTo, toolCalls.length); sent++) {
      const call = toolCalls[sent];
      if (call !== undefined) items.push(callItem(call, ids, context));
    }
  };
  const say = (text: string, more: JsonObject = {}): void => {
    if (text !== "") items.push({ role: "assistant", content: text, ...more });
  };
  let phase: string | undefined;
  for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
    if (part.type === "text") {
      say(part.text, phase === undefined ? {} : { phase });
      phase = undefined;
    } else if (part.type === "reasoning") {
      const kept = keptIn(part, context.provider);
      if (kept?.phase !== undefined) {
        phase = kept.phase;
        continue;
      }
      const item = kept === undefined ? undefined : reasoningItem(part.text, kept);
      if (item === undefined) context.notice("reasoning of another provider is left out");
      else {
        sendCalls(kept?.calls ?? 0);
        items.push(item);
      }
    } else if (part.type === "image" || part.type === "file") {
      say(leftOut(part, "only text can be sent here", context.notice));
    } else {
      say(unknownLeftOut(part, context.notice));
    }
  }
  sendCalls(toolCalls.length);
  // Reasoning at the end, as in an answer that was cut off, is refused by the server because no item follows it.
  while (items.at(-1)?.["type"] === "reasoning") items.pop();
  return items;
}

function callItem({ id, name, arguments: text }: ToolCall, ids: CallIds, context: InputContext): JsonObject {
  const args = sendableArguments(text, context.isCompatible);
  return { type: "function_call", call_id: ids.begin(id), name: plainName(name), arguments: args };
}

/** The most characters of the id of a call that the API accepts. */
const MAX_ID = 64;
