import { classifyError, ErrorKind, isRaviError, type RaviError } from "@ravi/kernel";
import {
  causeChain,
  type FailureContext,
  type FailureVerdict,
  field,
  type HeaderSource,
  isObject,
  providerError,
  stringOr,
  tryParse,
  UnusableAnswer,
} from "@ravi/kernel/provider";
import { RedirectedRequest } from "../wire/careful-fetch.ts";

/**
 * Whatever went wrong with a call, as an error of Ravi that carries no secret. The errors of the AI SDK hold the URL, the
 * request and the answer; of those nothing is kept but what the server said.
 */
export function explain(error: unknown, context: Omit<FailureContext, "headers">): RaviError {
  if (isRaviError(error)) return error;
  const headers = headersOf(field(error, "responseHeaders"));
  return providerError(error, verdictOf(error), { ...context, headers });
}

function verdictOf(error: unknown): FailureVerdict {
  // Some providers wrap whatever their `fetch` throws.
  const redirect = causeChain(error).find((cause) => cause instanceof RedirectedRequest);
  if (redirect === undefined) return { ...judge(error), said: messageOf(error) };
  return { kind: ErrorKind.FORMAT_ERROR, status: redirect.status, said: redirect.message };
}

type Meaning = Omit<FailureVerdict, "said">;

/** The errors of the AI SDK that say by their name what happened, before anything was sent or after all of it came. */
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
  // The answer was accepted and could not be read: whoever sent it was at fault, not the request.
  if (typeof status === "number" && status < 300) return { kind: ErrorKind.SERVER_ERROR };
  const verdict = classifyError(factsOf(error));
  if (verdict.kind !== ErrorKind.UNKNOWN) return verdict;
  if (!(error instanceof Error)) return { kind: ErrorKind.SERVER_ERROR };
  return field(error, "isRetryable") === true ? { kind: ErrorKind.SERVER_ERROR } : classifyError(error);
}

/** The words to judge by. An error inside a stream comes as the server's own object, or as a bare text. */
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

/** What the server wrote about the error: in the parsed body, else in the body's text. */
function reportOf(error: unknown): unknown {
  const data = field(error, "data") ?? tryParse(stringOr(field(error, "responseBody"), "")) ?? error;
  const inner = field(data, "error");
  return isObject(inner) ? inner : data === error ? undefined : data;
}

function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const text =
    stringOr(field(error, "message"), undefined) ??
    stringOr(field(field(error, "error"), "message"), undefined);
  return text === undefined || text === "" ? "the model failed and did not say why" : text;
}

/** A plain object of headers, however their names are written. */
function headersOf(headers: unknown): HeaderSource {
  const found = Object.entries(isObject(headers) ? headers : {});
  return {
    get: (name) => stringOr(found.find(([given]) => given.toLowerCase() === name)?.[1], undefined),
  };
}
