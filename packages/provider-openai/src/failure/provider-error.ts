import { classifyError, ErrorKind, isRaviError, ProviderError, type RaviError } from "@ravi/kernel";
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { BrokenConnection, OversizedAnswer } from "../wire/body.ts";
import { field } from "../wire/json.ts";
import { ReportedError, UnusableAnswer } from "./facts.ts";
import { retryAfterMs } from "./retry-after.ts";
import type { Scrub } from "./secrets.ts";

export interface FailureContext {
  readonly provider: string;
  readonly model: string;
  readonly scrub: Scrub;
  readonly now: number;
  /** Of the answer, where there was one. */
  readonly headers?: Headers | undefined;
}

const MAX_MESSAGE = 1_000;
const MAX_CAUSES = 4;

/** Whatever went wrong with a call, as an error of Ravi that carries no secret. */
export function explain(error: unknown, context: FailureContext): RaviError {
  if (isRaviError(error)) return error;
  const { provider, model, scrub } = context;
  const carried = error instanceof APIError ? field(error, "headers") : undefined;
  const headers = carried instanceof Headers ? carried : context.headers;
  const { kind, retryable, status, advice } = judge(error);
  const requestId = headers?.get("x-request-id") ?? undefined;
  const said = error instanceof Error ? error.message : String(error);
  return new ProviderError({
    kind,
    retryable,
    status,
    provider,
    model,
    message: `${provider}/${model}: ${clip(scrub(said))}${advice}`,
    retryAfterMs: retryAfterMs(headers, context.now),
    requestId: requestId === undefined ? undefined : scrub(requestId).slice(0, 200),
    cause: cleanCause(error, scrub, MAX_CAUSES),
  });
}

interface Verdict {
  readonly kind: ErrorKind;
  readonly retryable?: boolean | undefined;
  readonly status?: number | undefined;
  readonly advice: string;
}

function judge(error: unknown): Verdict {
  if (error instanceof OversizedAnswer) {
    // Sent again it would be as long.
    return {
      kind: ErrorKind.SERVER_ERROR,
      retryable: false,
      advice: "; raise maxResponseBytes if it is meant to be",
    };
  }
  if (error instanceof UnusableAnswer) return { kind: ErrorKind.SERVER_ERROR, advice: "" };
  if (error instanceof APIConnectionTimeoutError || hasTimedOut(error))
    return { kind: ErrorKind.TIMEOUT, advice: "" };
  if (isMistake(field(error, "cause"))) return { kind: ErrorKind.UNKNOWN, retryable: false, advice: "" };
  if (error instanceof BrokenConnection || error instanceof APIConnectionError)
    return { kind: ErrorKind.SERVER_ERROR, advice: rootOf(error) };
  const { kind, retryable, status } = classifyError(error);
  if (status !== undefined && status >= 300 && status < 400) {
    const advice =
      "; redirects are not followed, so that no key is sent elsewhere: set baseURL to where it leads";
    return { kind: ErrorKind.FORMAT_ERROR, status, advice };
  }
  if (error instanceof ReportedError && kind === ErrorKind.UNKNOWN) {
    const invalid = /invalid_request/.test(String(field(error.error, "type")));
    return { kind: invalid ? ErrorKind.FORMAT_ERROR : ErrorKind.SERVER_ERROR, status, advice: "" };
  }
  return { kind, retryable, status, advice: "" };
}

/** A bug in the `fetch` that was given. Those of the platform report a broken connection as a TypeError too. */
function isMistake(cause: unknown): boolean {
  if (cause instanceof ReferenceError || cause instanceof RangeError) return true;
  return (
    cause instanceof TypeError && /is not (?:a function|iterable)|cannot read propert/i.test(cause.message)
  );
}

/** The timers of Node's own `fetch` ran out. */
function hasTimedOut(error: unknown): boolean {
  return causesOf(error).some((cause) =>
    /^(?:UND_ERR_\w+_TIMEOUT|ETIMEDOUT)$/.test(String(field(cause, "code"))),
  );
}

/** `Connection error.` says nothing; the code at the bottom does. */
function rootOf(error: unknown): string {
  const code = causesOf(error)
    .map((cause) => field(cause, "code"))
    .findLast((found) => typeof found === "string");
  return typeof code === "string" && /^\w{1,60}$/.test(code) ? ` (${code})` : "";
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  return chain;
}

/** A copy: the original holds headers, bodies and stacks in which anything may stand. */
function cleanCause(error: unknown, scrub: Scrub, left: number): Error | undefined {
  if (!(error instanceof Error) || left === 0) return undefined;
  const cause = cleanCause(error.cause, scrub, left - 1);
  const copy = new Error(clip(scrub(error.message)), cause === undefined ? undefined : { cause });
  const code = field(error, "code");
  const name = error.constructor.name === "" ? error.name : error.constructor.name;
  Object.defineProperty(copy, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(copy, "stack", {
    value: `${name}: ${copy.message}${framesOf(error.stack, scrub)}`,
    configurable: true,
    writable: true,
  });
  if (typeof code === "string") Object.assign(copy, { code: clip(scrub(code)) });
  return copy;
}

function framesOf(stack: string | undefined, scrub: Scrub): string {
  const frames = (stack ?? "").split("\n").filter((line) => /^ {4}at /.test(line));
  return frames
    .slice(0, 20)
    .map((frame) => `\n${scrub(frame).slice(0, 300)}`)
    .join("");
}

function clip(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}...`;
}
