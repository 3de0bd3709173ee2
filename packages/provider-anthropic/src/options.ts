import { checkFields, checkInteger, type Clock, InvalidValueError, type Logger } from "@ravi/kernel";
import {
  checkBaseURL,
  checkClientParts,
  namesOnly,
  type WireLimits,
  wireLimits,
} from "@ravi/kernel/provider";

/** Options of `anthropic()`. All are optional. */
export interface AnthropicOptions {
  /**
   * Default: `ANTHROPIC_API_KEY` of the environment, else `ANTHROPIC_AUTH_TOKEN`, read at the first call. With `null` no key is
   * sent.
   */
  readonly apiKey?: string | null | undefined;
  /** Base URL of another server that speaks the Messages API. Default: `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com`. */
  readonly baseURL?: string | undefined;
  /**
   * The `anthropic-version` header, a date. Default: that of the official client. Versions before 2026-10-21 accept `temperature`
   * and `topP`.
   */
  readonly apiVersion?: string | undefined;
  /** Sent with each request. They replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The name of the server in `info.provider`, `id`, errors and `providerOptions`. Default: `"anthropic"`. */
  readonly provider?: string | undefined;
  /**
   * The limit of output tokens if a request has none. It is in `info` too, so that the ledger reserves as much. Default: 16,384.
   */
  readonly maxOutputTokens?: number | undefined;
  /** The size of the context window in tokens, for `info`. Default: known for Claude 4.5 to 5.x. */
  readonly contextWindow?: number | undefined;
  /**
   * How long the server caches the beginning of a conversation; `false` turns caching off. `"1h"` costs more to write. Default:
   * `"5m"`.
   */
  readonly cache?: "5m" | "1h" | false | undefined;
  /**
   * Overrides the model's own default and the request's `reasoning`. A budget above 80 % of `maxOutputTokens` is lowered to that, and the
   * logger is told. Default: neither is overridden.
   */
  readonly thinking?: "adaptive" | "off" | { readonly budgetTokens: number } | undefined;
  /**
   * Milliseconds that the server may be silent, before its headers or within its answer. Default: 240,000. More than 300,000 need a
   * `fetch` of your own, because that of Node gives up then.
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * The maximum size of an answer in bytes. Default: 256 MiB. One event of a stream, or an answer that is not streamed, may have at
   * most 32 MiB of it.
   */
  readonly maxResponseBytes?: number | undefined;
  /** Used for all requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The clock of the idle timer. Default: the real one. */
  readonly clock?: Clock | undefined;
  /** Gets one warning for each kind of thing that had to be left out of a request or was corrected. Default: no logging. */
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

/** Enough for thinking and a long answer, and little enough to be reserved from a small budget. */
const MAX_OUTPUT_TOKENS = 16_384;
/** The minimum that the API accepts. */
const LEAST_THINKING = 1_024;

export interface Limits extends WireLimits {
  readonly maxOutputTokens: number;
}

/** Checks the options before anything is sent. No error message shows a key, or a URL that may contain one. */
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

/** Parses and checks a base URL, from the options or the environment. Throws an `InvalidValueError`. */
export function readBaseURL(value: string, field: string): URL {
  return checkBaseURL(field, URL.canParse(value) ? new URL(value) : undefined);
}
