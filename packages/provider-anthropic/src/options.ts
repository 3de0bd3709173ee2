import { checkFields, checkInteger, type Clock, InvalidValueError, type Logger } from "@ravi/kernel";
import {
  checkBaseURL,
  checkClientParts,
  namesOnly,
  type WireLimits,
  wireLimits,
} from "@ravi/kernel/provider";

export interface AnthropicOptions {
  /** `ANTHROPIC_API_KEY` of the environment, else `ANTHROPIC_AUTH_TOKEN`, read at the first call. `null`: none is sent. */
  readonly apiKey?: string | null | undefined;
  /** Another server that speaks the Messages API. `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com`. */
  readonly baseURL?: string | undefined;
  /** Which version of the API is spoken: the client's own. Before 2026-10-21 it took `temperature` and `topP`. */
  readonly apiVersion?: string | undefined;
  /** Sent with each request, over what is sent by itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the server is called in `info.provider`, `id`, errors and `providerOptions`: `anthropic`. */
  readonly provider?: string | undefined;
  /** The longest answer where a request does not say, and what `info` tells the ledger to reserve: 16,384. */
  readonly maxOutputTokens?: number | undefined;
  readonly contextWindow?: number | undefined;
  /** How long the server keeps what stays the same from call to call: `5m`. `1h` costs more to write. `false`: not at all. */
  readonly cache?: "5m" | "1h" | false | undefined;
  /** Over what the model does by itself, and over what a request's `reasoning` asks for. */
  readonly thinking?: "adaptive" | "off" | { readonly budgetTokens: number } | undefined;
  /** How long the server may be silent, before its headers or in the middle of its answer: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long an answer may be on the wire: 256 MiB. An event of a stream, and an answer that is not streamed: at most 32 MiB of it. */
  readonly maxResponseBytes?: number | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Where the idle timer comes from; the real one, unless given. */
  readonly clock?: Clock | undefined;
  /** Warned, once each, of what a request asked for and the API has no place for, and of what was corrected. */
  readonly logger?: Logger | undefined;
}

const OPTIONS = [
  "apiKey",
  "baseURL",
  "apiVersion",
  "headers",
  "provider",
  "maxOutputTokens",
  "contextWindow",
  "cache",
  "thinking",
  "idleTimeoutMs",
  "maxResponseBytes",
  "fetch",
  "clock",
  "logger",
] as const satisfies readonly (keyof AnthropicOptions)[];

/** Room for thinking and a long answer, and little enough to be reserved from a small budget. */
const MAX_OUTPUT_TOKENS = 16_384;
/** The least that the API takes. */
const LEAST_THINKING = 1_024;

export interface Limits extends WireLimits {
  readonly maxOutputTokens: number;
}

/** Finds what is wrong with the options before anything is sent. No message shows a key or a URL that may carry one. */
export function checkOptions(options: AnthropicOptions): Limits {
  checkFields("anthropic options", namesOnly(options), OPTIONS);
  checkClientParts("anthropic options", options);
  const { baseURL, apiVersion, contextWindow, cache, thinking } = options;
  if (baseURL !== undefined) readBaseURL(baseURL, "baseURL");
  if (apiVersion !== undefined && !/^\d{4}-\d\d-\d\d$/.test(apiVersion)) {
    refuse("apiVersion", apiVersion, "a date such as 2026-10-21");
  }
  if (contextWindow !== undefined) checkInteger("contextWindow", contextWindow, 1);
  if (cache !== undefined && cache !== false && cache !== "5m" && cache !== "1h") {
    refuse("cache", cache, '"5m", "1h" or false');
  }
  if (typeof thinking === "object") {
    checkFields("thinking", thinking, ["budgetTokens"]);
    checkInteger("thinking.budgetTokens", thinking.budgetTokens, LEAST_THINKING);
  } else if (thinking !== undefined && thinking !== "adaptive" && thinking !== "off") {
    refuse("thinking", thinking, '"adaptive", "off" or { budgetTokens }');
  }
  return {
    ...wireLimits(options),
    maxOutputTokens: checkInteger("maxOutputTokens", options.maxOutputTokens ?? MAX_OUTPUT_TOKENS, 1),
  };
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}

/** A base URL that can be used, also the one of the environment. */
export function readBaseURL(value: string, field: string): URL {
  return checkBaseURL(field, URL.canParse(value) ? new URL(value) : undefined);
}
