import type { JsonObject, JsonValue, ModelRequest, ToolSpec } from "@ravi/kernel";
import { effortOf, readFunction, readParameters } from "./chat-request.ts";
import {
  present,
  invalid,
  readBoolean,
  readKnown,
  readList,
  readNumber,
  readObject,
  readOptional,
  readString,
} from "./read-json.ts";
import { RefusedRequest } from "./refusal.ts";
import { readInput } from "./responses-input.ts";

/** A Responses request, read. */
export interface ResponsesRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Whether reasoning is returned in sealed form, to be sent back in the next turn. */
  readonly sealsReasoning: boolean;
  readonly request: ModelRequest;
}

/** The parameters of OpenAI. Like OpenAI, and unlike the Chat Completions endpoint here, any other is refused. */
const PARAMETERS = [
  "access_programs",
  "background",
  "context_management",
  "conversation",
  "image",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "moderation",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
];

export function readResponsesRequest(
  value: JsonValue,
  options: { readonly checkToolPairs: boolean },
): ResponsesRequest {
  const body = readKnown(value, "body", PARAMETERS);
  refuseState(body);
  const instructions = readOptional(body["instructions"], "instructions", readString);
  const include = readOptional(body["include"], "include", readList) ?? [];
  const optional: Partial<ModelRequest> = {
    tools: readOptional(body["tools"], "tools", readTools),
    toolChoice: readOptional(body["tool_choice"], "tool_choice", readToolChoice),
    output: readOptional(body["text"], "text", readOutput),
    maxOutputTokens: readOptional(body["max_output_tokens"], "max_output_tokens", readNumber),
    temperature: readOptional(body["temperature"], "temperature", readNumber),
    topP: readOptional(body["top_p"], "top_p", readNumber),
    reasoning: readOptional(body["reasoning"], "reasoning", readReasoning),
  };
  return {
    model: readString(body["model"], "model"),
    stream: readOptional(body["stream"], "stream", readBoolean) ?? false,
    sealsReasoning: include.includes("reasoning.encrypted_content"),
    request: {
      messages: [
        ...(instructions === undefined ? [] : [{ role: "system", content: instructions } as const]),
        ...readInput(body["input"], options),
      ],
      ...present(optional),
    },
  };
}

/** The server stores nothing between two requests, so a request cannot refer to an earlier one. */
function refuseState(body: JsonObject): void {
  for (const param of ["previous_response_id", "conversation", "prompt", "background"]) {
    const given = body[param];
    if (given === undefined || given === null || given === false) continue;
    const message = `'${param}' is not served here: this server keeps nothing between two requests; send the whole conversation as 'input'`;
    throw new RefusedRequest({ status: 400, message, param, code: "unsupported_parameter" });
  }
}

const FUNCTION_FIELDS = [
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "allowed_callers",
  "async",
  "defer_loading",
  "output_schema",
];

/** Reads function tools only. The kernel has no type for tools that run on the server; a script finds them in the body. */
function readTools(value: JsonValue, param: string): readonly ToolSpec[] {
  return readList(value, param).flatMap((item, index) => {
    const at = `${param}[${index}]`;
    const tool = readObject(item, at);
    if (readString(tool["type"], `${at}.type`) !== "function") return [];
    readKnown(tool, at, FUNCTION_FIELDS);
    readOptional(tool["strict"], `${at}.strict`, readBoolean);
    return [readFunction(tool, at)];
  });
}

function readToolChoice(value: JsonValue, param: string): ModelRequest["toolChoice"] {
  if (value === "auto" || value === "none" || value === "required") return value;
  const choice = readObject(value, param);
  return choice["type"] === "function" ? { name: readString(choice["name"], `${param}.name`) } : undefined;
}

function readOutput(value: JsonValue, param: string): ModelRequest["output"] {
  const text = readKnown(value, param, ["format", "verbosity"]);
  const format = readOptional(text["format"], `${param}.format`, readObject);
  if (format === undefined || format["type"] !== "json_schema") return undefined;
  return {
    name: readString(format["name"], `${param}.format.name`),
    schema: readParameters(format["schema"], `${param}.format.schema`),
  };
}

function readReasoning(value: JsonValue, param: string): ModelRequest["reasoning"] {
  const reasoning = readKnown(value, param, ["effort", "summary", "generate_summary", "mode", "context"]);
  const effort = effortOf(readOptional(reasoning["effort"], `${param}.effort`, readString));
  const summary = readOptional(reasoning["summary"], `${param}.summary`, readString);
  if (summary !== undefined && !["auto", "concise", "detailed"].includes(summary))
    throw invalid(`${param}.summary`, "one of auto, concise, detailed");
  return {
    ...(effort !== undefined && { effort }),
    ...(summary !== undefined && { summary: true }),
  };
}
