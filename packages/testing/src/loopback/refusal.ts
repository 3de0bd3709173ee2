import { type ErrorKind, isRaviError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { statusMessage } from "../answers/fault.ts";
import type { Plan } from "../answers/plan.ts";

/** An error response. The request is not charged. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Thrown while a request is read; the server turns it into a response. */
export class RefusedRequest extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The refusal that an answer stands for; undefined if it is a real answer. */
export function refusalOf(plan: Pick<Plan, "error" | "fault">): Refusal | undefined {
  if (plan.error !== undefined) return refusalOfError(plan.error);
  if (plan.fault?.type !== "status") return undefined;
  const { status, code, headers } = plan.fault;
  return { status, code, headers, message: statusMessage(plan.fault) };
}

const STATUS_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  RATE_LIMIT: 429,
  OVERLOADED: 503,
  SERVER_ERROR: 500,
  TIMEOUT: 504,
  CONTEXT_OVERFLOW: 400,
  UNKNOWN: 500,
  AUTH: 401,
  AUTH_PERMANENT: 403,
  BILLING: 402,
  MODEL_NOT_FOUND: 404,
  CONTENT_BLOCKED: 400,
  FORMAT_ERROR: 400,
};

/** Codes that tell apart errors with the same status. */
const CODE_OF_KIND: Readonly<Partial<Record<ErrorKind, string>>> = {
  RATE_LIMIT: "rate_limit_exceeded",
  CONTEXT_OVERFLOW: "context_length_exceeded",
  BILLING: "insufficient_quota",
  MODEL_NOT_FOUND: "model_not_found",
  CONTENT_BLOCKED: "content_filter",
};

/** The HTTP response for an error that a script returns or throws. */
export function refusalOfError(error: unknown): Refusal {
  const message = messageOf(error);
  if (isRaviError(error, "PROVIDER_ERROR")) {
    const { kind, status = 0, retryAfterMs } = error;
    return {
      // A client whose connection failed may put a 0 there, which cannot be sent.
      status: Number.isInteger(status) && status >= 300 && status <= 599 ? status : STATUS_OF_KIND[kind],
      code: CODE_OF_KIND[kind],
      message,
      ...(retryAfterMs === undefined ? {} : { headers: retryAfter(retryAfterMs) }),
    };
  }
  // A script that has no answer, or a wrong one, is a mistake in the test: with a 400 no client retries it.
  if (isRaviError(error, "INVALID_VALUE")) return { status: 400, code: "script_error", message };
  return { status: 500, message };
}

/** `retry-after` allows only whole seconds; OpenAI and Anthropic send `retry-after-ms` for finer values. */
function retryAfter(ms: number): Readonly<Record<string, string>> {
  return { "retry-after": String(Math.ceil(ms / 1_000)), "retry-after-ms": String(ms) };
}
