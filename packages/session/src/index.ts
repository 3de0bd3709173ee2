/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `SessionAgent`: an agent for long conversations, with a session tree on disk, retry, compaction, extensions and guardrails.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export type { SessionPhase } from "./agent/gate.ts";
export type { ChildTool, InvokeOptions, SessionAgentOptions, SpawnChildOptions } from "./agent/options.ts";
export { SessionAgent } from "./agent/session-agent.ts";
export type { CompactionOptions } from "./compaction/options.ts";
export { SessionBusyError, SessionCorruptError, SessionLockedError } from "./errors.ts";
export type {
  CompactionReason,
  SessionEvent,
  SessionEventName,
  SessionEventResults,
  SessionEvents,
} from "./extensions/events.ts";
export {
  type CollectedError,
  type CompactionOutcome,
  type ContextUsage,
  defineExtension,
  type Extension,
  type ExtensionContext,
  type ForkOptions,
  type Handler,
  type ModelRegistry,
} from "./extensions/extension.ts";
export type { GuardedResult, Guardrail, GuardrailDecision, GuardrailSource } from "./guardrails/guardrail.ts";
export type { EphemeralSource, LiveState } from "./prompt/ephemeral.ts";
export type { PromptOptions } from "./prompt/options.ts";
export type { Queued } from "./queue/mailbox.ts";
export type { RetryOptions } from "./retry/policy.ts";
export type {
  BranchEntry,
  CompactionEntry,
  CompactionItem,
  CustomEntry,
  EntryHead,
  EntryKind,
  LabelEntry,
  LeafEntry,
  MessageEntry,
  ModelEntry,
  PromptEntry,
  SessionEntry,
} from "./store/entry.ts";
export { FileSessionStore, type FileSessionStoreOptions } from "./store/file-store.ts";
export type { SessionFile, SessionFiles } from "./store/files.ts";
export { MemorySessionStore } from "./store/memory-store.ts";
export type { Liveness } from "./store/owner.ts";
export type { BeginOptions, SessionInfo, SessionLog, SessionOrigin, SessionStore } from "./store/store.ts";
export type { SessionManager } from "./tree/session.ts";
