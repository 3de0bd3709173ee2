import type { JsonObject, JsonValue, ModelRequest, ToolSpec } from "@ravi/kernel";
import { isObjectSchema } from "@ravi/kernel/provider";
import { readMessages } from "./chat-messages.ts";
import {
  present,
  readBoolean,
  readList,
  readName,
  readNumber,
  readObject,
  readOptional,
  readString,
} from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";

/** A Chat Completions request, read. */
export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Whether a stream ends with a chunk that has the usage. */
  readonly includeUsage: boolean;
  readonly request: ModelRequest;
}

/**
 * Reads what the kernel has a field for. Everything else (other kinds of `response_format`, `user`, …) is accepted, and a
 * script finds it in the body.
 */
export function readChatRequest(body: JsonObject): ChatRequest {
  const streamOptions = readOptional(body["stream_options"], "stream_options", readObject);
  const includeUsage = readOptional(
    streamOptions?.["include_usage"],
    "stream_options.include_usage",
    readBoolean,
  );
  const optional: Partial<ModelRequest> = {
    tools: readOptional(body["tools"], "tools", readTools),
    toolChoice: readOptional(body["tool_choice"], "tool_choice", readToolChoice),
    output: readOptional(body["response_format"], "response_format", readOutput),
    maxOutputTokens: readOptional(
      body["max_completion_tokens"] ?? body["max_tokens"],
      "max_completion_tokens",
      readNumber,
    ),
    temperature: readOptional(body["temperature"], "temperature", readNumber),
    topP: readOptional(body["top_p"], "top_p", readNumber),
    stop: readOptional(body["stop"], "stop", readStop),
    seed: readOptional(body["seed"], "seed", readNumber),
    reasoning: readOptional(body["reasoning_effort"], "reasoning_effort", readReasoning),
  };
  return {
    model: readString(body["model"], "model"),
    stream: readOptional(body["stream"], "stream", readBoolean) ?? false,
    includeUsage: includeUsage ?? false,
    request: {
      messages: readMessages(body["messages"]),
      ...present(optional),
    },
  };
}

function readTools(value: JsonValue, param: string): readonly ToolSpec[] {
  return readList(value, param).map((item, index) => {
    const at = `${param}[${index}].function`;
    return readFunction(readObject(readObject(item, `${param}[${index}]`)["function"], at), at);
  });
}

export function readFunction(target: JsonObject, at: string): ToolSpec {
  return {
    name: readName(target["name"], `${at}.name`),
    description: readOptional(target["description"], `${at}.description`, readString) ?? "",
    parameters: readOptional(target["parameters"], `${at}.parameters`, readParameters) ?? {},
  };
}

function readToolChoice(value: JsonValue, param: string): ModelRequest["toolChoice"] {
  if (value === "auto" || value === "none" || value === "required") return value;
  const target = readObject(readObject(value, param)["function"], `${param}.function`);
  return { name: readString(target["name"], `${param}.function.name`) };
}

function readOutput(value: JsonValue, param: string): ModelRequest["output"] {
  const format = readObject(value, param);
  if (format["type"] !== "json_schema") return undefined;
  const described = readObject(format["json_schema"], `${param}.json_schema`);
  const schema = readOptional(described["schema"], `${param}.json_schema.schema`, readParameters) ?? {};
  return { name: readString(described["name"], `${param}.json_schema.name`), schema };
}

function readStop(value: JsonValue, param: string): readonly string[] {
  if (typeof value === "string") return [value];
  return readList(value, param).map((item, index) => readString(item, `${param}[${index}]`));
}

function readReasoning(value: JsonValue, param: string): ModelRequest["reasoning"] {
  const effort = effortOf(readString(value, param));
  return effort && { effort };
}

/** Undefined for an effort that only some models know: the kernel has no value for it. */
export function effortOf(word: string | undefined): (typeof EFFORTS)[number] | undefined {
  return EFFORTS.find((effort) => effort === word);
}

const EFFORTS = ["minimal", "low", "medium", "high"] as const;

/** Like OpenAI, accepts only object schemas, for a tool and for an answer. */
export function readParameters(value: JsonValue | undefined, param: string): ToolSpec["parameters"] {
  const { "~standard": _, ...schema } = readObject(value, param);
  if (isObjectSchema(schema)) return schema;
  const type = JSON.stringify(schema["type"] ?? "None");
  const message = `Invalid schema in '${param}': schema must be a JSON Schema of 'type: "object"', got 'type: ${type}', without 'oneOf', 'anyOf', 'allOf', 'enum' or 'not' at the top level.`;
  throw new RefusedRequest({ status: 400, message, param, code: "invalid_function_parameters" });
}
