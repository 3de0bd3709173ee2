import type { AbortSignalLike, AgentEvent, DelegateTool, LLMClient, MaybePromise, Tool } from "@ravi/kernel";
import type { GuardrailSource } from "../guardrails/guardrail.ts";
import type { EphemeralSource } from "../prompt/ephemeral.ts";
import type { SessionManager } from "../tree/session.ts";
import type { SessionEventName, SessionEventResults, SessionEvents } from "./events.ts";

/** What an extension sees of the session that it extends. */
export interface ExtensionContext {
  readonly cwd: string;
  readonly sessionManager: SessionManager;
  readonly model: LLMClient;
  readonly modelRegistry: ModelRegistry;
  /** Aborts when the running turn does; undefined while idle. */
  readonly signal: AbortSignalLike | undefined;
  isIdle(): boolean;
  hasPendingMessages(): boolean;
  abort(reason?: string): void;
  /** Aborts, waits and closes the session. */
  shutdown(): Promise<void>;
  contextUsage(): ContextUsage;
  /** As it was built last. */
  systemPrompt(): string;
  /** Asks for a compaction after the running turn. */
  compact(): void;
  /** Compacts now; needs an idle session. */
  runCompaction(): Promise<CompactionOutcome>;
  reload(): Promise<void>;
  /** Never inside of a handler that the turn waits for: the session cannot become idle before it returns. */
  waitForIdle(): Promise<void>;
  newSession(): Promise<string>;
  fork(entryId: string, options?: ForkOptions): Promise<string>;
  switchSession(id: string): Promise<void>;
}

export interface ModelRegistry {
  get(id: string): LLMClient | undefined;
  list(): readonly LLMClient[];
}

export interface ContextUsage {
  /** The last call's, as the provider counted it, and an estimate of what came after it. */
  readonly tokens: number;
  /** Null where neither the model nor the options say. */
  readonly window: number | null;
}

export type CompactionOutcome =
  | {
      readonly status: "compacted";
      readonly entryId: string;
      readonly before: number;
      readonly after: number;
    }
  /** Nothing was written. */
  | { readonly status: "cancelled" | "nothingToDo" | "noSmaller" };

export interface ForkOptions {
  /** The way to the entry is copied into a session of its own. Otherwise it is a branch of this one. */
  readonly newSession?: boolean | undefined;
  readonly note?: string | undefined;
}

export type Handler<E extends SessionEventName> = (
  event: SessionEvents[E],
  agent: ExtensionContext,
) => MaybePromise<ResultOf<E> | undefined | void>;
type ResultOf<E> = E extends keyof SessionEventResults ? SessionEventResults[E] : never;

/** Something that joins in. Its errors are collected and never end a turn. */
export interface Extension {
  readonly name: string;
  /** Awaited one after the other, in the order of the extensions. */
  readonly on?: { readonly [E in SessionEventName]?: Handler<E> | undefined } | undefined;
  /** What the loop tells while it works, streamed text included. Nobody waits for it. */
  readonly onEvent?: ((event: AgentEvent, agent: ExtensionContext) => unknown) | undefined;
  /** A built-in tool of the same name wins. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  readonly guardrails?: readonly GuardrailSource[] | undefined;
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
}

/** An error of somebody who joined in: an extension, a guardrail, a source of live state. */
export interface CollectedError {
  readonly source: string;
  readonly event: string;
  readonly error: unknown;
}

/** Gives an extension its types. */
export function defineExtension(extension: Extension): Extension {
  return Object.freeze({ ...extension });
}
