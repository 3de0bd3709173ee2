import type { Attributes } from "@opentelemetry/api";
import { agentName, type AgentId, type JsonObject, type JsonValue, Priority } from "@ravi/kernel";

// The names of OpenTelemetry's conventions for generative AI, version 1.41. They are written here because the package that has them marks
// them as experimental, and removes names in its minor versions.

/** What a span is about. */
export type Operation = "chat" | "execute_tool" | "invoke_agent";

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "ravi.run": "invoke_agent",
  "ravi.hire": "invoke_agent",
  "ravi.llm": "chat",
  "ravi.tool": "execute_tool",
};

/** Attributes that have a name in the conventions. Any other gets a name below `ravi.`. */
const NAMES: Readonly<Record<string, string>> = {
  agentId: "gen_ai.agent.id",
  agentVersion: "gen_ai.agent.version",
  sessionId: "gen_ai.conversation.id",
  userId: "user.id",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  maxOutputTokens: "gen_ai.request.max_tokens",
  temperature: "gen_ai.request.temperature",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReason: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tool: "gen_ai.tool.name",
  callId: "gen_ai.tool.call.id",
  runId: "ravi.run.id",
  execId: "ravi.exec.id",
  parentId: "ravi.parent.id",
  tenantId: "ravi.tenant.id",
  key: "ravi.call.key",
};

/** The conventions' names of providers, by those that are usual elsewhere. */
const PROVIDERS: Readonly<Record<string, string>> = {
  "amazon-bedrock": "aws.bedrock",
  azure: "azure.ai.openai",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  vertex: "gcp.vertex_ai",
  xai: "x_ai",
};

const FINISH_REASONS: Readonly<Record<string, string>> = {
  toolCalls: "tool_call",
  filtered: "content_filter",
};

const PRIORITIES = new Map<JsonValue, string>(
  Object.entries(Priority).map(([name, weight]) => [weight, name]),
);

/** Undefined for a span that is not the runtime's own, such as one of a layer. */
export function operationOf(name: string): Operation | undefined {
  return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
}

/** The name that is shown: `chat gpt-5-mini`. It has no ids, because backends group spans by it. */
export function titleOf(name: string, { agentId, model, tool }: JsonObject): string {
  const operation = operationOf(name);
  if (operation === undefined) return name;
  const of = { chat: model, execute_tool: tool, invoke_agent: nameOfAgent(agentId) }[operation];
  return typeof of === "string" ? `${operation} ${of}` : operation;
}

/** The attributes of a span of the runtime when it starts. */
export function attributesOf(name: string, given: JsonObject): Attributes {
  const operation = operationOf(name);
  const attributes: Attributes = {};
  if (operation !== undefined) attributes["gen_ai.operation.name"] = operation;
  if (operation === "execute_tool") attributes["gen_ai.tool.type"] = "function";
  const agent = nameOfAgent(given["agentId"]);
  if (agent !== undefined) attributes["gen_ai.agent.name"] = agent;
  return Object.assign(attributes, renamed(given));
}

export function renamed(given: JsonObject): Attributes {
  const attributes: Attributes = {};
  for (const [key, value] of Object.entries(given))
    if (value !== undefined && value !== null) attributes[otelName(key)] = otelValue(key, value);
  return attributes;
}

/** A name with a dot is one of OpenTelemetry already: layers give such names. */
export function otelName(key: string): string {
  if (key.includes(".")) return key;
  return (Object.hasOwn(NAMES, key) ? NAMES[key] : undefined) ?? `ravi.${snakeCase(key)}`;
}

export function otelValue(key: string, value: JsonValue): string | number | boolean | string[] {
  if (otelName(key) === NAMES["provider"] && typeof value === "string") return known(PROVIDERS, value);
  // One answer has one reason, but the conventions want a list.
  if (otelName(key) === NAMES["finishReason"] && typeof value === "string") return [finishReason(value)];
  if (key === "priority") return PRIORITIES.get(value) ?? plain(value);
  return plain(value);
}

export function finishReason(reason: string): string {
  return known(FINISH_REASONS, reason);
}

function known(names: Readonly<Record<string, string>>, name: string): string {
  return (Object.hasOwn(names, name) ? names[name] : undefined) ?? name;
}

function plain(value: JsonValue): string | number | boolean {
  return typeof value === "object" ? JSON.stringify(value) : value;
}

function nameOfAgent(id: JsonValue | undefined): string | undefined {
  return typeof id === "string" ? agentName(id as AgentId) : undefined;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
