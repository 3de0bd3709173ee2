export type { DynamicHiringOptions, OrchestratorAgentOptions, SubAgentConfig } from "./options.ts";
export { OrchestratorAgent } from "./orchestrator-agent.ts";
