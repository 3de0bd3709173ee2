import {
  type Attributes,
  context,
  type Context,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { JsonObject, JsonValue, Telemetry } from "@ravi/sdk";

/**
 * Turns Ravi's spans into spans of OpenTelemetry, with the names of its `gen_ai` conventions. A run is inside of the span that is active
 * when it starts, a hired agent inside of the one that hired it, and a call inside of its agent.
 */
export function otelTelemetry(tracer: Tracer): Telemetry {
  const agents = new Map<string, Context>();
  return {
    isNoop: false,
    startSpan(name, attributes) {
      const { runId, agentId, parentId } = attributes;
      const isAgent = name === "ravi.run" || name === "ravi.hire";
      const own = JSON.stringify([runId, agentId]);
      const outer = agents.get(isAgent ? JSON.stringify([runId, parentId]) : own) ?? context.active();
      const span = tracer.startSpan(titleOf(name, attributes), { attributes: renamed(attributes) }, outer);
      if (isAgent) agents.set(own, trace.setSpan(outer, span));
      return {
        setAttribute: (key, value) => void span.setAttribute(NAMES[key] ?? `ravi.${key}`, value),
        recordError(error) {
          const message = error instanceof Error ? error.message : String(error);
          span.recordException(error instanceof Error ? error : message);
          span.setStatus({ code: SpanStatusCode.ERROR, message });
        },
        end() {
          span.end();
          if (isAgent) agents.delete(own);
        },
      };
    },
    // The runtime has none of its own; send those of your layers to a `Meter` of OpenTelemetry.
    metric() {},
  };
}

const NAMES: Readonly<Record<string, string>> = {
  agentId: "gen_ai.agent.id",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  tool: "gen_ai.tool.name",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
};

function titleOf(name: string, { agentId, model, tool }: JsonObject): string {
  if (name === "ravi.llm") return `chat ${plain(model)}`;
  if (name === "ravi.tool") return `execute_tool ${plain(tool)}`;
  return `invoke_agent ${plain(agentId)}`;
}

function renamed(attributes: JsonObject): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [NAMES[key] ?? `ravi.${key}`, plain(value)]),
  );
}

function plain(value: JsonValue | undefined): string | number | boolean {
  return typeof value === "object" || value === undefined ? JSON.stringify(value ?? null) : value;
}
