// Anthropic's Messages API as a model for Ravi. This list is the public surface; a test pins it.

export { anthropic } from "./anthropic.ts";
export type { AnthropicOptions } from "./options.ts";
