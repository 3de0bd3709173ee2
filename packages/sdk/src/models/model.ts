import { checkFields, checkInteger, InvalidValueError, type LLMClient } from "@ravi/kernel";
import { asOwn, checkRecord, hasMethod } from "@ravi/kernel/loop";
import { checkBaseURL, checkClientParts, fieldsOf } from "@ravi/kernel/provider";
import { lazyModel } from "./lazy-model.ts";
import { BUILT_IN, type ProviderOptions } from "./providers.ts";

/** Makes a model of one's own by its name: `models: { local: (name) => openai(name, { baseURL }) }` for `"local:qwen3"`. */
export type ModelFactory = (name: string) => LLMClient;
export type Models = Readonly<Record<string, ModelFactory>>;

export interface ModelOptions extends ProviderOptions {
  /** Prefixes of one's own; they go before the built-in ones. */
  readonly models?: Models | undefined;
}

const OPTIONS = [
  "models",
  "apiKey",
  "baseURL",
  "headers",
  "contextWindow",
  "maxOutputTokens",
] as const satisfies readonly (keyof ModelOptions)[];

/** A model by what it is called: `"openai:gpt-5-mini"`. Nothing is loaded, and no key is looked for, before its first call. */
export function model(spec: string, options: ModelOptions = {}): LLMClient {
  checkFields("model options", names(options), OPTIONS);
  const { models = {}, ...rest } = asOwn(options, OPTIONS);
  checkModels(models);
  const { prefix, name } = split(spec, models);
  const own = Object.hasOwn(models, prefix) ? models[prefix] : undefined;
  if (own !== undefined) refuseUnused(prefix, rest);
  if (own !== undefined) return checkModel(`models["${prefix}"]("${name}")`, own(name));
  const load = Object.hasOwn(BUILT_IN, prefix) ? BUILT_IN[prefix] : undefined;
  if (load === undefined) throw unknown(spec, models);
  // The client is made at the first call; what is wrong is said here.
  checkClientParts("model options", rest);
  const { baseURL, contextWindow, maxOutputTokens } = rest;
  if (baseURL !== undefined) checkBaseURL("model options.baseURL", urlOf(baseURL));
  if (contextWindow !== undefined) checkInteger("model options.contextWindow", contextWindow, 1);
  if (maxOutputTokens !== undefined) checkInteger("model options.maxOutputTokens", maxOutputTokens, 1);
  const info = {
    provider: prefix,
    model: name,
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
  return lazyModel(`${prefix}/${name}`, info, () => load(name, rest));
}

function urlOf(text: unknown): URL | undefined {
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}

/** A function of the user's own makes the model as it likes; left aside in silence, an address would be another one. */
function refuseUnused(prefix: string, options: ProviderOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const expected = `nothing: models["${prefix}"] makes that model, and says such things itself`;
    throw new InvalidValueError({ field: `model options.${name}`, value: "(not shown)", expected });
  }
}

/** What an agent's `model` stands for. */
export function resolveModel(
  field: string,
  given: string | LLMClient,
  models: Models | undefined,
): LLMClient {
  return typeof given === "string" ? model(given, { models }) : checkModel(field, given);
}

function split(spec: unknown, models: Models): { readonly prefix: string; readonly name: string } {
  if (typeof spec !== "string") throw unknown(spec, models);
  const colon = spec.indexOf(":");
  // Only the first one parts: names such as `ft:gpt-4o:acme` have colons of their own.
  if (colon < 1 || colon === spec.length - 1) throw unknown(spec, models);
  return { prefix: spec.slice(0, colon), name: spec.slice(colon + 1) };
}

function unknown(spec: unknown, models: Models): InvalidValueError {
  const known = [...Object.keys(models), ...Object.keys(BUILT_IN)].join(", ");
  const expected = `"provider:model", such as "openai:gpt-5-mini" (known providers are ${known}; models: { … } adds others), or an LLMClient`;
  return new InvalidValueError({ field: "model", value: spec, expected });
}

function checkModels(models: unknown): void {
  const expected = "functions by their prefix, such as { local: (name) => openai(name, { baseURL }) }";
  for (const [prefix, value] of Object.entries(checkRecord("models", models, expected)))
    if (typeof value !== "function")
      throw new InvalidValueError({ field: `models["${prefix}"]`, value, expected });
}

function checkModel(field: string, value: unknown): LLMClient {
  if (isClient(value)) return value;
  const expected =
    'an LLMClient (an id, its info with provider and model, and generate), or a text such as "openai:gpt-5-mini"';
  throw new InvalidValueError({ field, value, expected });
}

/** Its calls are priced and told by its info. */
function isClient(value: unknown): value is LLMClient {
  if (!hasMethod(value, "generate")) return false;
  const { provider, model: name } = fieldsOf(fieldsOf(value)["info"]);
  return typeof provider === "string" && typeof name === "string";
}

/** Only the names are checked here; a value would be shown where a name is wrong, and one of them is a key. */
function names(options: unknown): unknown {
  if (typeof options !== "object" || options === null || Object.keys(options).length === 0) return options;
  return Object.fromEntries(Object.keys(options).map((key) => [key, "(not shown)"]));
}
