/**
 * Agents in a fixed order: one after the other, all at once, or one of two; and `InformationAgent`, which adds up what a run used.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { ConditionalFlow, type ConditionalFlowOptions, type Predicate } from "./conditional-flow.ts";
export type { FlowOptions } from "./flow.ts";
export { InformationAgent, type InformationAgentOptions, type Watched } from "./information-agent.ts";
export type { AgentMetrics, RunMetrics } from "./metrics.ts";
export { type Combine, ParallelFlow, type ParallelFlowOptions } from "./parallel-flow.ts";
export type { FlowResult, StepResult } from "./results.ts";
export { SequentialFlow, type SequentialFlowOptions } from "./sequential-flow.ts";
export type { FlowStep, FlowStepConfig } from "./steps.ts";
