/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Everything from one import: `agent`, `team` and `tool` define agents; `run`, `start`, `resume`, `estimate` and `conversation` run them.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

import { checkNode } from "./node/check-node.ts";

checkNode(Promise, globalThis);

// The types that the signatures below lead to, so that a project that installs only the sdk can name them: to implement a port, to annotate a
// function, or because its declarations need them.
export type {
  AbortSignalLike,
  Actual,
  Agent,
  AgentAccount,
  AgentContext,
  AgentDefaults,
  AgentEvent,
  AgentResult,
  AgentRunContext,
  AnswerOf,
  AnyRaviError,
  AssistantMessage,
  Attachment,
  AuditEntry,
  AuditLog,
  BudgetDimension,
  BudgetExhaustedInit,
  BudgetWarning,
  CallOptions,
  CancellationToken,
  ChargeOptions,
  ChatContext,
  ChatMessage,
  Clock,
  CompactionContext,
  CompactionStrategy,
  ContentPart,
  DelegateTool,
  ErrorByCode,
  ErrorKind,
  Estimate,
  ExecId,
  ExecutionBudget,
  ExecutionBudgetOptions,
  FilePart,
  FinishReason,
  FunctionContext,
  Gate,
  HireLeaf,
  HireOutcome,
  HireUsage,
  HistoryKey,
  HistoryProvider,
  HistoryRetention,
  HookBase,
  HookPayloads,
  Hooks,
  IdSource,
  ImagePart,
  Inbox,
  InboxMessage,
  InferSchema,
  Journal,
  JournalEntry,
  JournalRecord,
  JournalWatch,
  JsonObject,
  JsonSchema,
  JsonSchemaValidator,
  JsonValue,
  KnownPrice,
  Layer,
  Leaf,
  Ledger,
  Limiter,
  LimiterRequest,
  LLMClient,
  LlmLeaf,
  LlmOutcome,
  Logger,
  MaybePromise,
  Memory,
  MemoryItem,
  Middleware,
  MiddlewareLevel,
  ModelEvent,
  ModelInfo,
  ModelRequest,
  ModelResponse,
  Next,
  Outcome,
  OutcomeOf,
  OutcomesOf,
  OuterCall,
  PendingWait,
  PermissionDecision,
  PermissionRequest,
  Permissions,
  Permit,
  Pipeline,
  Pipelines,
  PostedItem,
  PostedRecord,
  Price,
  ProviderErrorInit,
  RaviErrorOptions,
  ReasoningPart,
  Remaining,
  Reservation,
  ReserveOptions,
  RestartPolicy,
  RunContext,
  RunEvent,
  RunHandle,
  RunId,
  RunLimits,
  RunMeta,
  RunResult,
  RunScope,
  RunStatus,
  RunSummary,
  SchemaIssue,
  SchemaLike,
  SchemaResult,
  SerializedError,
  SessionId,
  Settlement,
  Skippable,
  Span,
  SpawnBudget,
  SpawnBudgetOptions,
  Spend,
  StandardSchema,
  StoppedBy,
  StopReason,
  StreamTransform,
  Supervision,
  SystemMessage,
  Telemetry,
  TextPart,
  TimerHandle,
  Tool,
  ToolCall,
  ToolContent,
  ToolContext,
  ToolDefinition,
  ToolErrorInit,
  ToolLeaf,
  ToolMessage,
  ToolOutcome,
  ToolResult,
  ToolSpec,
  TopicId,
  Usage,
  UserMessage,
  WindowOptions,
} from "@ravi/kernel";
export type { LoopLimitsOptions } from "@ravi/kernel/loop";
export type {
  AnyHookCallback,
  HookCallback,
  HookManagerOptions,
  HookNotice,
  HookProblem,
  HookSource,
} from "@ravi/hooks";
export type { RetryOptions } from "@ravi/middleware";
export type { DynamicHiringOptions, OrchestratorAgentOptions, SubAgentConfig } from "@ravi/orchestrator";
export type { DelegateOptions, Instructions, ModelSettings, ReActAgentOptions } from "@ravi/react-agent";
export type {
  BookPrice,
  ExecutionTrackerOptions,
  ListedPrice,
  ModelPrice,
  OpenReservation,
  OwnPrices,
  PriceSource,
  Rates,
  WrapUpReserve,
} from "@ravi/resources";
export type {
  Decision,
  Decisions,
  DeliverOptions,
  RecordedCall,
  RunHolder,
  SendOptions,
} from "@ravi/runtime";
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
export { type Conversation, conversation, ConversationBusyError } from "./conversation/conversation.ts";
export type {
  ConversationLimits,
  ConversationOptions,
  ConversationSpend,
  ResumeTurnOptions,
  TurnOptions,
} from "./conversation/options.ts";
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
export { partialJson } from "./partial-json.ts";
export { type CostEstimate, estimate } from "./run/estimate.ts";
export type { SdkHandle } from "./run/handle.ts";
export type { HostOptions, ResumeOptions, ResumeOptionsFor, RunOptions } from "./run/options.ts";
export { inspect, type RunReport } from "./run/inspect.ts";
export { cancel, deliver, type OutsideOptions, recordedEvents, runs } from "./run/outside.ts";
export type {
  CompletedResult,
  PartialResult,
  ResultBase,
  SdkResult,
  StoppedResult,
  UnfinishedResult,
} from "./run/result.ts";
export { resume, run, start, startResume } from "./run/run.ts";
export type { CallAccount } from "./tree/call-log.ts";
export type { RunTree, TreeNode } from "./tree/run-tree.ts";
