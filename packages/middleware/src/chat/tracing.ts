import {
  type ChatContext,
  type JsonObject,
  type ModelResponse,
  type Span,
  type Telemetry,
  checkBoolean,
  checkFields,
  textOf,
} from "@ravi/kernel";
import { checkPort, quietly } from "@ravi/kernel/loop";
import type { ChatMiddleware } from "../types.ts";

export interface TracingOptions {
  readonly telemetry: Telemetry;
  /** Whether the answer's text is recorded in the span. Default: false, because it may be personal. */
  readonly recordContent?: boolean | undefined;
}

/**
 * Makes a span around each model call, with the attributes of OpenTelemetry's `gen_ai` conventions. Errors of the telemetry are
 * ignored: an answer that was paid for must not be lost.
 */
export function tracing(options: TracingOptions): ChatMiddleware {
  checkFields("tracing", options, ["telemetry", "recordContent"]);
  const { telemetry } = options;
  checkPort("tracing.telemetry", telemetry, ["startSpan", "metric"]);
  const recordContent = checkBoolean("tracing.recordContent", options.recordContent ?? false);
  return {
    level: "chat",
    name: "tracing",
    async process(context, next) {
      if (telemetry.isNoop === true) return next();
      const began = context.clock.now();
      const { provider, model } = context.model.info;
      const span = quietly(() => telemetry.startSpan(`chat ${model}`, attributesOf(context)));
      try {
        await next();
        quietly(() => describeResult(span, context, recordContent));
      } catch (error) {
        quietly(() => span?.recordError(error));
        throw error;
      } finally {
        const seconds = Math.max(0, context.clock.now() - began) / 1_000;
        quietly(() =>
          telemetry.metric("gen_ai.client.operation.duration", seconds, {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
          }),
        );
        quietly(() => span?.end());
      }
      return undefined;
    },
  };
}

function attributesOf({ agentName, meta, model, request }: ChatContext): JsonObject {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": model.info.provider,
    "gen_ai.request.model": model.info.model,
    "gen_ai.request.max_tokens": request.maxOutputTokens,
    "gen_ai.request.temperature": request.temperature,
    "gen_ai.agent.name": agentName,
    "ravi.run.id": meta.runId,
    "ravi.exec.id": meta.execId,
  };
}

function describeResult(span: Span | undefined, { result }: ChatContext, recordContent: boolean): void {
  if (span === undefined || result === undefined) return;
  span.setAttribute("gen_ai.response.finish_reasons", result.finishReason);
  if (result.model !== undefined) span.setAttribute("gen_ai.response.model", result.model);
  if (result.id !== undefined) span.setAttribute("gen_ai.response.id", result.id);
  if (result.usage !== undefined) {
    span.setAttribute("gen_ai.usage.input_tokens", result.usage.inputTokens);
    span.setAttribute("gen_ai.usage.output_tokens", result.usage.outputTokens);
  }
  if (recordContent) span.setAttribute("gen_ai.output.messages", JSON.stringify([outputOf(result)]));
}

/** The reasons that have another name in the conventions. */
const REASONS: Partial<Record<ModelResponse["finishReason"], string>> = {
  toolCalls: "tool_call",
  filtered: "content_filter",
};

/** An answer in the form of the conventions. */
function outputOf({ message, finishReason }: ModelResponse): JsonObject {
  const parts = [{ type: "text", content: textOf(message) }];
  return { role: message.role, parts, finish_reason: REASONS[finishReason] ?? finishReason };
}
