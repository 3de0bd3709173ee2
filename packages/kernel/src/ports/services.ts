import type { RunScope } from "../agent/scope.ts";
import type { AgentId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";

/** Where a library may say something. Libraries log nothing by themselves. */
export interface Logger {
  debug(message: string, fields?: JsonObject): void;
  info(message: string, fields?: JsonObject): void;
  warn(message: string, fields?: JsonObject): void;
  error(message: string, fields?: JsonObject): void;
}

/** A service whose absence can be seen: when `isNoop` is true it is left out of the hot path. */
export interface Skippable {
  readonly isNoop: boolean;
}

export interface MemoryItem {
  readonly id: string;
  readonly text: string;
  readonly at: number;
  readonly metadata?: JsonObject | undefined;
}

/** What an agent knows beyond one conversation. Partitioned by `scope.userId`: nothing crosses over. */
export interface Memory extends Skippable {
  remember(scope: RunScope, text: string, metadata?: JsonObject): MaybePromise<MemoryItem>;
  recall(scope: RunScope, query: string, limit?: number): MaybePromise<readonly MemoryItem[]>;
  forget(scope: RunScope, id: string): MaybePromise<void>;
}

export interface PermissionRequest {
  readonly agentId: AgentId;
  readonly action: "tool" | "hire" | "llm";
  /** The tool, the agent or the model. */
  readonly target: string;
  readonly arguments?: JsonValue | undefined;
  readonly scope: RunScope;
}

export type PermissionDecision =
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: string };

/** Who may do what. A policy that throws denies. */
export interface Permissions extends Skippable {
  check(request: PermissionRequest): MaybePromise<PermissionDecision>;
}

export interface Span {
  setAttribute(key: string, value: string | number | boolean): void;
  recordError(error: unknown): void;
  end(): void;
}

export interface Telemetry extends Skippable {
  startSpan(name: string, attributes: JsonObject): Span;
  metric(name: string, value: number, attributes?: JsonObject): void;
}

export interface AuditEntry {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: "ok" | "error" | "denied";
  readonly details?: JsonObject | undefined;
}

/**
 * What must be provable later. `append` throws or rejects where an entry was not kept. What that means is for the caller to
 * say: an entry of the runtime is told of what happens, its failure is logged and changes no run; a layer that audits
 * (`AuditLogger` of `@ravi/middleware`) lets nothing happen that it could not write down, unless it is told otherwise.
 */
export interface AuditLog extends Skippable {
  append(entry: AuditEntry): MaybePromise<void>;
}
