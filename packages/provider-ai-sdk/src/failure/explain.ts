import { classifyError, ErrorKind, isRaviError, type RaviError } from "@ravi/kernel";
import {
  causeChain,
  type FailureContext,
  type FailureVerdict,
  field,
  type HeaderSource,
  isObject,
  listOf,
  missingKey,
  providerError,
  RedirectedRequest,
  saidBehind,
  type Scrub,
  stringOr,
  textIn,
  tryParse,
  UnusableAnswer,
} from "@ravi/kernel/provider";

/**
 * Turns any error of a call into a `RaviError` without secrets. The errors of the AI SDK contain the URL, the request and the
 * answer; only what the server said is kept.
 */
export function explain(error: unknown, context: Omit<FailureContext, "headers">): RaviError {
  if (isRaviError(error)) return error;
  const headers = headersOf(field(error, "responseHeaders"));
  const scrub: Scrub = (text) => context.scrub(unquoted(text));
  return providerError(error, verdictOf(error), { ...context, headers, scrub });
}

/** Without the answer that could not be read: the AI SDK quotes all of it, and the platform a few characters. */
function unquoted(text: string): string {
  return text
    .replace(/\b(Type validation failed|JSON parsing failed)\b[^]*/, "$1")
    .replace(/, (?:\.{3})?"[^]{0,100}"(?:\.{3})? is not valid JSON/, " is not valid JSON");
}

function verdictOf(error: unknown): FailureVerdict {
  // Some providers wrap what their `fetch` throws.
  const redirect = causeChain(error).find((cause) => cause instanceof RedirectedRequest);
  if (redirect === undefined) return { ...judge(error), said: withoutKey(error) ?? messageOf(error) };
  return { kind: ErrorKind.FORMAT_ERROR, status: redirect.status, said: redirect.message };
}

/** That there is no key, in the words that all providers of Ravi have for it. Undefined if that is not what the AI SDK says. */
function withoutKey(error: unknown): string | undefined {
  if (field(error, "name") !== "AI_LoadAPIKeyError") return undefined;
  const [, provider, variable] = NO_KEY.exec(messageOf(error)) ?? [];
  if (provider === undefined || variable === undefined) return undefined;
  const option = "where the provider of the AI SDK is created";
  return `apiKey is undefined; expected ${missingKey({ provider, variables: [variable], option })}`;
}

const NO_KEY = /^(.{1,80}?) API key is missing\. .* the ([A-Z][A-Z0-9_]*) environment variable/;

type Meaning = Omit<FailureVerdict, "said">;

/** Errors of the AI SDK whose name alone says what happened, before anything was sent or after the whole answer came. */
const BY_NAME: Readonly<Record<string, ErrorKind>> = {
  AI_LoadAPIKeyError: ErrorKind.AUTH,
  AI_LoadSettingError: ErrorKind.AUTH,
  AI_NoSuchModelError: ErrorKind.MODEL_NOT_FOUND,
  AI_InvalidArgumentError: ErrorKind.FORMAT_ERROR,
  AI_InvalidPromptError: ErrorKind.FORMAT_ERROR,
  AI_UnsupportedFunctionalityError: ErrorKind.FORMAT_ERROR,
  AI_EmptyResponseBodyError: ErrorKind.SERVER_ERROR,
  AI_InvalidResponseDataError: ErrorKind.SERVER_ERROR,
  AI_JSONParseError: ErrorKind.SERVER_ERROR,
  AI_NoContentGeneratedError: ErrorKind.SERVER_ERROR,
  AI_TypeValidationError: ErrorKind.SERVER_ERROR,
};

function judge(error: unknown): Meaning {
  if (error instanceof UnusableAnswer) return { kind: ErrorKind.SERVER_ERROR };
  const name = stringOr(field(error, "name"), "");
  const named = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (named !== undefined) return { kind: named };
  const status = field(error, "statusCode");
  // The request was accepted and the answer could not be read: the server is at fault, not the request.
  if (typeof status === "number" && status < 300) return { kind: ErrorKind.SERVER_ERROR };
  const verdict = classifyError(factsOf(error));
  if (verdict.kind !== ErrorKind.UNKNOWN) return verdict;
  if (!(error instanceof Error)) return { kind: ErrorKind.SERVER_ERROR };
  return field(error, "isRetryable") === true ? { kind: ErrorKind.SERVER_ERROR } : classifyError(error);
}

/** The fields to classify an error by. An error inside a stream is the server's own object, or a string. */
function factsOf(error: unknown): object {
  return {
    name: field(error, "name"),
    code: field(error, "code"),
    type: field(error, "type"),
    status: field(error, "statusCode") ?? field(error, "status"),
    message: messageOf(error),
    error: reportOf(error),
    cause: field(error, "cause"),
  };
}

/** What the server wrote about the error: in the body, in what the provider kept of it, or in the error itself. */
function reportOf(error: unknown): unknown {
  const body = tryParse(stringOr(field(error, "responseBody"), ""));
  // Google wraps it in a list.
  const told = [body, field(error, "data"), error].map((given) => listOf(given)[0] ?? given);
  return (
    told.map((given) => field(given, "error")).find(isObject) ??
    told.find((given) => given !== undefined && given !== error)
  );
}

function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const report = reportOf(error);
  const own =
    textIn(field(error, "message")) ??
    textIn(field(report, "message")) ??
    textIn(field(report, "detail")) ??
    "the model failed without an error message";
  const behind = saidBehind(report);
  return behind === undefined ? own : `${own}: ${behind}`;
}

/** Looks up headers in a plain object, whatever the case of their names. */
function headersOf(headers: unknown): HeaderSource {
  const found = Object.entries(isObject(headers) ? headers : {});
  return {
    get: (name) => stringOr(found.find(([given]) => given.toLowerCase() === name)?.[1], undefined),
  };
}
