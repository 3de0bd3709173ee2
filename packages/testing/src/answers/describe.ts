import { type ChatMessage, type ModelRequest, textOf } from "@ravi/kernel";

const SHOWN_MESSAGES = 3;
const SHOWN_CHARACTERS = 200;

/** A request in short, for error messages: its last messages and the names of its tools. */
export function describeRequest(request: ModelRequest): string {
  const { messages, tools = [] } = request;
  const left = messages.length - SHOWN_MESSAGES;
  return [
    ...(left > 0 ? [`  (${left} earlier messages)`] : []),
    ...messages.slice(-SHOWN_MESSAGES).map(describeMessage),
    `  tools: ${tools.length === 0 ? "none" : tools.map((tool) => tool.name).join(", ")}`,
  ].join("\n");
}

function describeMessage(message: ChatMessage): string {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const parts = [textOf(message), ...calls.map((call) => `${call.name}(${call.arguments})`)];
  const text = parts.filter((part) => part !== "").join(" ");
  const who = message.role === "tool" ? `tool ${message.name}` : message.role;
  return `  ${who}: ${text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS - 3)}...`}`;
}

/** What the model is asked to react to: the text of the last user or tool message. */
export function lastText(request: ModelRequest): string {
  const last = request.messages.findLast((message) => message.role === "user" || message.role === "tool");
  return last === undefined ? "" : textOf(last);
}
