import type { JsonObject, ModelRequest } from "@ravi/kernel";
import { inputSchema, isObject, listOf } from "@ravi/kernel/provider";
import type { FunctionTool } from "openai/resources/responses/responses";
import type { RequestBody, Target } from "../wire/protocol.ts";
import { completeBody } from "../request/complete-body.ts";
import { outputFormat } from "../request/output-format.ts";
import { perTool } from "../request/per-tool.ts";
import { strictSchema } from "../request/strict.ts";
import { inputItems } from "./input.ts";

/**
 * The body of a request. Nothing is stored at the server and no earlier answer is referred to: each request has the whole
 * conversation, so that it can be resumed, forked, compacted and continued elsewhere.
 */
export function responsesBody(request: ModelRequest, target: Target): RequestBody {
  const { tools = [], output, reasoning } = request;
  if (request.stop !== undefined && request.stop.length > 0)
    target.notice('stop sequences are left out: the Responses API does not support them; api: "chat" does');
  if (request.seed !== undefined)
    target.notice('the seed is left out: the Responses API does not support it; api: "chat" does');
  const body: Record<string, unknown> = {
    model: target.model,
    input: inputItems(request.messages, target),
    tools: tools.length === 0 ? undefined : tools.map(functionTool),
    tool_choice: tools.length === 0 ? undefined : toolChoice(request.toolChoice),
    text: output === undefined ? undefined : { format: { type: "json_schema", ...outputFormat(output) } },
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    reasoning: reasoningOf(reasoning),
    include: ["reasoning.encrypted_content"],
    store: false,
  };
  return completeBody(body, request, target, merge);
}

/** Merges `text` and `reasoning`, appends to `tools` and `include`, and replaces everything else. */
function merge(body: Record<string, unknown>, extra: JsonObject): void {
  for (const [key, value] of Object.entries(extra)) {
    const known = body[key];
    if ((key === "text" || key === "reasoning") && isObject(known) && isObject(value))
      body[key] = Object.assign({}, known, value);
    else if (key === "tools" || key === "include")
      body[key] = [...new Set([...listOf(known), ...listOf(value)])];
    else body[key] = value;
  }
}

function reasoningOf(reasoning: ModelRequest["reasoning"]): JsonObject | undefined {
  if (reasoning?.effort === undefined && reasoning?.summary !== true) return undefined;
  return {
    ...(reasoning.effort === undefined ? {} : { effort: reasoning.effort }),
    ...(reasoning.summary === true ? { summary: "auto" } : {}),
  };
}

const functionTool = perTool(({ name, description, parameters }): FunctionTool => {
  const strict = strictSchema(parameters);
  // `strict` is set even if it is false: if it is absent, the API makes the schema strict, and changes it for that.
  return {
    type: "function",
    name,
    description,
    parameters: { ...(strict ?? inputSchema(parameters)) },
    strict: strict !== undefined,
  };
});

function toolChoice(choice: ModelRequest["toolChoice"]): JsonObject | string | undefined {
  return typeof choice === "object" ? { type: "function", name: choice.name } : choice;
}
