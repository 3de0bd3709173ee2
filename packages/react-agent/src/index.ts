export type { DelegateOptions, Instructions, ModelSettings } from "@ravi/kernel/loop";
export { ReActAgent, type ReActAgentOptions } from "./react-agent.ts";
