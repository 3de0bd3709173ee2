import { checkFields, checkInteger, type Clock, InvalidValueError, type Logger } from "@ravi/kernel";
import {
  checkBaseURL,
  checkClientParts,
  namesOnly,
  type WireLimits,
  wireLimits,
} from "@ravi/kernel/provider";

/** Options of `openai()`. All are optional. */
export interface OpenAIOptions {
  /** Default: `OPENAI_API_KEY` of the environment, read at the first call. With `null` no key is sent. */
  readonly apiKey?: string | null | undefined;
  /**
   * Base URL of another server that speaks the protocol, including its `/v1`. Default: `OPENAI_BASE_URL`, else
   * `https://api.openai.com/v1`.
   */
  readonly baseURL?: string | undefined;
  /** Default: `OPENAI_ORG_ID` of the environment, but only if no other server is called. */
  readonly organization?: string | undefined;
  /** Default: `OPENAI_PROJECT_ID` of the environment, but only if no other server is called. */
  readonly project?: string | undefined;
  /** Sent with each request. They replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The name of the server in `info.provider`, `id`, errors and `providerOptions`. Default: `"openai"`. */
  readonly provider?: string | undefined;
  /**
   * Milliseconds that the server may be silent, before its headers or within its answer. Default: 240,000. More than 300,000 need a
   * `fetch` of your own, because that of Node gives up then.
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * The maximum size of an answer in bytes. Default: 256 MiB. One line of a stream, or an answer that is not streamed, may have at
   * most 32 MiB of it.
   */
  readonly maxResponseBytes?: number | undefined;
  /** The size of the context window in tokens, for `info`. Default: unknown. */
  readonly contextWindow?: number | undefined;
  /** The most tokens that the model can write, for `info`. A request is not limited by it. Default: unknown. */
  readonly maxOutputTokens?: number | undefined;
  /** The protocol to use. Default: `"responses"` with OpenAI, `"chat"` with any other `baseURL`. */
  readonly api?: "responses" | "chat" | undefined;
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
  "organization",
  "project",
  "headers",
  "provider",
  "idleTimeoutMs",
  "maxResponseBytes",
  "contextWindow",
  "maxOutputTokens",
  "api",
  "fetch",
  "clock",
  "logger",
] as const satisfies readonly (keyof OpenAIOptions)[];

/** Checks the options before anything is sent. No error message shows a key, or a URL that may contain one. */
export function checkOptions(options: OpenAIOptions): WireLimits {
  checkFields("openai options", namesOnly(options), OPTIONS);
  const { contextWindow, maxOutputTokens, api } = options;
  checkClientParts("openai options", options);
  for (const name of ["organization", "project"] as const)
    if (options[name] !== undefined && typeof options[name] !== "string")
      throw new InvalidValueError({ field: name, value: options[name], expected: "a text" });
  if (options.baseURL !== undefined) readBaseURL(options.baseURL, "baseURL");
  if (contextWindow !== undefined) checkInteger("contextWindow", contextWindow, 1);
  if (maxOutputTokens !== undefined) checkInteger("maxOutputTokens", maxOutputTokens, 1);
  if (api !== undefined && api !== "chat" && api !== "responses") {
    throw new InvalidValueError({ field: "api", value: api, expected: '"responses" or "chat"' });
  }
  return wireLimits(options);
}

/** Parses and checks a base URL, from the options or the environment. Throws an `InvalidValueError`. */
export function readBaseURL(value: string, field: string): URL {
  return checkBaseURL(field, URL.canParse(value) ? new URL(value) : undefined);
}
