import type { JsonObject, ModelRequest, ToolSpec } from "@ravi/kernel";
import type {
  ChatCompletionFunctionTool,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import { chatMessages } from "./messages.ts";
import { strictSchema } from "./strict.ts";

export type ChatBody = Readonly<Record<string, unknown>>;

export interface ChatTarget {
  readonly model: string;
  readonly provider: string;
  /** Not OpenAI's own: most know the older `max_tokens` only, and would ignore the newer name, and so the limit. */
  readonly isCompatible: boolean;
  readonly stream: boolean;
}

/**
 * The body of a request. What stays the same from call to call (model, tools, the beginning of the conversation) is written
 * the same, in the same order, so that a server's prompt cache finds it again.
 */
export function chatBody(request: ModelRequest, target: ChatTarget): ChatBody {
  const { tools = [], output, providerOptions = {} } = request;
  const limit = target.isCompatible ? "max_tokens" : "max_completion_tokens";
  const body: Record<string, unknown> = {
    model: target.model,
    messages: chatMessages(request.messages),
    tools: tools.length === 0 ? undefined : tools.map(functionTool),
    tool_choice: tools.length === 0 ? undefined : toolChoice(request.toolChoice),
    response_format: output === undefined ? undefined : responseFormat(output),
    [limit]: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop?.length === 0 ? undefined : request.stop,
    seed: request.seed,
    reasoning_effort: request.reasoning?.effort,
    stream_options: target.stream ? { include_usage: true } : undefined,
  };
  for (const name of new Set(["openai", target.provider])) merge(body, providerOptions[name]);
  // Not to be overruled: what is read has to be what was asked for.
  body["stream"] = target.stream ? true : undefined;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** Whoever names the limit of the answer by another name does not want it twice. */
function merge(body: Record<string, unknown>, extra: JsonObject | undefined): void {
  if (extra === undefined) return;
  if ("max_tokens" in extra) body["max_completion_tokens"] = undefined;
  if ("max_completion_tokens" in extra) body["max_tokens"] = undefined;
  Object.assign(body, extra);
}

const tools = new WeakMap<ToolSpec, ChatCompletionFunctionTool>();

function functionTool(spec: ToolSpec): ChatCompletionFunctionTool {
  let tool = tools.get(spec);
  if (tool === undefined) {
    const { name, description, parameters } = spec;
    const strict = strictSchema(parameters);
    tool = {
      type: "function",
      function: {
        name,
        description,
        parameters: strict ?? parameters,
        ...(strict === undefined ? {} : { strict: true }),
      },
    };
    tools.set(spec, tool);
  }
  return tool;
}

function toolChoice(choice: ModelRequest["toolChoice"]): ChatCompletionToolChoiceOption | undefined {
  return typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice;
}

function responseFormat({ name, schema }: NonNullable<ModelRequest["output"]>): JsonObjectLike {
  const strict = strictSchema(schema);
  return {
    type: "json_schema",
    json_schema: {
      name: name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "output",
      schema: strict ?? schema,
      ...(strict === undefined ? {} : { strict: true }),
    },
  };
}

type JsonObjectLike = Readonly<Record<string, unknown>>;
