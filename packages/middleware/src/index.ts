/**
 * Layers around every run, model call and tool call: `MiddlewarePipeline`, the built-in layers, `wrapModel`, `FileAuditLog` and
 * `rulePermissions`.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { MiddlewarePipeline, type MiddlewarePipelineOptions } from "./pipeline.ts";
export type { AgentMiddleware, ChatMiddleware, FunctionMiddleware, Placement, WithResult } from "./types.ts";
export type { OnGuardError } from "./guard.ts";
export { type PiiPipelines, piiPipelines } from "./pii-pipelines.ts";
export { wrapModel, type WrapModelOptions } from "./model/wrap-model.ts";

export { cache, type CacheOptions } from "./chat/cache.ts";
export { contentFilter, type ContentFilterOptions } from "./chat/content-filter.ts";
export { fallback, type FallbackOptions, type FallbackStep } from "./chat/fallback.ts";
export { historyTruncator, type HistoryTruncatorOptions, truncateHistory } from "./chat/history-truncator.ts";
export { llmJudge, type LlmJudgeOptions } from "./chat/llm-judge.ts";
export { maxTokens, type MaxTokensOptions } from "./chat/max-tokens.ts";
export { piiRedaction, type PiiRedactionOptions } from "./chat/pii-redaction.ts";
export { promptInjection, type PromptInjectionOptions } from "./chat/prompt-injection.ts";
export { retry, type RetryOptions } from "./chat/retry.ts";
export { timeout, type TimeoutOptions } from "./chat/timeout.ts";
export { tracing, type TracingOptions } from "./chat/tracing.ts";

export { auditLogger, type AuditLoggerOptions } from "./agent/audit-logger.ts";
export { piiRunRedaction } from "./agent/pii-run-redaction.ts";
export { rateLimiter, type RateLimiterOptions } from "./agent/rate-limiter.ts";
export {
  sessionValidation,
  type SessionToValidate,
  type SessionValidationOptions,
} from "./agent/session-validation.ts";

export { approval, type ApprovalAnswer, type ApprovalOptions } from "./function/approval.ts";
export { contentTruncator, type ContentTruncatorOptions } from "./function/content-truncator.ts";
export { type FileDisk, fileValidator, type FileValidatorOptions } from "./function/file-validator.ts";
export { piiToolRedaction } from "./function/pii-tool-redaction.ts";
export type { OnViolation } from "./function/refuse.ts";
export { schemaValidator, type SchemaValidatorOptions } from "./function/schema-validator.ts";
export { toolAudit, type ToolAuditOptions } from "./function/tool-audit.ts";
export { toolCache, type ToolCacheOptions } from "./function/tool-cache.ts";
export { toolCallValidation, type ToolCallValidationOptions } from "./function/tool-call-validation.ts";

export { type LinearPattern, linearPattern } from "./text/linear-pattern.ts";
export type { LiteralPattern, PiiKind, RedactionOptions } from "./text/redactor.ts";

export type { ChainReport } from "./audit-log/chain.ts";
export { type AuditDisk, FileAuditLog, type FileAuditLogOptions } from "./audit-log/file-audit-log.ts";
export {
  type PermissionRule,
  rulePermissions,
  type RulePermissionsOptions,
} from "./permissions/rule-permissions.ts";
