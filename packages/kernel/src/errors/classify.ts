import { isMarked } from "./base.ts";
import { isCancellation, isRaviError } from "./is.ts";
import { ErrorKind, isRetryableKind } from "./kinds.ts";

export interface ClassifiedError {
  readonly kind: ErrorKind;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Says what a failed model call means (O6), from the structure of the error first: a `ProviderError`'s kind, a status, a
 * code or type field. Words of the message only tell apart what one status stands for. A mistake in a program (a
 * `TypeError`, say), a cancellation and a refusal of Ravi's own are never retryable.
 */
export function classifyError(error: unknown): ClassifiedError {
  if (isRaviError(error, "PROVIDER_ERROR")) {
    return {
      kind: error.kind,
      retryable: error.retryable,
      status: error.status,
      retryAfterMs: error.retryAfterMs,
    };
  }
  if (isCancellation(error) || isMarked(error)) return final(ErrorKind.UNKNOWN);
  const fact = factsOf(error);
  const kind = kindOf(fact);
  if (kind === undefined)
    return isProgramError(error) ? final(ErrorKind.UNKNOWN) : of(ErrorKind.UNKNOWN, fact);
  return of(kind, fact);
}

interface Facts {
  readonly status: number | undefined;
  /** Machine-readable words: code and type fields, the error's name. */
  readonly code: string;
  readonly message: string;
}

function kindOf({ status, code, message }: Facts): ErrorKind | undefined {
  if (
    isOverflow(code, message) &&
    (status === undefined || status === 400 || status === 413 || status === 422)
  ) {
    return ErrorKind.CONTEXT_OVERFLOW;
  }
  if (BILLING.test(code) || (status === 429 && BILLING.test(message))) return ErrorKind.BILLING;
  if (BLOCKED.test(code) || (status === 400 && BLOCKED.test(message))) return ErrorKind.CONTENT_BLOCKED;
  switch (status) {
    case 401:
    case 403:
      return PERMANENT.test(code) || PERMANENT.test(message) ? ErrorKind.AUTH_PERMANENT : ErrorKind.AUTH;
    case 402:
      return ErrorKind.BILLING;
    case 404:
      return ErrorKind.MODEL_NOT_FOUND;
    case 408:
    case 504:
      return ErrorKind.TIMEOUT;
    case 413:
      return ErrorKind.CONTEXT_OVERFLOW;
    case 429:
      return ErrorKind.RATE_LIMIT;
    case 503:
    case 529:
      return ErrorKind.OVERLOADED;
    default:
      if (status !== undefined && status >= 500) return ErrorKind.SERVER_ERROR;
      if (status !== undefined && status >= 400) return ErrorKind.FORMAT_ERROR;
  }
  if (/overloaded/i.test(code)) return ErrorKind.OVERLOADED;
  if (/rate_?limit/i.test(code)) return ErrorKind.RATE_LIMIT;
  if (/time_?d?_?out|ETIMEDOUT|ESOCKETTIMEDOUT/i.test(code)) return ErrorKind.TIMEOUT;
  if (/ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR|APIConnection|fetch failed/i.test(code + message))
    return ErrorKind.SERVER_ERROR;
  return undefined;
}

const BILLING = /insufficient_quota|billing|credit balance|payment required|exceeded your current quota/i;
const BLOCKED = /content_?(filter|policy|blocked)|safety|moderation_blocked/i;
const PERMANENT = /deactivated|revoked|disabled|suspended|banned|not (?:allowed|permitted|authorized)/i;

/** The wordings of a prompt that is too long, of some twenty servers. Each is linear: no nested repeats. */
const OVERFLOW = [
  /context[_ ](?:length|window)[_ ]?(?:exceeded|overflow)/i,
  /maximum context length/i,
  /exceeds? (?:the )?(?:model'?s )?(?:maximum )?(?:context|input token)/i,
  /prompt is too long/i,
  /input (?:is too long|length .{0,40}exceeds?|too large)/i,
  /too many (?:input |prompt )?tokens/i,
  /(?:reduce|shorten) the length of (?:the |your )?(?:messages|prompt|input)/i,
  /token (?:count|limit) .{0,60}exceed/i,
  /larger than the (?:maximum )?context/i,
  /exceeds? the available context|exceed_context_size/i,
  /request_too_large|string_above_max_length|context_window_exceeded|model_context_window/i,
];
/** Said of the answer's size or of the rate, not of the prompt's. */
const NOT_OVERFLOW =
  /tokens per (?:min|day)|rate.?limit|max_(?:completion_|output_)?tokens (?:is too large|must be|cannot)/i;

function isOverflow(code: string, message: string): boolean {
  const text = `${code} ${message}`.slice(0, 4_000);
  return !NOT_OVERFLOW.test(text) && OVERFLOW.some((pattern) => pattern.test(text));
}

function isProgramError(error: unknown): boolean {
  // `fetch` reports a broken connection as a TypeError with a cause; that one was recognised before.
  return (
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError ||
    error instanceof SyntaxError
  );
}

function factsOf(error: unknown): Facts {
  const body = field(error, "error");
  const codes = [error, body, field(error, "cause")].flatMap((part) => [
    field(part, "code"),
    field(part, "type"),
  ]);
  const name = field(error, "name");
  return {
    status: statusOf(
      field(error, "status") ?? field(error, "statusCode") ?? field(field(error, "response"), "status"),
    ),
    code: [...codes, name].filter((word) => typeof word === "string").join(" "),
    message: [field(error, "message"), field(body, "message")]
      .filter((word) => typeof word === "string")
      .join(" "),
  };
}

function statusOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function of(kind: ErrorKind, facts: Facts): ClassifiedError {
  return { kind, retryable: isRetryableKind(kind), status: facts.status, retryAfterMs: undefined };
}

function final(kind: ErrorKind): ClassifiedError {
  return { kind, retryable: false, status: undefined, retryAfterMs: undefined };
}
