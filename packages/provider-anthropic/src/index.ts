// A model for Ravi that speaks Anthropic's Messages API. This list is the public surface; a test pins it.

export { anthropic } from "./anthropic.ts";
export type { AnthropicOptions } from "./options.ts";
