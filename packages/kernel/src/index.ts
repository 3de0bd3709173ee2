/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The contracts that all Ravi packages share: ids, policy values, errors, messages, tools, and the ports that other packages implement.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export {
  checkAmountOrNull,
  checkBoolean,
  checkFields,
  checkInteger,
  checkIntegerOrNull,
  checkOneOf,
  checkSignal,
} from "./core/check.ts";
export { type Clock, type IdSource, systemClock, systemIds, type TimerHandle } from "./core/clock.ts";
export { AgentId, agentName, ExecId, RunId, SessionId, TopicId } from "./core/ids.ts";
export {
  ARGUMENT_LIMITS,
  deepFreeze,
  freezeNew,
  type JsonLimits,
  type JsonObject,
  type JsonPrimitive,
  type JsonValue,
  parseJson,
  sameValue,
} from "./core/json.ts";
export { checkPlainJson } from "./core/plain-json.ts";
export { type AbortSignalLike, type Branded, isPromiseLike, type MaybePromise } from "./core/types.ts";

export { ErrorCode, RaviError, type RaviErrorOptions } from "./errors/base.ts";
export { type ClassifiedError, classifyError } from "./errors/classify.ts";
export {
  AgentNotFoundError,
  type BudgetDimension,
  BudgetExhaustedError,
  type BudgetExhaustedInit,
  CancellationError,
  DeadlineExceededError,
  InvalidValueError,
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
  type ProviderErrorInit,
  SuspendedError,
  ToolError,
  type ToolErrorInit,
} from "./errors/errors.ts";
export { type AnyRaviError, type ErrorByCode, isCancellation, isRaviError } from "./errors/is.ts";
export { ErrorKind, isRetryableKind } from "./errors/kinds.ts";
export { errorFromJSON } from "./errors/from-json.ts";
export { errorToJSON, type SerializedError } from "./errors/to-json.ts";

export {
  type ExecutionBudget,
  executionBudget,
  type ExecutionBudgetFactory,
  type ExecutionBudgetOptions,
} from "./policy/execution-budget.ts";
export { HistoryRetention, Priority } from "./policy/scales.ts";
export {
  type SpawnBudget,
  spawnBudget,
  type SpawnBudgetFactory,
  type SpawnBudgetOptions,
} from "./policy/spawn-budget.ts";
export { type RootOptions, type SpawnChildOptions, Supervision } from "./policy/supervision.ts";

export { cancellationOf, CancellationToken, type CancellationTokenConstructor } from "./run/cancellation.ts";
export { RunMeta, type RunMetaChildOptions, type RunMetaOptions } from "./run/run-meta.ts";

export type {
  CallOptions,
  FinishReason,
  LLMClient,
  ModelEvent,
  ModelInfo,
  ModelRequest,
  ModelResponse,
  ToolSpec,
} from "./model/llm.ts";
export {
  type AssistantMessage,
  type ChatMessage,
  type ContentPart,
  type Attachment,
  type FilePart,
  type ImagePart,
  type ReasoningPart,
  type SystemMessage,
  type TextPart,
  textOf,
  type ToolCall,
  type ToolMessage,
  type UserMessage,
} from "./model/messages.ts";
export {
  type InferSchema,
  isStandardSchema,
  type JsonSchema,
  type JsonSchemaValidator,
  type SchemaIssue,
  type SchemaLike,
  type SchemaResult,
  type StandardSchema,
} from "./model/schema.ts";
export {
  type ApprovalRule,
  callWantsApproval,
  checkToolName,
  wantsApproval,
  defineTool,
  type DelegateTool,
  isDelegate,
  type Tool,
  type ToolContext,
  type ToolDefinition,
} from "./model/tool.ts";
export { type ToolContent, toolContent } from "./model/tool-content.ts";
export { addUsage, NO_USAGE, totalTokens, type Usage } from "./model/usage.ts";

export type { AgentRun, ContextPorts, CreateRunContext } from "./ports/agent-run.ts";
export type { CallNote, Effect, EffectScope, Spent } from "./ports/effect.ts";
export type {
  DurableEngine,
  ExecutionStart,
  Heard,
  HireSpec,
  Operation,
  Settled,
  Tally,
  Used,
  WaitSpec,
} from "./ports/engine.ts";
export type { AcquireOptions, Headcount, Lease, QueueOptions, RestartPolicy } from "./ports/headcount.ts";
export type { CompactionContext, CompactionStrategy, HistoryKey, HistoryProvider } from "./ports/history.ts";
export { type HookBase, HookEvent, type HookPayloads, type Hooks, NO_HOOKS } from "./ports/hooks.ts";
export type {
  BlobStore,
  Journal,
  JournalEntry,
  JournalRecord,
  JournalWatch,
  PendingWait,
  PostedItem,
  PostedRecord,
  RunSummary,
} from "./ports/journal.ts";
export type { RecordedCall, RunHolder, RunReport } from "./ports/run-report.ts";
export type {
  Actual,
  BudgetWarning,
  ChargeOptions,
  Estimate,
  KnownPrice,
  Ledger,
  Meter,
  Price,
  Remaining,
  Reservation,
  ReserveOptions,
  Settlement,
  Spend,
} from "./ports/ledger.ts";
export type { Limiter, LimiterRequest, Permit } from "./ports/limiter.ts";
export type {
  AgentRunContext,
  ChatContext,
  FunctionContext,
  Gate,
  Layer,
  Middleware,
  MiddlewareLevel,
  Next,
  OuterCall,
  Pipeline,
  Pipelines,
  StreamTransform,
} from "./ports/middleware.ts";
export type {
  AuditEntry,
  AuditLog,
  Logger,
  Memory,
  MemoryItem,
  PermissionDecision,
  PermissionRequest,
  Permissions,
  Skippable,
  Span,
  SpanContent,
  Telemetry,
} from "./ports/services.ts";

export type { Agent, AgentDefaults, AgentResult, AnswerOf, StopReason } from "./agent/agent.ts";
export type { AgentSession, Architecture, Dependencies } from "./agent/architecture.ts";
export type { AgentEvent, RunEvent } from "./agent/events.ts";
export type {
  AgentAccount,
  RootHandle,
  RunHandle,
  RunLimits,
  RunResult,
  RunStatus,
  StoppedBy,
} from "./agent/handle.ts";
export type { Inbox, InboxMessage } from "./agent/inbox.ts";
export type {
  HireLeaf,
  HireOutcome,
  HireUsage,
  Leaf,
  LlmLeaf,
  LlmOptions,
  LlmOutcome,
  Outcome,
  OutcomeOf,
  OutcomesOf,
  ToolLeaf,
  ToolOutcome,
  ToolResult,
} from "./agent/leaves.ts";
export type { AgentContext, RunContext, WindowOptions } from "./agent/run-context.ts";
export type { RunScope } from "./agent/scope.ts";
