import { checkRecord } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { ModelRequest } from "../model/llm.ts";
import { isObject } from "./json.ts";

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);
const ROLES_TEXT = "system, user, assistant or tool";
const CALL_TEXTS = ["id", "name", "arguments"] as const;

/** Refuses what nobody could send, by its place in the request: translated, it would be an error of the provider's own code. */
export function checkRequest(request: ModelRequest): void {
  checkRecord("request", request, "a ModelRequest, such as { messages: [...] }");
  const { messages, tools } = request;
  listIn("request.messages", messages, "an array of messages").forEach(checkMessage);
  if (tools === undefined) return;
  listIn("request.tools", tools, "an array of tools, or undefined for none").forEach((tool, at) => {
    if (!isObject(tool)) refuse(`request.tools[${at}]`, tool, "a tool with name, description and parameters");
    if (typeof tool["name"] !== "string") refuse(`request.tools[${at}].name`, tool["name"], "a string");
  });
}

function checkMessage(message: unknown, at: number): void {
  const field = `request.messages[${at}]`;
  if (!isObject(message)) refuse(field, message, `a message with a role (${ROLES_TEXT}) and content`);
  const { role, content, toolCalls } = message;
  if (!ROLES.has(role)) refuse(`${field}.role`, role, ROLES_TEXT);
  if (typeof content !== "string")
    listIn(`${field}.content`, content, "a string or an array of parts").forEach((part, n) => {
      if (!isObject(part)) refuse(`${field}.content[${n}]`, part, "a part with a type");
    });
  if (role !== "assistant" || toolCalls === undefined) return;
  listIn(`${field}.toolCalls`, toolCalls, "an array of tool calls, or undefined for none").forEach(
    (call, n) => {
      const place = `${field}.toolCalls[${n}]`;
      if (!isObject(call)) refuse(place, call, "a call with id, name and arguments");
      for (const name of CALL_TEXTS) {
        const value = call[name];
        if (typeof value !== "string")
          refuse(`${place}.${name}`, value, name === "arguments" ? "a string of JSON" : "a string");
      }
    },
  );
}

function listIn(field: string, value: unknown, expected: string): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse(field, value, expected);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
