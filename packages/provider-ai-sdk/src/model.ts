import type { AbortSignalLike, JsonObject } from "@ravi/kernel";

/**
 * A language model of the AI SDK with specification v2, v3 or v4, reduced to what is used here. `LanguageModelV2`, `V3` and `V4` of
 * `@ai-sdk/provider` fit, and neither that package nor its types have to be installed.
 */
export interface AiSdkModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  /** The URLs that the model can read itself, by media type. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls> | undefined;
  // Methods, not properties: their parameters are checked bivariantly, so that a model with more precise options fits. The options
  // are built for the model's version.
  doGenerate(options: AiSdkCallOptions): PromiseLike<object>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: AiSdkStream }>;
}

export type SpecificationVersion = AiSdkModel["specificationVersion"];

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** Any implementation of `ReadableStream`. */
interface AiSdkStream {
  getReader(): AiSdkReader;
}

export interface AiSdkReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): PromiseLike<void>;
}

/** The call options that all versions share. `prompt`, `tools` and others are written for the model's version. */
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
