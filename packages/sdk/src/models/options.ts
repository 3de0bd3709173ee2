import type { Clock, LLMClient, Logger } from "@ravi/kernel";

/**
 * Creates a model from the name behind your prefix: with `models: { local: (name) => openai(name, { baseURL }) }`,
 * `"local:qwen3"` calls it with `"qwen3"`.
 */
export type ModelFactory = (name: string) => LLMClient;
/** Model factories by prefix. */
export type Models = Readonly<Record<string, ModelFactory>>;

/** The platform's `fetch`, as the user's platform declares it (DOM, Node or neither). */
type Fetch = typeof globalThis extends { fetch: infer F } ? F : never;

/** Options of a model by name, whoever its provider is. All are optional. */
export interface ModelOptions {
  /** Your own prefixes. They take precedence over the built-in ones. */
  readonly models?: Models | undefined;
  /**
   * Default: `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` (or `ANTHROPIC_AUTH_TOKEN`) of the environment, read at the first call. With `null` no key is sent.
   */
  readonly apiKey?: string | null | undefined;
  /** The address of another server that speaks the same protocol. */
  readonly baseURL?: string | undefined;
  /** Sent with each request. They replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The name of the server in `info.provider`, `id`, errors and prices. Default: the prefix. */
  readonly provider?: string | undefined;
  /** Milliseconds that the server may be silent, before its headers or within its answer. Default: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** The maximum size of an answer in bytes. Default: 256 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Tokens that the model can take in one call, prompt and answer together. */
  readonly contextWindow?: number | undefined;
  /** The most tokens that the model can give in one answer. */
  readonly maxOutputTokens?: number | undefined;
  /** Used for all requests, for instance to go through a proxy. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The clock of the idle timer. Default: the real one. */
  readonly clock?: Clock | undefined;
  /** Gets one warning for each kind of thing that had to be left out of a request or was corrected. Default: no logging. */
  readonly logger?: Logger | undefined;
}

/** Options of `model("openai:…")`: those of `openai()` of `@ravi/provider-openai`. */
export interface OpenAIModelOptions extends ModelOptions {
  /** The protocol to use. Default: `"responses"` with OpenAI, `"chat"` with any other `baseURL`. */
  readonly api?: "responses" | "chat" | undefined;
  /** Default: `OPENAI_ORG_ID` of the environment, but only if no other server is called. */
  readonly organization?: string | undefined;
  /** Default: `OPENAI_PROJECT_ID` of the environment, but only if no other server is called. */
  readonly project?: string | undefined;
}

/**
 * Options of `model("anthropic:…")`: those of `anthropic()` of `@ravi/provider-anthropic`. Declared here, because that package may not
 * be installed.
 */
export interface AnthropicModelOptions extends ModelOptions {
  /** The `anthropic-version` header, a date. Default: that of the official client. */
  readonly apiVersion?: string | undefined;
  /** How long the server caches the beginning of a conversation. `"1h"` costs more to write. Default: `"5m"`. */
  readonly cache?: "5m" | "1h" | false | undefined;
  /**
   * Overrides the model's own default and the request's `reasoning`. At most 80 % of the tokens of an answer are used for thinking, so a larger
   * budget also needs `maxOutputTokens`; if it is lowered, the logger is told. Default: neither is overridden.
   */
  readonly thinking?: "adaptive" | "off" | { readonly budgetTokens: number } | undefined;
}

/** The options of a model with this name. If the name is not known at compile time, those that every provider takes. */
export type ModelOptionsOf<S extends string> = S extends `openai:${string}`
  ? OpenAIModelOptions
  : S extends `anthropic:${string}`
    ? AnthropicModelOptions
    : ModelOptions;

/** What a built-in provider is given. */
export type ProviderOptions = Omit<OpenAIModelOptions & AnthropicModelOptions, "models">;
