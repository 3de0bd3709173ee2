import type { Tool, ToolChoice } from "@anthropic-ai/sdk/resources/messages";
import type { JsonObject, ModelRequest, ToolSpec } from "@ravi/kernel";
import { inputSchema, isObject, listOf, type Notice } from "@ravi/kernel/provider";
import type { KnownModel } from "../models.ts";
import type { AnthropicOptions } from "../options.ts";
import { cacheControl, markLast, markTurns } from "./cache.ts";
import { toConversation } from "./conversation.ts";
import { type OutputPlan, planOutput } from "./output.ts";
import { effortFor, thinkingFor } from "./thinking.ts";

export type Body = Readonly<Record<string, unknown>>;

export interface Target {
  readonly model: string;
  readonly provider: string;
  /** Whether it is a server of Anthropic. */
  readonly isOwn: boolean;
  readonly known: KnownModel;
  /** The limit if the request has none. */
  readonly maxOutputTokens: number;
  readonly options: Pick<AnthropicOptions, "apiVersion" | "cache" | "thinking">;
  /** Whether the server has refused structured output before. */
  readonly refusesFormat: boolean;
  /** Whether the server lets no tool be demanded. */
  readonly refusesForce: boolean;
  /** The seals of thoughts and of tools' images that the server could not read. */
  readonly unreadable: ReadonlySet<string>;
  readonly notice: Notice;
}

export interface Prepared {
  readonly body: Body;
  /** The tool that the model calls to give its answer, if structured output is not used. */
  readonly outputTool: string | undefined;
  /** The seals of the thoughts in it. */
  readonly thoughts: readonly string[];
  /** The seals of the tools' images in it. */
  readonly images: readonly string[];
}

/** From this version on the API refuses sampling settings, even with their default values. */
const WITHOUT_SAMPLING = "2026-10-21";

/** The body of a request, without `stream`. */
export function prepare(request: ModelRequest, target: Target): Prepared {
  const { notice, options } = target;
  const { provider, isOwn, unreadable } = target;
  const conversation = toConversation(request.messages, provider, notice, isOwn, unreadable);
  const specs = request.tools ?? [];
  const output = planOutput({
    output: request.output,
    toolNames: specs.map(({ name }) => name),
    isRefused: target.refusesFormat,
    notice,
  });
  const tools = toolsFor(specs, output, conversation.toolNames);
  const choice = choiceFor(request, specs, output, { hasTools: tools.length > 0, ...target });
  const maxTokens = request.maxOutputTokens ?? target.maxOutputTokens;
  const isForced = choice?.type === "any" || choice?.type === "tool";
  const question = { asked: request.reasoning, model: target.known };
  const thinking = thinkingFor({
    ...question,
    option: options.thinking,
    maxTokens,
    isForced,
    turns: conversation.messages,
    notice,
  });
  const format = output?.by === "format" ? { type: "json_schema", schema: output.schema } : undefined;
  const effort = effortFor(question);
  const control = cacheControl(options.cache ?? "5m");
  const { system, messages } = conversation;
  const body: Record<string, unknown> = {
    model: target.model,
    max_tokens: maxTokens,
    // The server reads the tools before the system prompt, so one cache mark on the system prompt covers both.
    tools: tools.length === 0 ? undefined : markLast(tools, system.length === 0 ? control : undefined),
    tool_choice: choice,
    system: system.length === 0 ? undefined : markLast(system, control),
    messages: markTurns(messages, control),
    stop_sequences: stopSequences(request.stop, notice),
    thinking,
    output_config:
      format === undefined && effort === undefined
        ? undefined
        : { ...(effort === undefined ? {} : { effort }), ...(format === undefined ? {} : { format }) },
    ...sampling(request, options.apiVersion, thinking !== undefined && thinking.type !== "disabled", notice),
  };
  for (const name of new Set(["anthropic", target.provider])) merge(body, request.providerOptions?.[name]);
  // The caller cannot override this: the answer is read as it was asked for.
  delete body["stream"];
  return {
    body: Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)),
    outputTool: output?.by === "tool" ? output.tool.name : undefined,
    thoughts: conversation.thoughts,
    images: conversation.images,
  };
}

/** Appends tools (`web_search`, for example), merges `output_config`, and replaces everything else. */
function merge(body: Record<string, unknown>, extra: JsonObject | undefined): void {
  if (extra === undefined) return;
  const { tools, output_config: config, ...rest } = extra;
  Object.assign(body, rest);
  if (tools !== undefined) body["tools"] = [...listOf(body["tools"]), ...listOf(tools)];
  const own = body["output_config"];
  if (config !== undefined) {
    body["output_config"] = isObject(own) && isObject(config) ? { ...own, ...config } : config;
  }
}

const translated = new WeakMap<ToolSpec, Tool>();

function toolsFor(
  specs: readonly ToolSpec[],
  output: OutputPlan | undefined,
  called: readonly string[],
): Tool[] {
  const tools = specs.map((spec) => {
    let tool = translated.get(spec);
    if (tool === undefined) {
      const { name, description, parameters } = spec;
      tool = {
        name,
        ...(description === "" ? {} : { description }),
        input_schema: inputSchema(parameters),
      };
      translated.set(spec, tool);
    }
    return tool;
  });
  if (output?.by === "tool") tools.push(output.tool);
  if (tools.length > 0) return tools;
  // Some servers refuse a conversation with tool calls if no tools are defined.
  return called.map((name) => ({
    name,
    description: "No longer available.",
    input_schema: { type: "object" },
  }));
}

function choiceFor(
  request: ModelRequest,
  specs: readonly ToolSpec[],
  output: OutputPlan | undefined,
  { hasTools, refusesForce }: { readonly hasTools: boolean; readonly refusesForce: boolean },
): ToolChoice | undefined {
  const { toolChoice } = request;
  if (output?.by === "tool") {
    if (refusesForce) return { type: "auto" };
    // If there are other tools, the model may call one of them or give its answer.
    const isOnly = specs.length === 0 || toolChoice === "none";
    // Two answers, which models give if they may, would not be JSON together.
    return isOnly
      ? { type: "tool", name: output.tool.name, disable_parallel_tool_use: true }
      : { type: "any" };
  }
  if (specs.length === 0) return hasTools ? { type: "none" } : undefined;
  if (typeof toolChoice === "object") return { type: "tool", name: toolChoice.name };
  if (toolChoice === undefined) return undefined;
  return { type: toolChoice === "required" ? "any" : toolChoice };
}

function stopSequences(stop: ModelRequest["stop"], notice: Notice): readonly string[] | undefined {
  if (stop === undefined || stop.length === 0) return undefined;
  const usable = stop.filter((text) => text.trim() !== "");
  if (usable.length < stop.length) notice("a stop sequence of only whitespace is left out");
  return usable.length === 0 ? undefined : usable;
}

function sampling(
  { temperature, topP, seed }: ModelRequest,
  version: string | undefined,
  isThinking: boolean,
  notice: Notice,
): Body {
  if (seed !== undefined) notice("seed is left out: this API does not support it");
  if (temperature === undefined && topP === undefined) return {};
  if (isThinking || (version ?? WITHOUT_SAMPLING) >= WITHOUT_SAMPLING) {
    const why = isThinking ? "while the model thinks" : `since API version ${WITHOUT_SAMPLING}`;
    notice(`temperature and topP are left out: the API refuses them ${why}`);
    return {};
  }
  // Newer models accept only one of the two.
  return temperature === undefined ? { top_p: topP } : { temperature };
}
