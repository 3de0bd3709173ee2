/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Everything from one import: `agent`, `team` and `tool` define agents; `run`, `start`, `resume` and `estimate` run them.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

import { checkNode } from "./node.ts";

checkNode(Promise, globalThis);

// The types that the signatures below mention, so that a project that installs only the sdk can name them.
export type {
  Agent,
  AgentContext,
  AgentEvent,
  AgentResult,
  AnswerOf,
  AnyRaviError,
  Attachment,
  AuditEntry,
  AuditLog,
  ChatMessage,
  DelegateTool,
  ErrorByCode,
  HireLeaf,
  Hooks,
  Inbox,
  InferSchema,
  Journal,
  JsonObject,
  JsonSchema,
  JsonSchemaValidator,
  JsonValue,
  Ledger,
  LLMClient,
  Logger,
  ModelRequest,
  ModelResponse,
  PendingWait,
  PermissionDecision,
  PermissionRequest,
  Permissions,
  RunContext,
  RunEvent,
  RunId,
  RunScope,
  RunStatus,
  RunSummary,
  SchemaLike,
  Span,
  StandardSchema,
  StopReason,
  StoppedBy,
  Telemetry,
  Tool,
  ToolCall,
  ToolContent,
  ToolContext,
  ToolDefinition,
  Usage,
} from "@ravi/kernel";
export {
  AgentNotFoundError,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  ErrorCode,
  InvalidValueError,
  isCancellation,
  isRaviError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
  LaneViolationError,
  MiddlewareError,
  MiddlewareTermination,
  NeedsDecisionError,
  NonDeterminismError,
  PausedError,
  ProviderError,
  RaviError,
  SuspendedError,
  ToolError,
} from "@ravi/kernel";
export { AgentId, HookEvent, Priority, textOf, toolContent } from "@ravi/kernel";
export { HookManager } from "@ravi/hooks";
export { defineTool as tool } from "@ravi/kernel";
export { OrchestratorAgent } from "@ravi/orchestrator";
export { ReActAgent } from "@ravi/react-agent";
export { ExecutionTracker } from "@ravi/resources";
export { getRunScope } from "@ravi/runtime";

export { agent, type AgentOptions } from "./agents/agent.ts";
export type { Layers } from "./agents/layers.ts";
export { type DynamicHiring, type Member, team, type TeamOptions } from "./agents/team.ts";
export { type Budget, DEFAULT_LIMITS, type Limits, type TreeLimits } from "./limits.ts";
export { model } from "./models/model.ts";
export type {
  AnthropicModelOptions,
  ModelFactory,
  ModelOptions,
  ModelOptionsOf,
  Models,
  OpenAIModelOptions,
} from "./models/options.ts";
export { type CostEstimate, estimate } from "./run/estimate.ts";
export type { SdkHandle } from "./run/launch.ts";
export type { HostOptions, ResumeOptions, ResumeOptionsFor, RunOptions } from "./run/options.ts";
export { cancel, deliver, type OutsideOptions, runs } from "./run/outside.ts";
export type { CompletedResult, ResultBase, SdkResult, UnfinishedResult } from "./run/result.ts";
export { resume, run, start, startResume } from "./run/run.ts";
export type { CallAccount } from "./tree/call-log.ts";
export type { RunTree, TreeNode } from "./tree/run-tree.ts";
