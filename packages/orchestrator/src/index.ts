/**
 * `OrchestratorAgent`: an agent whose model hands tasks to other agents, under one headcount and one budget.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type { DynamicHiringOptions, OrchestratorAgentOptions, SubAgentConfig } from "./options.ts";
export { OrchestratorAgent } from "./orchestrator-agent.ts";
