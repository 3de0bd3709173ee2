import {
  errorToJSON,
  HookEvent,
  type HookPayloads,
  type LLMClient,
  type LlmLeaf,
  type ModelResponse,
  type Span,
} from "@ravi/kernel";
import { tellOwn } from "@ravi/kernel/loop";
import type { Bill } from "./money/bill.ts";
import type { Execution } from "./execution.ts";
import { endModelSpan, startModelSpan } from "./model-span.ts";
import { within } from "./observe.ts";

// What hooks and observers are told of a model call, whether the agent or a tool has made it.

/** The model call that is reported. */
export interface ReportedCall extends Pick<LlmLeaf, "model" | "request"> {
  readonly key: string;
  /** The model that it was sent to last: a layer may have replaced the agent's. Default: `model`. */
  readonly sentTo?: Pick<LLMClient, "info"> | undefined;
}

/** The end of a model call, as it is reported. It has failed if there is no response. */
export interface ReportedEnd {
  readonly response: ModelResponse | undefined;
  readonly error: unknown;
  readonly started: number;
  readonly replayed: boolean;
}

/** What it has cost. */
export type ReportedBill = Pick<Bill, "usage" | "costUsd" | "estimated"> & Partial<Pick<Bill, "waitedMs">>;

// Payloads are written out, because a spread takes longer than everything else here.

/** Reports the start of a call to hooks, if any of them listens. */
export function reportCallStart(
  exec: Execution,
  { key, model, request }: ReportedCall,
  at: number,
  replayed = false,
): void {
  if (!exec.hooks.has(HookEvent.LLM_START)) return;
  const { runId, sessionId } = exec.supervision;
  const { provider, model: name } = model.info;
  const payload = {
    agentName: exec.name,
    agentId: exec.agentId,
    runId,
    execId: exec.execId,
    sessionId,
    at,
    key,
    provider,
    model: name,
    messageCount: request.messages.length,
  };
  tellOwn(exec.hooks, HookEvent.LLM_START, replayed ? { ...payload, replayed } : payload);
}

/** Reports the end of a call. Returns the time that hooks were told; undefined if none of them listens. */
export function reportCallEnd(
  exec: Execution,
  { key, model, sentTo = model }: ReportedCall,
  end: ReportedEnd,
  { usage, costUsd, estimated }: ReportedBill,
): number | undefined {
  const { response, error, started, replayed } = end;
  if (!replayed) exec.emit({ type: "usage", usage, costUsd });
  if (!exec.hooks.has(HookEvent.LLM_END)) return undefined;
  const { runId, sessionId } = exec.supervision;
  const { provider, model: name } = sentTo.info;
  const at = exec.ports.clock.now();
  const payload = {
    agentName: exec.name,
    agentId: exec.agentId,
    runId,
    execId: exec.execId,
    sessionId,
    at,
    key,
    provider,
    model: name,
    status: response === undefined ? ("error" as const) : ("ok" as const),
    // Copied, because the payload is frozen, and observers and the record hold the same object.
    usage: { ...usage },
    costUsd,
    durationMs: Math.max(0, at - started),
    finishReason: response?.finishReason,
  };
  const isUsual = response !== undefined && error === undefined && !replayed && !estimated;
  tellOwn(exec.hooks, HookEvent.LLM_END, isUsual ? payload : withOptionalFields(payload, end, estimated));
  return at;
}

function withOptionalFields(
  { finishReason, ...payload }: HookPayloads["llm_end"],
  { response, error, replayed }: ReportedEnd,
  estimated: boolean,
): HookPayloads["llm_end"] {
  return {
    ...payload,
    ...(replayed && { replayed }),
    ...(estimated && { estimated }),
    ...(response !== undefined && { finishReason }),
    ...(error !== undefined && { error: errorToJSON(error) }),
  };
}

/**
 * Makes a model call inside of another effect, and reports its start and end. `bill` is a bill for this call alone, `around` the span of
 * the effect.
 */
export async function makeReported(
  exec: Execution,
  call: ReportedCall,
  bill: Bill,
  around: Span | undefined,
  make: () => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const started = exec.ports.clock.now();
  reportCallStart(exec, call, started);
  const span = startModelSpan(exec, call, around);
  const report = (response: ModelResponse | undefined, error?: unknown): void => {
    endModelSpan(exec, span, call, { response, error }, bill);
    reportCallEnd(exec, call, { response, error, started, replayed: false }, bill);
  };
  try {
    const response = await (span === undefined ? make() : within(exec, span, make));
    report(response);
    return response;
  } catch (error) {
    report(undefined, error);
    throw error;
  }
}
