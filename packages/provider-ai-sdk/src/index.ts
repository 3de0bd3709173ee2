// Models of the AI SDK for Ravi. This list is the public surface; a test pins it.

export { carefulFetch } from "./wire/careful-fetch.ts";
export { fromAiSdk } from "./from-ai-sdk.ts";
export type { AiSdkModel } from "./model.ts";
export type { AiSdkOptions } from "./options.ts";
