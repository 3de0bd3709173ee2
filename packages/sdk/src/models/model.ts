import { checkFields, checkInteger, InvalidValueError, type LLMClient } from "@ravi/kernel";
import { asOwn, checkRecord, hasMethod } from "@ravi/kernel/loop";
import { checkBaseURL, checkClientParts, fieldsOf, namesOnly, wireLimits } from "@ravi/kernel/provider";
import { lazyModel } from "./load/lazy-model.ts";
import type { ModelOptions, ModelOptionsOf, Models, ProviderOptions } from "./options.ts";
import { BUILT_IN, OF_ALL, type Provider } from "./load/providers.ts";

type Options = ProviderOptions & Pick<ModelOptions, "models">;

/**
 * A model by name: `"openai:gpt-5-mini"`, with the options of its provider. Throws an `InvalidValueError` if the provider or an option is
 * not known, or a value is wrong. The provider is loaded, and the environment read, at the first call.
 */
export function model<S extends string>(spec: S, options?: ModelOptionsOf<S>): LLMClient;
export function model(spec: string, options: Options = {}): LLMClient {
  const builtIn = builtInOf(spec);
  const providers = builtIn === undefined ? Object.values(BUILT_IN) : [builtIn];
  const names: readonly (keyof Options)[] = [
    "models",
    ...OF_ALL,
    ...providers.flatMap(({ options: each }) => each),
  ];
  checkFields("model options", namesOnly(options), names);
  const { models = {}, ...rest } = asOwn(options, names);
  checkModels(models);
  const { prefix, name } = parseSpec(spec, models);
  const factory = Object.hasOwn(models, prefix) ? models[prefix] : undefined;
  if (factory !== undefined) {
    refuseOptions(prefix, rest);
    return checkModel(`models["${prefix}"]("${name}")`, factory(name));
  }
  if (builtIn === undefined) throw unknownModel(spec, models);
  // The client is created at the first call; a wrong option has to be reported here, where it was written.
  checkClientParts("model options", rest);
  wireLimits(rest);
  builtIn.check(rest);
  const { provider = prefix, baseURL, contextWindow, maxOutputTokens, cache } = rest;
  if (baseURL !== undefined) checkBaseURL("model options.baseURL", urlOf(baseURL));
  if (contextWindow !== undefined) checkInteger("model options.contextWindow", contextWindow, 1);
  if (maxOutputTokens !== undefined) checkInteger("model options.maxOutputTokens", maxOutputTokens, 1);
  const info = {
    provider,
    model: name,
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    // What is reserved for a call depends on it.
    ...(cache === "1h" && { cacheTtl: cache }),
  };
  return lazyModel(`${provider}/${name}`, info, () => builtIn.load(name, rest));
}

function builtInOf(spec: unknown): Provider | undefined {
  const [prefix = ""] = typeof spec === "string" ? spec.split(":", 1) : [];
  return Object.hasOwn(BUILT_IN, prefix) ? BUILT_IN[prefix] : undefined;
}

function urlOf(text: unknown): URL | undefined {
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}

/** The user's own function does not get these options. If they were ignored silently, a `baseURL` would have no effect. */
function refuseOptions(prefix: string, options: ProviderOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const expected = `no value: models["${prefix}"] creates this model, so set it there`;
    throw new InvalidValueError({ field: `model options.${name}`, value: "(not shown)", expected });
  }
}

/**
 * The client for the `model` option of an agent. Throws an `InvalidValueError` that names `field` if it is neither a known name
 * nor a client.
 */
export function resolveModel(
  field: string,
  given: string | LLMClient,
  models: Models | undefined,
): LLMClient {
  if (typeof given === "string") return model(given, { models });
  if (models !== undefined) checkModels(models);
  return checkModel(field, given);
}

function parseSpec(spec: unknown, models: Models): { readonly prefix: string; readonly name: string } {
  if (typeof spec !== "string") throw unknownModel(spec, models);
  const colon = spec.indexOf(":");
  // Split at the first colon only: model names such as `ft:gpt-4o:acme` contain colons themselves.
  if (colon < 1 || colon === spec.length - 1) throw unknownModel(spec, models);
  return { prefix: spec.slice(0, colon), name: spec.slice(colon + 1) };
}

function unknownModel(spec: unknown, models: Models): InvalidValueError {
  const known = [...Object.keys(models), ...Object.keys(BUILT_IN)].join(", ");
  const expected = `"provider:model", such as "openai:gpt-5-mini" (known providers: ${known}; add others with the option models), or an LLMClient`;
  return new InvalidValueError({ field: "model", value: spec, expected });
}

function checkModels(models: unknown): void {
  const expected =
    "an object with a function for each prefix, such as { local: (name) => openai(name, { baseURL }) }";
  for (const [prefix, value] of Object.entries(checkRecord("models", models, expected)))
    if (typeof value !== "function")
      throw new InvalidValueError({ field: `models["${prefix}"]`, value, expected });
}

function checkModel(field: string, value: unknown): LLMClient {
  if (isClient(value)) return value;
  const expected =
    'an LLMClient (an object with id, info: { provider, model } and generate), or a string such as "openai:gpt-5-mini"';
  throw new InvalidValueError({ field, value, expected });
}

/** `info` is required, because prices, hooks and errors identify the model by it. */
function isClient(value: unknown): value is LLMClient {
  if (!hasMethod(value, "generate")) return false;
  const { provider, model: name } = fieldsOf(fieldsOf(value)["info"]);
  return typeof provider === "string" && typeof name === "string";
}
