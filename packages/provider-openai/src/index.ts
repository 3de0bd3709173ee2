// OpenAI's protocol as a model for Ravi. This list is the public surface; a test pins it.

export { openai } from "./openai.ts";
export type { OpenAIOptions } from "./options.ts";
