/**
 * `openai`: a model for Ravi over OpenAI's Responses API, or over the Chat Completions API of any compatible server.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { openai } from "./openai.ts";
export type { OpenAIOptions } from "./options.ts";
