import type { RunScope } from "../agent/scope.ts";
import type { AgentId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { ModelRequest, ModelResponse } from "../model/llm.ts";

/** Receives log messages. Without one, nothing is logged. */
export interface Logger {
  debug(message: string, fields?: JsonObject): void;
  info(message: string, fields?: JsonObject): void;
  warn(message: string, fields?: JsonObject): void;
  error(message: string, fields?: JsonObject): void;
}

/** A service that may do nothing. */
export interface Skippable {
  /** If true, it is not called. Default: false. */
  readonly isNoop?: boolean | undefined;
}

export interface MemoryItem {
  readonly id: string;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly metadata?: JsonObject | undefined;
}

/** What agents remember beyond one conversation. Each `scope.userId` has a memory of its own and sees no other. */
export interface Memory extends Skippable {
  remember(scope: RunScope, text: string, metadata?: JsonObject): MaybePromise<MemoryItem>;
  recall(scope: RunScope, query: string, limit?: number): MaybePromise<readonly MemoryItem[]>;
  forget(scope: RunScope, id: string): MaybePromise<void>;
}

export interface PermissionRequest {
  readonly agentId: AgentId;
  readonly action: "tool" | "hire" | "llm";
  /** The tool or the agent by its name, or the model by its id (`openai/gpt-5-mini`). */
  readonly target: string;
  /** Of the agent that is to be hired. */
  readonly version?: string | undefined;
  /** For a tool, what the model wrote, as data that has passed the tool's schema. For a hire, the input. Absent for a model. */
  readonly arguments?: JsonValue | undefined;
  readonly scope: RunScope;
}

export type PermissionDecision =
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: string };

/** Decides what an agent may do. If `check` throws or rejects, it is denied. */
export interface Permissions extends Skippable {
  check(request: PermissionRequest): MaybePromise<PermissionDecision>;
}

/** What a piece of work was given, or what came of it. The objects are those of the run: they must not be changed. */
export type SpanContent =
  | { readonly of: "input" | "output" | "arguments" | "result"; readonly text: string }
  | { readonly of: "request"; readonly request: ModelRequest }
  | { readonly of: "response"; readonly response: ModelResponse };

export interface Span {
  setAttribute(key: string, value: string | number | boolean): void;
  recordError(error: unknown): void;
  end(): void;
  /** Calls `work` once, before it returns. Spans that others start meanwhile, such as those of an HTTP client, are inside of this one. */
  run?(work: () => void): void;
  /** Gets prompts, answers, arguments and results. Present only if somebody wants them. */
  addContent?(content: SpanContent): void;
}

export interface Telemetry extends Skippable {
  /** `parent` is the span that this one is inside of. Absent if there is none, or if it is in another process. */
  startSpan(name: string, attributes: JsonObject, parent?: Span): Span;
  metric(name: string, value: number, attributes?: JsonObject): void;
}

export interface AuditEntry {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  /** `denied`: refused by a rule, or stopped by somebody. What waits, as for an approval, is `ok`. */
  readonly outcome: "ok" | "error" | "denied";
  readonly details?: JsonObject | undefined;
}

/**
 * Stores what must be provable later. If the runtime cannot append an entry, it logs the failure and the run goes on. By
 * default, the audit layers of `@ravi/middleware` let nothing happen whose entry they cannot append.
 */
export interface AuditLog extends Skippable {
  /** Throws or rejects if the entry was not stored. */
  append(entry: AuditEntry): MaybePromise<void>;
}
