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
 * code or type field, of the error or of what caused it. Words of the message only tell apart what one status stands for.
 * A mistake in a program (a `TypeError`, say), a cancellation, a suspension and a refusal of Ravi's own are never retryable.
 */
export function classifyError(error: unknown): ClassifiedError {
  try {
    return classify(error);
  } catch {
    // A getter of the error threw. What it is stays unknown, and nothing says that another try would help.
    return final(ErrorKind.UNKNOWN);
  }
}

function classify(error: unknown): ClassifiedError {
  const chain = chainOf(error);
  // Whoever has wrapped it: the run is being unwound, and another try would meet the same.
  if (chain.some((link) => isRaviError(link, "SUSPENDED"))) return final(ErrorKind.UNKNOWN);
  const own = chain.find((link) => isCancellation(link) || isMarked(link));
  if (isRaviError(own, "PROVIDER_ERROR")) {
    const { kind, retryable, status, retryAfterMs } = own;
    return { kind, retryable, status, retryAfterMs };
  }
  if (own !== undefined) return final(ErrorKind.UNKNOWN);
  const facts = factsOf(chain);
  const kind = kindOf(facts);
  if (kind !== undefined) return of(kind, facts);
  return chain.some(isProgramError) ? final(ErrorKind.UNKNOWN) : of(ErrorKind.UNKNOWN, facts);
}

interface Facts {
  readonly status: number | undefined;
  /** Machine-readable words: code and type fields, the error's name. */
  readonly code: string;
  readonly message: string;
}

function kindOf({ status: given, code, message }: Facts): ErrorKind | undefined {
  // In a stream there is no status; then the type of an error stands for one.
  const status = given ?? STATUS_OF_CODE.find(([pattern]) => pattern.test(code))?.[1];
  const isRefused = status === 400 || status === 422;
  if (isOverflow(code, message) && (given === undefined || isRefused || status === 413)) {
    return ErrorKind.CONTEXT_OVERFLOW;
  }
  if (BILLING.test(code) || (status === 429 && BILLING.test(message))) return ErrorKind.BILLING;
  if ((isRefused || status === 403) && MONEY_IS_OUT.test(message)) return ErrorKind.BILLING;
  if (BLOCKED.test(code) || (status === 400 && BLOCKED.test(message))) return ErrorKind.CONTENT_BLOCKED;
  if (status === 403 && FLAGGED.test(message)) return ErrorKind.CONTENT_BLOCKED;
  // Refused as if the request were wrong, though the model has written what cannot be read: it may do better.
  if (isRefused && MISWRITTEN.test(code)) return ErrorKind.SERVER_ERROR;
  if (given === undefined && BLOCKED_IN_STREAM.test(code)) return ErrorKind.CONTENT_BLOCKED;
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
  if (/time_?d?_?out|ETIMEDOUT|ESOCKETTIMEDOUT/i.test(code)) return ErrorKind.TIMEOUT;
  if (/ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR|APIConnection|fetch failed/i.test(code + message))
    return ErrorKind.SERVER_ERROR;
  return undefined;
}

/** The types and codes of Anthropic's and OpenAI's errors, the more telling first: a code before the type that it comes with. */
const STATUS_OF_CODE: readonly (readonly [RegExp, number])[] = [
  [/overloaded|\bslow_down\b/i, 529],
  [/rate_?limit/i, 429],
  [/\bmodel_not_found\b|\bnot_found_error\b/, 404],
  [/\binvalid_api_key\b|\bauthentication_error\b/, 401],
  [/\bpermission_error\b/, 403],
  [/\bbilling_error\b/, 402],
  [/\brequest_too_large\b/, 413],
  [/\btimeout_error\b/, 504],
  [/\b(?:api|server|internal)_(?:server_)?error\b/, 500],
  [
    /\bconflict_error\b|\binvalid_request|\binvalid_encrypted_content\b|\bunsupported_|\bdata_residency_mismatch\b/,
    400,
  ],
  [/\b(?:\w+_)?image(?:_\w+)?\b/, 400],
];

const BILLING =
  /insufficient_quota|spend_limit_reached|billing|credit balance|payment required|exceeded your current quota/i;
/** Said of a request that is refused as if it were wrong. Narrower than a code: a message may quote a tool's name. */
const MONEY_IS_OUT =
  /credit balance is too low|reached your .{0,40}usage limit|exceeded your current quota|insufficient (?:funds|credits?|balance)/i;
const BLOCKED =
  /content_?(filter|policy|blocked)|safety(?!_(?:identifier|settings))|moderation_blocked|blocked by .{0,30}content filter|content management policy/i;
/** Said where a key may not be used so: for this prompt. */
const FLAGGED = /requires moderation|input was flagged/i;
/** Groq's codes for a call, or an answer of a given shape, that the model got wrong. */
const MISWRITTEN = /\b(?:tool_use_failed|json_validate_failed)\b/;
/** A prompt that was found to break the rules of use, in an answer that had begun. */
const BLOCKED_IN_STREAM = /\binvalid_prompt\b|(?:\b|_)policy(?:\b|_)/;
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

/** Deeper than clients wrap what happened. */
const MOST_CAUSES = 8;

/** An error and what caused it, the outermost first. */
function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error];
  for (let at = field(error, "cause"); at !== undefined && at !== null; at = field(at, "cause")) {
    if (chain.length >= MOST_CAUSES) break;
    chain.push(at);
  }
  return chain;
}

function factsOf(chain: readonly unknown[]): Facts {
  /** Each error, with the server's own words about it where it carries them. */
  const parts = chain.flatMap((error) => [error, field(error, "error")]);
  const texts = (names: readonly string[]): string =>
    parts
      .flatMap((part) => names.map((name) => field(part, name)))
      .filter((word) => typeof word === "string")
      .join(" ")
      .slice(0, 8_000);
  return {
    status: parts.map(statusIn).find((status) => status !== undefined),
    code: texts(["code", "type", "name"]),
    message: texts(["message"]),
  };
}

/** Gateways put the status of the server behind them into `code`. */
function statusIn(error: unknown): number | undefined {
  const given =
    field(error, "status") ?? field(error, "statusCode") ?? field(field(error, "response"), "status");
  if (typeof given === "number" && Number.isInteger(given)) return given;
  const code = field(error, "code");
  const number = typeof code === "string" && /^[45]\d\d$/.test(code) ? Number(code) : code;
  const isStatus = typeof number === "number" && Number.isInteger(number) && number >= 400 && number <= 599;
  return isStatus ? number : undefined;
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
