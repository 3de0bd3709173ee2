export type { DelegateOptions } from "./delegate.ts";
export type { Instructions, ModelSettings, ReActAgentOptions } from "./options.ts";
export { ReActAgent } from "./react-agent.ts";
