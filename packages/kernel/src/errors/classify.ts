import { field } from "../core/field.ts";
import { askedWaitMs, detailedWaitMs } from "./asked-wait.ts";
import type { RaviError } from "./base.ts";
import { partsOf, saidBehind, statusOf, textsIn } from "./facts.ts";
import { isMarked, isRaviError } from "./is.ts";
import { ErrorKind, isRetryableKind } from "./kinds.ts";

/** What a failed model call means. */
export interface ClassifiedError {
  readonly kind: ErrorKind;
  readonly retryable: boolean;
  readonly status: number | undefined;
  /** How long the provider asks to wait, in milliseconds. Undefined if it does not say. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Classifies a failed model call. It looks at the structure first: the kind of a `ProviderError`, a status, a code or type
 * field, of the error or of its causes. Words of the message only tell apart what shares one status. A bug (such as a
 * `TypeError`), a cancellation, a suspension and Ravi's own refusals are never retryable. Never throws.
 *
 * | status                    | kind                                                                                    |
 * | ------------------------- | --------------------------------------------------------------------------------------- |
 * | 408, 504, 524             | `TIMEOUT`                                                                               |
 * | 429                       | `RATE_LIMIT`, or `BILLING` if the money is used up                                      |
 * | 498 (Groq), 503, 529      | `OVERLOADED`                                                                            |
 * | 409, 424, 425, other 5xx  | `SERVER_ERROR`                                                                          |
 * | 413                       | `CONTEXT_OVERFLOW`; so is a 400 or 422 that says that the prompt is too long            |
 * | 401, 403                  | `AUTH`, or `AUTH_PERMANENT` if the account is closed; so is a 400 about a wrong key     |
 * | 402                       | `BILLING`; so is a 400, 403, 422 or 500 that says that the money is used up             |
 * | 404                       | `MODEL_NOT_FOUND`                                                                       |
 * | every other 4xx           | `FORMAT_ERROR`, or `CONTENT_BLOCKED` if a 400 or 403 says that the content was refused  |
 */
export function classifyError(error: unknown): ClassifiedError {
  try {
    return classify(error);
  } catch {
    // A getter of the error threw. The kind stays unknown, and nothing says that a retry would help.
    return finalVerdict(ErrorKind.UNKNOWN);
  }
}

function classify(error: unknown): ClassifiedError {
  const chain = chainOf(error);
  // However deep it is wrapped: the run is being suspended, and a retry would meet the same error.
  if (chain.some((link) => isRaviError(link, "SUSPENDED"))) return finalVerdict(ErrorKind.UNKNOWN);
  for (const link of chain) {
    const known = isMarked(link) ? ownVerdict(link) : recordedVerdict(field(link, "classified"));
    if (known !== undefined) return known;
  }
  const facts = factsOf(chain);
  const kind = kindOf(facts);
  if (kind !== undefined) return verdictOf(kind, facts);
  return chain.some(isProgramError) ? finalVerdict(ErrorKind.UNKNOWN) : verdictOf(ErrorKind.UNKNOWN, facts);
}

function ownVerdict(error: RaviError): ClassifiedError {
  if (!isRaviError(error, "PROVIDER_ERROR")) return finalVerdict(ErrorKind.UNKNOWN);
  const { kind, retryable, status, retryAfterMs } = error;
  return { kind, retryable, status, retryAfterMs };
}

/** What an error that is not Ravi's meant when `errorToJSON` recorded it. */
function recordedVerdict(recorded: unknown): ClassifiedError | undefined {
  const kind = Object.values(ErrorKind).find((known) => known === field(recorded, "kind"));
  const retryable = field(recorded, "retryable");
  if (kind === undefined || typeof retryable !== "boolean") return undefined;
  return {
    kind,
    retryable,
    status: numberIn(recorded, "status"),
    retryAfterMs: numberIn(recorded, "retryAfterMs"),
  };
}

function numberIn(recorded: unknown, name: string): number | undefined {
  const value = field(recorded, name);
  return typeof value === "number" ? value : undefined;
}

interface Facts {
  readonly status: number | undefined;
  /** The machine-readable words: code and type fields, and the error's name. */
  readonly code: string;
  readonly message: string;
  /** How long the server asks to wait, in milliseconds. */
  readonly askedMs: number | undefined;
}

function kindOf({ status: given, code, message, askedMs }: Facts): ErrorKind | undefined {
  // Amazon reports a rate limit as a bad request, too.
  const isThrottled = given === 400 && THROTTLED.test(code);
  // An error inside of a stream has no status; its type stands for one.
  const status = isThrottled ? 429 : (given ?? STATUS_OF_CODE.find(([pattern]) => pattern.test(code))?.[1]);
  const isRefused = status === 400 || status === 422;
  if (isOverflow(code, message) && (given === undefined || isRefused || status === 413)) {
    return ErrorKind.CONTEXT_OVERFLOW;
  }
  if (BILLING.test(code) || isMoneyOut(status, message, askedMs)) return ErrorKind.BILLING;
  if (BLOCKED.test(code) || (status === 400 && BLOCKED.test(message))) return ErrorKind.CONTENT_BLOCKED;
  if (status === 403 && FLAGGED.test(message)) return ErrorKind.CONTENT_BLOCKED;
  if (status === 400 && WRONG_KEY.test(message)) return ErrorKind.AUTH;
  if (status === 400 && NO_MODEL.test(message)) return ErrorKind.MODEL_NOT_FOUND;
  // Reported as a bad request, but the cause is malformed output of the model, and a retry may succeed.
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
    case 524:
      return ErrorKind.TIMEOUT;
    case 409:
    case 424:
    case 425:
      // Another request holds a lock, the model failed, or this request came too early. The same request may succeed later.
      return ErrorKind.SERVER_ERROR;
    case 413:
      return ErrorKind.CONTEXT_OVERFLOW;
    case 429:
      return ErrorKind.RATE_LIMIT;
    case 498:
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

const THROTTLED = /\bthrottl(?:ed|ing)/i;
/**
 * Statuses for the types and codes of Anthropic's and OpenAI's errors. The more specific come first: a code before the type that
 * comes with it.
 */
const STATUS_OF_CODE: readonly (readonly [RegExp, number])[] = [
  [/overloaded|\bslow_down\b/i, 529],
  [/rate_?limit/i, 429],
  [THROTTLED, 429],
  [/\bmodel_not_found\b|\bnot_found_error\b/, 404],
  [/\binvalid_api_key\b|\bauthentication_error\b/, 401],
  [/\bpermission_error\b/, 403],
  [/\bbilling_error\b/, 402],
  [/\brequest_too_large\b/, 413],
  [/\btimeout_error\b/, 504],
  [/\bconflict_error\b/, 409],
  [/\b(?:api|server|internal)_(?:server_)?error\b/, 500],
  [/\binvalid_request|\binvalid_encrypted_content\b|\bunsupported_|\bdata_residency_mismatch\b/, 400],
  [/\b(?:\w+_)?image(?:_\w+)?\b/, 400],
];

const BILLING =
  /insufficient_(?:quota|balance)|exceeded_current_quota|spend_limit_reached|\barrearage\b|billing|credit balance|payment required|exceeded your current quota/i;
/** Messages of a 429 that mean the same. A link to a page about billing does not: Groq and others put it into every 429. */
const QUOTA_IS_OUT =
  /(?<!\/)billing|insufficient(?:[_ ](?:quota|balance)| funds| credits?)|spend_limit_reached|credit balance|payment required|exceeded your current quota|credits? (?:are|is) (?:depleted|exhausted)|used all .{0,20}credits|out of credits|spend(?:ing)? (?:limit|cap)/i;
const LINK = /https?:\/\/\S+/gi;
/**
 * Messages of other refusals that mean that the money is used up. Narrower than the codes, because a message may quote a tool's
 * name.
 */
const MONEY_IS_OUT =
  /credit balance is too low|reached your .{0,40}usage limit|exceeded your current quota|insufficient (?:funds|credits?|balance)|have any credits|used all (?:available )?credits/i;
/** MiniMax reports it as its own failure, a 500. */
const MAY_BE_ABOUT_MONEY: ReadonlySet<number | undefined> = new Set([400, 403, 422, 500]);
const BLOCKED =
  /content_?(filter|policy|blocked)|content exists risk|data_inspection_failed|safety(?!_(?:identifier|settings))|moderation_blocked|blocked by .{0,30}content filter|content management policy/i;
/** Messages of a 403 that is about this prompt, and not about the key. */
const FLAGGED = /requires moderation|input was flagged/i;
/** Groq's codes for a tool call or a structured answer that the model wrote wrongly. */
const MISWRITTEN = /\b(?:tool_use_failed|json_validate_failed)\b/;
/** Codes for a prompt that breaks the usage policy, reported after the stream has begun. */
const BLOCKED_IN_STREAM = /\binvalid_prompt\b|(?:\b|_)policy(?:\b|_)/;
/** How Gemini and xAI report a wrong key, as a bad request. */
const WRONG_KEY = /\bapi key (?:not valid|expired)|\b(?:incorrect|invalid) api key\b/i;
/** How OpenRouter reports a model that it does not have, as a bad request. */
const NO_MODEL = /\bis not a valid model id\b/i;
const PERMANENT = /deactivated|revoked|disabled|suspended|banned|not (?:allowed|permitted|authorized)/i;

/** How some thirty servers say that a prompt is too long. Each pattern is linear: no nested repeats. */
const OVERFLOW = [
  /context[_ ](?:length|window|size|limit)[_ ]?(?:exceed(?:s|ed)|overflow)/i,
  /maximum (?:context|prompt|input|model) length|reached context length of/i,
  /exceed(?:s|ed)? (?:the )?(?:model(?:'?s)? )?(?:max(?:imum)? )?(?:context|input token|model token)/i,
  /prompt (?:is )?too long/i,
  /prompt (?:length )?exceeds (?:the )?max/i,
  /input (?:is too long|length .{0,40}exceeds?|too large)/i,
  /input tokens exceed|range of input length|context length of only/i,
  /`inputs` (?:tokens \+|must have less than)/i,
  /too many (?:input |prompt )?tokens|tokens in request more than/i,
  /(?:reduce|shorten) the length of (?:the |your )?(?:messages|prompt|input)/i,
  /token (?:count|limit) .{0,60}exceed|number of tokens exceeds? the model/i,
  /(?:larger|longer|greater) than the (?:maximum |model'?s )?context/i,
  /exceeds? the available context|exceed_context_size/i,
  /request_too_large|string_above_max_length|context_window_exceeded|model_context_window/i,
];
/** These messages are about the answer's size or the rate, not about the prompt. */
const NOT_OVERFLOW =
  /tokens per (?:min|day)|rate.?limit|throttl|max_(?:completion_|output_)?tokens (?:is too large|must be|cannot)/i;

function isMoneyOut(status: number | undefined, message: string, askedMs: number | undefined): boolean {
  // Gemini says "exceeded your current quota" of a limit that passes, too.
  if (status === 429) return QUOTA_IS_OUT.test(message.replaceAll(LINK, "")) && askedMs === undefined;
  return MAY_BE_ABOUT_MONEY.has(status) && MONEY_IS_OUT.test(message);
}

function isOverflow(code: string, message: string): boolean {
  const text = `${code} ${message}`.slice(0, 4_000);
  return !NOT_OVERFLOW.test(text) && OVERFLOW.some((pattern) => pattern.test(text));
}

function isProgramError(error: unknown): boolean {
  // `fetch` reports a broken connection as a TypeError with a cause; that case was recognised before.
  if (error instanceof TypeError || error instanceof ReferenceError) return true;
  if (error instanceof RangeError || error instanceof SyntaxError) return true;
  // From another realm, or from a record.
  return PROGRAM_ERRORS.has(field(error, "name"));
}

const PROGRAM_ERRORS: ReadonlySet<unknown> = new Set([
  "TypeError",
  "ReferenceError",
  "RangeError",
  "SyntaxError",
]);

/** Clients do not wrap errors deeper than this. */
const MAX_CAUSES = 8;

/** An error and its causes, the outermost first. */
function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error];
  for (let at = field(error, "cause"); at !== undefined && at !== null; at = field(at, "cause")) {
    if (chain.length >= MAX_CAUSES) break;
    chain.push(at);
  }
  return chain;
}

function factsOf(chain: readonly unknown[]): Facts {
  const parts = chain.flatMap(partsOf);
  const behind = parts.flatMap((part) => saidBehind(part) ?? []);
  const message = [...textsIn(parts, ["message"]), ...behind].join(" ").slice(0, 8_000);
  return {
    status: statusOf(parts),
    code: textsIn(parts, ["code", "type", "name"]).join(" ").slice(0, 8_000),
    message,
    askedMs: askedWaitMs(message) ?? detailedWaitMs(parts),
  };
}

function verdictOf(kind: ErrorKind, facts: Facts): ClassifiedError {
  const retryAfterMs = kind === ErrorKind.RATE_LIMIT ? facts.askedMs : undefined;
  return { kind, retryable: isRetryableKind(kind), status: facts.status, retryAfterMs };
}

function finalVerdict(kind: ErrorKind): ClassifiedError {
  return { kind, retryable: false, status: undefined, retryAfterMs: undefined };
}
