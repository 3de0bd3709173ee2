import type { AbortSignalLike, JsonObject } from "@ravi/kernel";

/**
 * A language model of the AI SDK, of its specification v2, v3 or v4, as far as it is used here. Written out, so that neither
 * the package nor its types have to be installed: `LanguageModelV2`, `V3` and `V4` of `@ai-sdk/provider` fit.
 */
export interface AiSdkModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  /** Which URLs the model reads by itself, by media type. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls> | undefined;
  // Methods, so that a model which asks for more precise options still fits; what goes in is made for its version.
  doGenerate(options: AiSdkCallOptions): PromiseLike<object>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: AiSdkStream }>;
}

export type SpecificationVersion = AiSdkModel["specificationVersion"];

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** A `ReadableStream`, whoever's. */
interface AiSdkStream {
  getReader(): AiSdkReader;
}

export interface AiSdkReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): PromiseLike<void>;
}

/** The options of a call that all versions share. `prompt`, `tools` and the like are written for the model's own version. */
export interface AiSdkCallOptions {
  readonly prompt: readonly unknown[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly tools?: readonly unknown[];
  readonly toolChoice?: unknown;
  readonly responseFormat?: unknown;
  /** From v4 on. */
  readonly reasoning?: unknown;
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly abortSignal?: AbortSignalLike;
}
