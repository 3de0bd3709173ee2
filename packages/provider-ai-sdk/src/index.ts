/**
 * `fromAiSdk`: any language model of the AI SDK as a model for Ravi.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { carefulFetch } from "./wire/careful-fetch.ts";
export { fromAiSdk } from "./from-ai-sdk.ts";
export type { AiSdkModel } from "./model.ts";
export type { AiSdkOptions } from "./options.ts";
