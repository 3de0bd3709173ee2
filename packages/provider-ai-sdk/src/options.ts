import {
  checkBoolean,
  checkFields,
  checkInteger,
  type Clock,
  InvalidValueError,
  type JsonObject,
  type Logger,
} from "@ravi/kernel";
import { checkRecord } from "@ravi/kernel/loop";
import { checkClientParts, isObject, namesOnly, type WireLimits, wireLimits } from "@ravi/kernel/provider";

/** Options of `fromAiSdk()`. All are optional. */
export interface AiSdkOptions {
  /** The name of the provider in `info`, `id` and errors. Default: the model's, up to its first dot (`openai.chat`: `openai`). */
  readonly provider?: string | undefined;
  /** The size of the context window in tokens, for `info`. Default: unknown. */
  readonly contextWindow?: number | undefined;
  /** The most tokens that the model can write, for `info`. A request is not limited by it. Default: unknown. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * Milliseconds that the model may be silent, before its answer or within it. Default: 240,000. More than 300,000 need a provider with a
   * `fetch` of your own, because that of Node gives up then.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Sent with each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Options of the AI SDK's provider, by its name. Those of a request override them one by one. Default: none. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
  /**
   * Whether the model accepts system messages in the middle of a conversation. Default: true if the provider is OpenAI or Azure.
   */
  readonly systemAnywhere?: boolean | undefined;
  /** Texts such as keys that are removed from all errors. What looks like a key is removed anyway. */
  readonly secrets?: readonly string[] | undefined;
  /** Gets each warning of the model once, and each kind of thing that had to be left out of a conversation. Default: no logging. */
  readonly logger?: Logger | undefined;
  /** The clock of the idle timer. Default: the real one. */
  readonly clock?: Clock | undefined;
}

const OPTIONS = [
  "provider",
  "contextWindow",
  "maxOutputTokens",
  "idleTimeoutMs",
  "headers",
  "providerOptions",
  "systemAnywhere",
  "secrets",
  "logger",
  "clock",
] as const satisfies readonly (keyof AiSdkOptions)[];

/** Checks the options before anything is sent. No error message shows a value, since headers and secrets are among them. */
export function checkOptions(options: AiSdkOptions): Pick<WireLimits, "idleTimeoutMs"> {
  checkFields("fromAiSdk options", namesOnly(options), OPTIONS);
  checkClientParts("fromAiSdk options", options);
  const { secrets = [], systemAnywhere, providerOptions } = options;
  if (!Array.isArray(secrets) || !Array.from<unknown>(secrets).every((each) => typeof each === "string")) {
    const expected = "a list of strings";
    throw new InvalidValueError({ field: "secrets", value: "(not shown)", expected });
  }
  if (systemAnywhere !== undefined) checkBoolean("systemAnywhere", systemAnywhere);
  if (providerOptions !== undefined)
    checkRecord(
      "providerOptions",
      providerOptions,
      "an object with the options of each provider, such as { openai: { … } }",
    );
  if (options.contextWindow !== undefined) checkInteger("contextWindow", options.contextWindow, 1);
  if (options.maxOutputTokens !== undefined) checkInteger("maxOutputTokens", options.maxOutputTokens, 1);
  return wireLimits({ idleTimeoutMs: options.idleTimeoutMs });
}

const VERSIONS = ["v2", "v3", "v4"];

/** Throws an `InvalidValueError` if it is no model. The likely mistake is a model's name, which the AI SDK itself accepts too. */
export function checkModel(model: unknown): void {
  const expected = 'a language model of the AI SDK (v2, v3 or v4), such as openai("gpt-5") of @ai-sdk/openai';
  if (
    !isObject(model) ||
    typeof model["doGenerate"] !== "function" ||
    typeof model["doStream"] !== "function"
  ) {
    throw new InvalidValueError({
      field: "model",
      value: typeof model === "string" ? model : typeof model,
      expected,
    });
  }
  const { specificationVersion } = model;
  if (typeof specificationVersion === "string" && VERSIONS.includes(specificationVersion)) return;
  throw new InvalidValueError({ field: "model.specificationVersion", value: specificationVersion, expected });
}
