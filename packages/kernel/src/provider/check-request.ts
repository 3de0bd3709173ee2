import { checkRecord } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkSettingTypes } from "../model/check-settings.ts";
import type { ModelRequest } from "../model/llm.ts";
import { isObject } from "./json.ts";

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);
const ROLES_TEXT = "system, user, assistant or tool";
const CALL_TEXTS = ["id", "name", "arguments"] as const;

const CHOICES: ReadonlySet<unknown> = new Set(["auto", "none", "required"]);
const CHOICES_TEXT = '"auto", "none", "required" or { name } of a tool';

/** Refuses what nobody could send, by its place in the request: translated, it would be an error of the provider's own code. */
export function checkRequest(request: ModelRequest): void {
  checkRecord("request", request, "a ModelRequest, such as { messages: [...] }");
  const { messages, tools, toolChoice, output } = request;
  listIn("request.messages", messages, "an array of messages").forEach(checkMessage);
  checkSettingTypes("request", request);
  if (toolChoice !== undefined && !CHOICES.has(toolChoice) && !isNamed(toolChoice))
    refuse("request.toolChoice", toolChoice, CHOICES_TEXT);
  if (output !== undefined && !(isNamed(output) && isObject(output["schema"])))
    refuse("request.output", output, "{ name, schema }, where schema is a JSON Schema");
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

function isNamed(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && typeof value["name"] === "string";
}

function listIn(field: string, value: unknown, expected: string): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse(field, value, expected);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
