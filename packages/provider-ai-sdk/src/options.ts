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

export interface AiSdkOptions {
  /** What the provider is called in `info`, `id` and errors: the model's own, up to its first dot (`openai.chat`: `openai`). */
  readonly provider?: string | undefined;
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** How long the model may be silent, before its answer or in the middle of it: 240,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Settings of the AI SDK's provider, by its name, under those of the request. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
  /** Whether the model takes system messages in the middle of a conversation: where the provider is OpenAI or Azure. */
  readonly systemAnywhere?: boolean | undefined;
  /** Texts that must be in no error, such as keys. What looks like a key is taken out anyway. */
  readonly secrets?: readonly string[] | undefined;
  /** Told once each of the warnings of the model, and of what had to be left out of a conversation. Nothing is said, unless given. */
  readonly logger?: Logger | undefined;
  /** Where the idle timer comes from; the real one, unless given. */
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

/** Finds what is wrong before anything is sent. No message shows a value: headers and secrets are among them. */
export function checkOptions(options: AiSdkOptions): Pick<WireLimits, "idleTimeoutMs"> {
  checkFields("fromAiSdk options", namesOnly(options), OPTIONS);
  checkClientParts("fromAiSdk options", options);
  const { secrets = [], systemAnywhere, providerOptions } = options;
  if (!Array.isArray(secrets) || !Array.from<unknown>(secrets).every((each) => typeof each === "string")) {
    const expected = "a list of texts";
    throw new InvalidValueError({ field: "secrets", value: "another value (not shown)", expected });
  }
  if (systemAnywhere !== undefined) checkBoolean("systemAnywhere", systemAnywhere);
  if (providerOptions !== undefined)
    checkRecord("providerOptions", providerOptions, "options by the name of a provider");
  if (options.contextWindow !== undefined) checkInteger("contextWindow", options.contextWindow, 1);
  if (options.maxOutputTokens !== undefined) checkInteger("maxOutputTokens", options.maxOutputTokens, 1);
  return wireLimits({ idleTimeoutMs: options.idleTimeoutMs });
}

const VERSIONS = ["v2", "v3", "v4"];

/** A model's name in place of a model is the likely mistake: the AI SDK itself takes both. */
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
