// A model for Ravi that speaks OpenAI's protocols. This list is the public surface; a test pins it.

export { openai } from "./openai.ts";
export type { OpenAIOptions } from "./options.ts";
