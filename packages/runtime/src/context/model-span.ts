import type { ModelResponse, Span } from "@ravi/kernel";
import type { Execution } from "./execution.ts";
import { addContent, endSpan, isMeasured, startSpan } from "./observe.ts";
import type { ReportedBill, ReportedCall } from "./report-call.ts";

/** Starts the span of a model call. Undefined if there is no telemetry. */
export function startModelSpan(
  exec: Execution,
  { key, model, request }: ReportedCall,
  parent: Span | undefined,
): Span | undefined {
  if (!isMeasured(exec)) return undefined;
  const { maxOutputTokens, temperature } = request;
  const attributes = {
    key,
    provider: model.info.provider,
    model: model.info.model,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
  };
  const span = startSpan(exec, "ravi.llm", attributes, parent);
  addContent(exec, span, () => ({ of: "request", request }));
  return span;
}

/** How a model call has ended. It has failed if there is no response. */
export interface ModelSpanEnd {
  readonly response: ModelResponse | undefined;
  readonly error: unknown;
}

/** Ends the span of a model call, with what it used and cost. */
export function endModelSpan(
  exec: Execution,
  span: Span | undefined,
  { model, sentTo = model }: ReportedCall,
  { response, error }: ModelSpanEnd,
  { usage, costUsd, estimated, waitedMs = 0 }: ReportedBill,
): void {
  if (span === undefined) return;
  if (response !== undefined) addContent(exec, span, () => ({ of: "response", response }));
  const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  endSpan(exec, span, error, {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
    costUsd,
    finishReason: response?.finishReason,
    responseModel: response?.model,
    responseId: response?.id,
    ...(response?.cached === true && { cached: true }),
    ...(estimated && { estimated }),
    // Otherwise the provider would seem to be slow.
    ...(waitedMs > 0 && { waitedMs }),
    // A layer has sent it to another model.
    ...(sentTo !== model && { provider: sentTo.info.provider, model: sentTo.info.model }),
  });
}
