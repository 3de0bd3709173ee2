import type { ChatMessage, JsonObject, JsonValue, ModelRequest, ToolSpec } from "@ravi/kernel";
import { isObject } from "@ravi/kernel/provider";
import { readParts } from "./anthropic-blocks.ts";
import { readOneOf, readOnly, readRequired, wrong } from "./anthropic-fields.ts";
import { messagesOf, readTurns } from "./anthropic-messages.ts";
import { checkMarks, checkThoughts, checkToolsThere, checkTurns } from "./anthropic-rules.ts";
import {
  present,
  readBoolean,
  readList,
  readNumber,
  readObject,
  readOptional,
  readString,
} from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";

/** A Messages request, read. */
export interface MessagesRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly request: ModelRequest;
}

export interface ReadOptions {
  /** The API version that the client sent. */
  readonly version: string;
  /** Whether `max_tokens` is required. It is not for counting tokens. */
  readonly needsLimit: boolean;
  /** Whether tool calls must be followed by their results. */
  readonly checkToolPairs: boolean;
  /** Whether the client asked for features in beta, which have fields of their own. */
  readonly isBeta: boolean;
}

const FIELDS = [
  "model",
  "max_tokens",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "stop_sequences",
  "stream",
  "metadata",
  "service_tier",
  "cache_control",
  "container",
  "diagnostics",
  "inference_geo",
  "speed",
];
const SAMPLING = ["temperature", "top_p", "top_k"];
/** From this version on the API refuses sampling parameters. */
const WITHOUT_SAMPLING = "2026-10-21";

/** Reads a request as strictly as the real server does. Throws a `RefusedRequest`. */
export function readMessagesRequest(value: JsonValue | undefined, options: ReadOptions): MessagesRequest {
  const known = options.version >= WITHOUT_SAMPLING ? FIELDS : [...FIELDS, ...SAMPLING];
  const body = options.isBeta ? readObject(value, "body") : readOnly(value, "body", known);
  refuseThread(body["thread"]);
  const model = readRequired(body["model"], "model", readString);
  const limit = readLimit(body["max_tokens"], options.needsLimit);
  const turns = readTurns(body["messages"]);
  if (options.checkToolPairs) checkTurns(turns);
  const all = readOptional(body["tools"], "tools", readList) ?? [];
  const tools = readTools(all, "tools");
  checkToolsThere(turns, all.length);
  checkMarks(body);
  const toolChoice = readOptional(body["tool_choice"], "tool_choice", (choice) => readChoice(choice, all));
  const thinks =
    readOptional(body["thinking"], "thinking", (thinking) => readThinking(thinking, limit)) ?? "no";
  if (thinks !== "no" && (toolChoice === "required" || typeof toolChoice === "object")) {
    throw wrong("thinking", "Thinking may not be enabled when tool_choice forces tool use.");
  }
  if (thinks === "budget") checkThoughts(turns);
  const config = readOptional(body["output_config"], "output_config", readConfig) ?? {};
  const optional: Partial<ModelRequest> = {
    tools: tools.length === 0 ? undefined : tools,
    toolChoice,
    maxOutputTokens: limit,
    temperature: readOptional(body["temperature"], "temperature", readShare),
    topP: readOptional(body["top_p"], "top_p", readShare),
    stop: readOptional(body["stop_sequences"], "stop_sequences", readStops),
    ...config,
  };
  return {
    model,
    stream: readOptional(body["stream"], "stream", readBoolean) ?? false,
    request: {
      messages: [...readSystem(body["system"]), ...messagesOf(turns)],
      ...present(optional),
    },
  };
}

/** The server stores nothing between two requests. */
function refuseThread(thread: JsonValue | undefined): void {
  if (thread === undefined || thread === null) return;
  const message = "thread: this server keeps nothing between two requests; send the whole conversation";
  throw new RefusedRequest({ status: 400, message, code: "thread_unsupported_request" });
}

function readLimit(value: JsonValue | undefined, isNeeded: boolean): number | undefined {
  if (!isNeeded && value === undefined) return undefined;
  const limit = readRequired(value, "max_tokens", readNumber);
  if (Number.isInteger(limit) && limit >= 1) return limit;
  throw wrong("max_tokens", "must be greater than or equal to 1");
}

function readSystem(value: JsonValue | undefined): readonly ChatMessage[] {
  const parts = value === undefined || value === null ? [] : readParts(value, "system", ["text"]);
  return parts.flatMap((part) => (part.type === "text" ? [{ role: "system", content: part.text }] : []));
}

