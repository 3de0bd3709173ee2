export { ConditionalFlow, type ConditionalFlowOptions, type Predicate } from "./conditional-flow.ts";
export type { FlowOptions } from "./flow.ts";
export { InformationAgent, type InformationAgentOptions, type Watched } from "./information-agent.ts";
export type { AgentMetrics, RunMetrics } from "./metrics.ts";
export { type Combine, ParallelFlow, type ParallelFlowOptions } from "./parallel-flow.ts";
export type { FlowResult, StepResult } from "./results.ts";
export { SequentialFlow, type SequentialFlowOptions } from "./sequential-flow.ts";
export type { FlowStep, FlowStepConfig } from "./steps.ts";
