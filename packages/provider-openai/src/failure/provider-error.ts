import { classifyError, ErrorKind, isRaviError, type RaviError } from "@ravi/kernel";
import {
  type ConnectionFault,
  type FailureContext as CallContext,
  type FailureVerdict,
  field,
  providerError,
  transportVerdict,
} from "@ravi/kernel/provider";
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { gatewayResetMs } from "./gateway-reset.ts";
import { ReportedError } from "./reported-error.ts";
import { fullMessage } from "./full-message.ts";

export interface FailureContext extends CallContext {
  /** The protocol that was used. */
  readonly api: "responses" | "chat";
  /** Whether the model had begun to answer. */
  readonly hasWorked: boolean;
}

/** Turns any error of a call into a `RaviError` without secrets. */
export function explain(error: unknown, context: FailureContext): RaviError {
  if (isRaviError(error)) return error;
  const carried = error instanceof APIError ? field(error, "headers") : undefined;
  const headers = carried instanceof Headers ? carried : context.headers;
  return providerError(error, judge(error, context), { ...context, headers });
}

function judge(error: unknown, { api, hasWorked, now }: FailureContext): FailureVerdict {
  const transport = transportVerdict(error, faultOf(error));
  if (transport !== undefined) return transport;
  const said = fullMessage(error);
  const { kind, retryable, status: told, retryAfterMs: asked } = classifyError(error);
  const retryAfterMs = asked ?? (kind === ErrorKind.RATE_LIMIT ? gatewayResetMs(error, now) : undefined);
  // A gateway writes the status of the server behind it into an answer that has begun. It is no refusal: the work may be charged for.
  const status = error instanceof ReportedError && hasWorked ? undefined : told;
  if (error instanceof ReportedError && kind === ErrorKind.UNKNOWN) {
    return { kind: ErrorKind.SERVER_ERROR, status, said };
  }
  const advice = isMissingEndpoint(error, status) ? (api === "responses" ? USE_CHAT : CHECK_URL) : "";
  return { kind, retryable, status, retryAfterMs, said, advice };
}

function faultOf(error: unknown): ConnectionFault | undefined {
  if (error instanceof APIConnectionTimeoutError) return "timed out";
  return error instanceof APIConnectionError ? "broken" : undefined;
}

const USE_CHAT =
  '; if this server has no Responses API (POST /responses), use Chat Completions: openai(model, { api: "chat" })';
const CHECK_URL = "; check that baseURL is the address of the API, including its /v1";

const MISSING_ITEM = /\b(?:model|item)\b.{0,200}(?:not exist|not found|unknown)|\bunknown model\b/i;

/** The error does not mention a model or an item that was not found, so the endpoint itself may not exist. */
function isMissingEndpoint(error: unknown, status: number | undefined): boolean {
  if (status !== 404 && status !== 405 && status !== 501) return false;
  const code = field(error, "code");
  if (typeof code === "string" && !/^(?:\d+|not_?found|unknown_url)$/i.test(code)) return false;
  return !(error instanceof Error && MISSING_ITEM.test(error.message));
}
