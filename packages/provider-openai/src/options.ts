import { checkFields, checkInteger, type Clock, InvalidValueError } from "@ravi/kernel";
import { isObject } from "./wire/json.ts";

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
  /** Which of OpenAI's protocols is spoken. Chat Completions is the one there is. */
  readonly api?: "chat" | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Where the idle timer comes from; the real one, unless given. */
  readonly clock?: Clock | undefined;
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
] as const satisfies readonly (keyof OpenAIOptions)[];

/** Below the 300 s after which Node's own `fetch` gives up, so that it is this limit that is seen. */
const IDLE_TIMEOUT_MS = 240_000;
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
/** What has to be held in memory at once. */
const MAX_PIECE_BYTES = 32 * 1024 * 1024;

export interface Limits {
  readonly idleTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly maxPieceBytes: number;
}

/** Finds what is wrong with the options before anything is sent. No message shows a key or a URL that may carry one. */
export function checkOptions(options: OpenAIOptions): Limits {
  checkFields("openai options", hideSecrets(options), OPTIONS);
  const { headers, contextWindow, maxOutputTokens, api } = options;
  if (options.apiKey === "") {
    const expected = "a key, null for none, or nothing for the one in OPENAI_API_KEY";
    throw new InvalidValueError({ field: "apiKey", value: "", expected });
  }
  if (options.baseURL !== undefined) checkBaseURL(options.baseURL, "baseURL");
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (typeof value === "string") continue;
    throw new InvalidValueError({ field: `headers.${name}`, value, expected: "a string" });
  }
  if (contextWindow !== undefined) checkInteger("contextWindow", contextWindow, 1);
  if (maxOutputTokens !== undefined) checkInteger("maxOutputTokens", maxOutputTokens, 1);
  if (api !== undefined && api !== "chat") {
    throw new InvalidValueError({ field: "api", value: api, expected: '"chat"' });
  }
  const maxResponseBytes = checkInteger(
    "maxResponseBytes",
    options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
    1,
  );
  return {
    idleTimeoutMs: checkInteger("idleTimeoutMs", options.idleTimeoutMs ?? IDLE_TIMEOUT_MS, 1),
    maxResponseBytes,
    maxPieceBytes: Math.min(MAX_PIECE_BYTES, maxResponseBytes),
  };
}

/** A base URL that can be used, also the one of the environment. */
export function checkBaseURL(value: string, field: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const expected = "a URL that begins with http:// or https://, such as http://127.0.0.1:11434/v1";
    throw new InvalidValueError({ field, value: "another value (not shown)", expected });
  }
  if (url.username !== "" || url.password !== "") {
    const expected = "a URL without user name and password; send them as a header: headers.authorization";
    throw new InvalidValueError({ field, value: "a URL with credentials (not shown)", expected });
  }
  return url;
}

/** Only the names are checked; a value would be shown where a name is wrong. */
function hideSecrets(options: OpenAIOptions): unknown {
  if (!isObject(options)) return options;
  return Object.fromEntries(Object.keys(options).map((key) => [key, "(not shown)"]));
}
