import { isError } from "../core/is-error.ts";
import { askedWaitMs } from "../errors/asked-wait.ts";
import { ProviderError } from "../errors/errors.ts";
import { ErrorKind } from "../errors/kinds.ts";
import { causeChain, hasBeenSilent, hasTimedOut, innermostCode, isMistake } from "./causes.ts";
import { BrokenConnection, OversizedAnswer, RedirectedRequest, UnusableAnswer } from "./faults.ts";
import { type HeaderSource, retryAfterMs } from "./headers.ts";
import { resetMs } from "./reset-headers.ts";
import { clip, safeCause } from "./safe-cause.ts";
import type { Scrub } from "./scrub.ts";

export interface FailureContext {
  readonly provider: string;
  readonly model: string;
  readonly scrub: Scrub;
  readonly now: number;
  /** The headers of the response, if there was one. */
  readonly headers?: HeaderSource | undefined;
}

/** The meaning of a failure. */
export interface FailureVerdict {
  readonly kind: ErrorKind;
  /** Default: as the kind says. */
  readonly retryable?: boolean | undefined;
  readonly status?: number | undefined;
  /** How long the server asks to wait, if no header says it. Default: what `said` says, or until the limit is back (at most a minute). */
  readonly retryAfterMs?: number | undefined;
  /** The original message. Secrets are removed from it, and it is cut if it is too long. */
  readonly said: string;
  /** What to do about it, in our own words. Appended to the message. */
  readonly advice?: string | undefined;
}

/** A failed call as a `ProviderError` without secrets. */
export function providerError(
  error: unknown,
  verdict: FailureVerdict,
  context: FailureContext,
): ProviderError {
  const { said, advice = "", ...meaning } = verdict;
  const { provider, model, scrub, headers, now } = context;
  const requestId = headers?.get("x-request-id") ?? headers?.get("request-id") ?? undefined;
  return new ProviderError({
    ...meaning,
    retryable: toldToRetry(headers, meaning.kind) ?? meaning.retryable,
    provider,
    model,
    message: `${provider}/${model}: ${clip(scrub(said))}${advice}`,
    retryAfterMs:
      retryAfterMs(headers, now) ??
      meaning.retryAfterMs ??
      // Words say when to try again, the headers of the limits only when all is back.
      (meaning.kind === ErrorKind.RATE_LIMIT ? (askedWaitMs(said) ?? resetMs(headers, now)) : undefined),
    requestId: requestId === undefined ? undefined : scrub(requestId).slice(0, 200),
    cause: safeCause(error, scrub),
  });
}

/**
 * Whether the server itself says that the same request should be sent again, as OpenAI and Anthropic do. A shorter prompt is another
 * request, and what the kind says for sure (no money, no access) counts more than a header.
 */
function toldToRetry(headers: HeaderSource | undefined, kind: ErrorKind): boolean | undefined {
  const told = headers?.get("x-should-retry");
  if (told === "false" && kind !== ErrorKind.CONTEXT_OVERFLOW) return false;
  return told === "true" && kind === ErrorKind.FORMAT_ERROR ? true : undefined;
}

/** What is known about the connection: what an official client's error class says or, for whatever `fetch` itself throws, "broken". */
export type ConnectionFault = "timed out" | "broken";

const SILENT = "the server was silent for longer than fetch itself waits";
const WAIT_LONGER = "; to wait longer, give a fetch of your own";

/** Classifies a failure of the connection. Undefined if the server itself failed or refused. */
export function transportVerdict(
  error: unknown,
  fault: ConnectionFault | undefined,
): FailureVerdict | undefined {
  const said = isError(error) ? error.message : String(error);
  const chain = causeChain(error);
  // Official clients wrap what their `fetch` throws.
  const redirect = chain.find((cause) => cause instanceof RedirectedRequest);
  if (redirect !== undefined)
    return { kind: ErrorKind.FORMAT_ERROR, status: redirect.status, said: redirect.message };
  if (error instanceof OversizedAnswer) {
    // A retry would get an answer that is as long.
    const advice = "; raise maxResponseBytes to allow it";
    return { kind: ErrorKind.SERVER_ERROR, retryable: false, said, advice };
  }
  if (error instanceof UnusableAnswer) return { kind: ErrorKind.SERVER_ERROR, said };
  // In our own words: the official clients name options of theirs, which nobody can give here.
  if (hasBeenSilent(chain))
    return { kind: ErrorKind.TIMEOUT, said: SILENT, advice: `${innermostCode(chain)}${WAIT_LONGER}` };
  if (fault === "timed out" || hasTimedOut(chain)) return { kind: ErrorKind.TIMEOUT, said };
  if (chain.some(isMistake)) {
    return { kind: ErrorKind.UNKNOWN, retryable: false, said: chain.at(-1)?.message ?? said };
  }
  if (fault !== "broken" && !(error instanceof BrokenConnection)) return undefined;
  const advice = innermostCode(chain);
  const inner = chain.at(-1)?.message ?? said;
  // Without a code, only the innermost message says what is wrong ("bad port"). It is not our own, so it must be scrubbed.
  return {
    kind: ErrorKind.SERVER_ERROR,
    said: advice !== "" || inner === "" || inner === said ? said : `${said} (${inner})`,
    advice,
  };
}
