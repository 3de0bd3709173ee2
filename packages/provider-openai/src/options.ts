import { checkFields, checkInteger, type Clock, InvalidValueError, type Logger } from "@ravi/kernel";
import {
  checkBaseURL,
  checkClientParts,
  namesOnly,
  type WireLimits,
  wireLimits,
} from "@ravi/kernel/provider";

export interface OpenAIOptions {
  /** `OPENAI_API_KEY` of the environment, read at the first call. `null`: none is sent. */
  readonly apiKey?: string | null | undefined;
  /** Another server that speaks the protocol, with its `/v1`. `OPENAI_BASE_URL`, else `https://api.openai.com/v1`. */
  readonly baseURL?: string | undefined;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Sent with each request, over what is sent by itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the server is called in `info.provider`, `id`, errors and `providerOptions`: `openai`. */
  readonly provider?: string | undefined;
  /** How long the server may be silent, before its headers or in the middle of its answer: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long an answer may be on the wire: 256 MiB. A line of a stream, and an answer that is not streamed: at most 32 MiB of it. */
  readonly maxResponseBytes?: number | undefined;
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Which of OpenAI's protocols is spoken: the Responses API with OpenAI, Chat Completions with any other `baseURL`. */
  readonly api?: "responses" | "chat" | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Where the idle timer comes from; the real one, unless given. */
  readonly clock?: Clock | undefined;
  /** Is told once of each kind of thing that had to be left out of a request, or was corrected. Nothing is said, unless given. */
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

/** Finds what is wrong with the options before anything is sent. No message shows a key or a URL that may carry one. */
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

/** A base URL that can be used, also the one of the environment. */
export function readBaseURL(value: string, field: string): URL {
  return checkBaseURL(field, URL.canParse(value) ? new URL(value) : undefined);
}
