import type { JsonObject, ModelRequest } from "@ravi/kernel";
import { inputSchema } from "@ravi/kernel/provider";
import type {
  ChatCompletionFunctionTool,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import type { RequestBody, Target } from "../wire/protocol.ts";
import { completeBody } from "../request/complete-body.ts";
import { outputFormat } from "../request/output-format.ts";
import { perTool } from "../request/per-tool.ts";
import { strictSchema } from "../request/strict.ts";
import { chatMessages } from "./messages.ts";

/**
 * The body of a request. What does not change from call to call (model, tools, the beginning of the conversation) is always written
 * in the same way and order, so that the server's prompt cache can find it.
 */
export function chatBody(request: ModelRequest, target: Target): RequestBody {
  const { tools = [], output } = request;
  // Most other servers know only the older name. They would ignore the newer one, and with it the limit.
  const limit = target.isCompatible ? "max_tokens" : "max_completion_tokens";
  const body: Record<string, unknown> = {
    model: target.model,
    messages: chatMessages(request.messages, target),
    tools: tools.length === 0 ? undefined : tools.map(functionTool),
    tool_choice: tools.length === 0 ? undefined : toolChoice(request.toolChoice),
    response_format:
      output === undefined ? undefined : { type: "json_schema", json_schema: outputFormat(output) },
    [limit]: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop?.length === 0 ? undefined : request.stop,
    seed: request.seed,
    reasoning_effort: request.reasoning?.effort,
    stream_options: target.stream ? { include_usage: true } : undefined,
  };
  return completeBody(body, request, target, merge);
}

/** If the caller sets the limit of output tokens under one name, the other one is removed. */
function merge(body: Record<string, unknown>, extra: JsonObject): void {
  if ("max_tokens" in extra) body["max_completion_tokens"] = undefined;
  if ("max_completion_tokens" in extra) body["max_tokens"] = undefined;
  Object.assign(body, extra);
}

const functionTool = perTool(({ name, description, parameters }): ChatCompletionFunctionTool => {
  const strict = strictSchema(parameters);
  return {
    type: "function",
    function: {
      name,
      description,
      parameters: strict ?? inputSchema(parameters),
      ...(strict === undefined ? {} : { strict: true }),
    },
  };
});

function toolChoice(choice: ModelRequest["toolChoice"]): ChatCompletionToolChoiceOption | undefined {
  return typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice;
}
