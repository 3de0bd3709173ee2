/**
 * `ReActAgent`: the loop that calls a model and its tools until there is an answer.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type { DelegateOptions, Instructions, ModelSettings } from "@ravi/kernel/loop";
export { ReActAgent, type ReActAgentOptions } from "./react-agent.ts";
