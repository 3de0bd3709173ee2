/**
 * `anthropic`: a model for Ravi over Anthropic's Messages API.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { anthropic } from "./anthropic.ts";
export type { AnthropicOptions } from "./options.ts";