/** Reads the client's own tools. The kernel has no type for those that run at Anthropic; a script finds them in the body. */
function readTools(list: readonly JsonValue[], path: string): readonly ToolSpec[] {
  const tools = list.flatMap((item, at): ToolSpec[] => {
    const tool = readObject(item, `${path}.${at}`);
    if ((tool["type"] ?? "custom") !== "custom") return [];
    const name = readRequired(tool["name"], `${path}.${at}.name`, readString);
    if (!/^[\w-]{1,128}$/.test(name)) {
      throw wrong(`${path}.${at}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    }
    const { "~standard": _, ...parameters } = readRequired(
      tool["input_schema"],
      `${path}.${at}.custom.input_schema`,
      readObject,
    );
    readOneOf(parameters["type"], `${path}.${at}.custom.input_schema.type`, ["object"]);
    if (["anyOf", "oneOf", "allOf"].some((key) => key in parameters)) {
      const problem = "input_schema does not support oneOf, allOf, or anyOf at the top level";
      throw wrong(`${path}.${at}.custom.input_schema`, problem);
    }
    const description = readOptional(tool["description"], `${path}.${at}.description`, readString) ?? "";
    return [{ name, description, parameters }];
  });
  if (new Set(tools.map(({ name }) => name)).size < tools.length) {
    throw wrong("tools", "Tool names must be unique.");
  }
  return tools;
}

function readChoice(value: JsonValue, tools: readonly JsonValue[]): ModelRequest["toolChoice"] {
  const choice = readObject(value, "tool_choice");
  const type = readOneOf(choice["type"], "tool_choice.type", ["auto", "any", "tool", "none"]);
  if (tools.length === 0) throw wrong("tool_choice", "may only be specified while providing tools.");
  if (type !== "tool") return type === "any" ? "required" : type;
  const name = readString(choice["name"], "tool_choice.name");
  if (!tools.some((tool) => isObject(tool) && tool["name"] === name))
    throw wrong("tool_choice", `Tool '${name}' not found in provided tools`);
  return { name };
}

function readThinking(value: JsonValue, limit: number | undefined): "no" | "adaptive" | "budget" {
  const thinking = readOnly(value, "thinking", ["type", "budget_tokens", "display"]);
  const type = readOneOf(thinking["type"], "thinking.type", [
    "enabled",
    "adaptive",
    "between_tools",
    "disabled",
  ]);
  if (type !== "enabled") return type === "disabled" ? "no" : "adaptive";
  const budget = readRequired(thinking["budget_tokens"], "thinking.enabled.budget_tokens", readNumber);
  if (budget < 1_024)
    throw wrong("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024");
  if (limit !== undefined && budget >= limit) {
    throw wrong("max_tokens", "must be greater than `thinking.budget_tokens`");
  }
  return "budget";
}

function readConfig(value: JsonValue): Pick<ModelRequest, "output" | "reasoning"> {
  const config = readOnly(value, "output_config", ["effort", "format"]);
  const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
  const effort = readOptional(config["effort"], "output_config.effort", (word, at) =>
    readOneOf(word, at, efforts),
  );
  const schema = readOptional(config["format"], "output_config.format", readFormat);
  return {
    ...(effort === "low" || effort === "medium" || effort === "high" ? { reasoning: { effort } } : {}),
    ...(schema === undefined ? {} : { output: { name: "output", schema } }),
  };
}

function readFormat(value: JsonValue, path: string): JsonObject {
  const format = readOnly(value, path, ["type", "schema"]);
  readOneOf(format["type"], `${path}.type`, ["json_schema"]);
  const { "~standard": _, ...schema } = readRequired(format["schema"], `${path}.schema`, readObject);
  checkClosed(schema, `${path}.schema`);
  return schema;
}

/** Requires `additionalProperties: false` in every object schema. Whatever has `type: "object"` is taken for one. */
function checkClosed(value: JsonValue | undefined, path: string): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) checkClosed(item, path);
    return;
  }
  const schema = readObject(value, path);
  if (schema["type"] === "object" && schema["additionalProperties"] !== false) {
    throw wrong(path, "For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  for (const inner of Object.values(schema)) checkClosed(inner, path);
}

function readShare(value: JsonValue, path: string): number {
  const share = readNumber(value, path);
  if (share >= 0 && share <= 1) return share;
  throw wrong(path, "range: 0..1");
}

function readStops(value: JsonValue, path: string): readonly string[] {
  return readList(value, path).map((item, at) => {
    const text = readString(item, `${path}.${at}`);
    if (text.trim() === "") throw wrong(path, "each stop sequence must contain non-whitespace");
    return text;
  });
}
