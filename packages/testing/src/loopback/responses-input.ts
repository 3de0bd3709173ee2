import {
  type AssistantMessage,
  type ChatMessage,
  type ContentPart,
  type JsonObject,
  type JsonValue,
  textOf,
} from "@ravi/kernel";
import { invalid, readId, readKnown, readList, readObject, readOptional, readString } from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import { readInputContent } from "./responses-parts.ts";
import { isSealed } from "./seal.ts";

interface Reading {
  readonly messages: ChatMessage[];
  /** The names of calls that have no result yet, by call id. */
  readonly open: Map<string, string>;
  readonly checkToolPairs: boolean;
}

/** The conversation of a Responses request, as messages of the kernel. Consecutive items of the assistant become one message. */
export function readInput(
  value: JsonValue | undefined,
  options: { readonly checkToolPairs: boolean },
): readonly ChatMessage[] {
  if (typeof value === "string") return [{ role: "user", content: value }];
  const list = readList(value, "input");
  if (list.length === 0) throw invalid("input", "a string, or an array with at least one item");
  const reading: Reading = { messages: [], open: new Map(), ...options };
  for (const [index, item] of list.entries()) {
    const param = `input[${index}]`;
    readItem(readObject(item, param), param, reading);
    checkFollowed(readObject(item, param), list[index + 1], param);
  }
  const [unanswered] = reading.open.keys();
  if (options.checkToolPairs && unanswered !== undefined) {
    const message = `No tool output found for function call ${unanswered}.`;
    throw new RefusedRequest({ status: 400, message, param: "input" });
  }
  return reading.messages;
}

function readItem(item: JsonObject, param: string, reading: Reading): void {
  const type = item["type"] ?? "message";
  switch (type) {
    case "message":
      return readMessage(item, param, reading);
    case "reasoning":
      return readReasoning(item, param, reading);
    case "function_call":
      return readCall(item, param, reading);
    case "function_call_output":
      return readOutput(item, param, reading);
    case "item_reference":
      throw new RefusedRequest({
        status: 400,
        message: `Item with id '${nameOf(item)}' not found. Items are not kept here; send the item itself.`,
        param,
      });
    default:
      throw invalid(`${param}.type`, "one of message, reasoning, function_call, function_call_output");
  }
}

function readMessage(item: JsonObject, param: string, { messages }: Reading): void {
  readKnown(item, param, ["type", "role", "content", "id", "status", "phase"]);
  const role = readString(item["role"], `${param}.role`);
  const content = readInputContent(item["content"], `${param}.content`);
  if (role === "assistant") addToAssistant(messages, partsOf(content));
  else if (role === "user") messages.push({ role, content });
  else if (role === "system" || role === "developer")
    messages.push({ role: "system", content: textOf({ content }) });
  else throw invalid(`${param}.role`, "one of system, developer, user, assistant");
}

/** Reasoning must come back sealed as this server sent it. OpenAI requires that of clients that store nothing on the server. */
function readReasoning(item: JsonObject, param: string, { messages }: Reading): void {
  readKnown(item, param, ["type", "id", "summary", "content", "encrypted_content", "status"]);
  const sealed = readOptional(item["encrypted_content"], `${param}.encrypted_content`, readString);
  if (sealed === undefined) {
    const message = `Item with id '${nameOf(item)}' not found. Items are not kept here; include its encrypted_content.`;
    throw new RefusedRequest({ status: 404, message, param });
  }
  if (!isSealed(sealed)) {
    throw new RefusedRequest({
      status: 400,
      message: `The encrypted content for item ${nameOf(item)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      code: "invalid_encrypted_content",
    });
  }
  const summary = readList(item["summary"], `${param}.summary`).map((part, index) => {
    const at = `${param}.summary[${index}]`;
    return readString(readObject(part, at)["text"], `${at}.text`);
  });
  addToAssistant(messages, [{ type: "reasoning", text: summary.join("\n\n") }]);
}

/** Reasoning must be followed by what the assistant said or did next. */
function checkFollowed(item: JsonObject, next: JsonValue | undefined, param: string): void {
  if (item["type"] !== "reasoning") return;
  const following = next === undefined ? {} : readObject(next, param);
  const isOwn = following["type"] === "reasoning" || following["type"] === "function_call";
  if (isOwn || following["role"] === "assistant") return;
  throw new RefusedRequest({
    status: 400,
    message: `Item '${nameOf(item)}' of type 'reasoning' was provided without its required following item.`,
    param,
  });
}

const MAX_CALL_ID = 64;

function readCallId(item: JsonObject, param: string): string {
  return readId(item["call_id"], `${param}.call_id`, MAX_CALL_ID);
}

function readCall(item: JsonObject, param: string, { messages, open }: Reading): void {
  readKnown(item, param, [
    "type",
    "id",
    "call_id",
    "name",
    "arguments",
    "status",
    "caller",
    "namespace",
    "async",
  ]);
  const id = readCallId(item, param);
  const name = readString(item["name"], `${param}.name`);
  if (!/^[\w-]+$/.test(name)) throw invalid(`${param}.name`, "a string that matches ^[a-zA-Z0-9_-]+$");
  const call = { id, name, arguments: readString(item["arguments"], `${param}.arguments`) };
  const last = addToAssistant(messages, []);
  messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
  open.set(id, name);
}

function readOutput(item: JsonObject, param: string, { messages, open, checkToolPairs }: Reading): void {
  readKnown(item, param, ["type", "id", "call_id", "output", "status", "caller", "name", "namespace"]);
  const toolCallId = readCallId(item, param);
  const name = open.get(toolCallId);
  if (name === undefined && checkToolPairs) {
    const message = `No tool call found for function call output with call_id ${toolCallId}.`;
    throw new RefusedRequest({ status: 400, message, param: "input" });
  }
  open.delete(toolCallId);
  const content = readInputContent(item["output"], `${param}.output`);
  messages.push({ role: "tool", toolCallId, name: name ?? "", content });
}

/** Adds parts to the assistant message at the end, or to a new one if the last message is not the assistant's. */
function addToAssistant(messages: ChatMessage[], parts: readonly ContentPart[]): AssistantMessage {
  const last = messages.at(-1);
  const known = last?.role === "assistant" ? last : undefined;
  const all = [...(known === undefined ? [] : partsOf(known.content)), ...parts];
  const isText = all.every((part) => part.type === "text");
  const message: AssistantMessage = {
    ...known,
    role: "assistant",
    content: isText ? textOf({ content: all }) : all,
  };
  if (known === undefined) messages.push(message);
  else messages[messages.length - 1] = message;
  return message;
}

function partsOf(content: string | readonly ContentPart[]): readonly ContentPart[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

function nameOf(item: JsonObject): string {
  return typeof item["id"] === "string" ? item["id"] : "(no id)";
}
