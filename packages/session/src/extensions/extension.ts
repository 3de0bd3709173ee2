import type { AbortSignalLike, AgentEvent, DelegateTool, LLMClient, MaybePromise, Tool } from "@ravi/kernel";
import type { GuardrailSource } from "../guardrails/guardrail.ts";
import type { EphemeralSource } from "../prompt/ephemeral.ts";
import type { SessionManager } from "../tree/session.ts";
import type { SessionEventName, SessionEventResults, SessionEvents } from "./events.ts";

/** What an extension can see and do in the session that it extends. */
export interface ExtensionContext {
  readonly cwd: string;
  readonly sessionManager: SessionManager;
  readonly model: LLMClient;
  readonly modelRegistry: ModelRegistry;
  /** Aborts when the running turn is aborted; undefined while idle. */
  readonly signal: AbortSignalLike | undefined;
  isIdle(): boolean;
  hasPendingMessages(): boolean;
  /** Aborts the running turn. */
  abort(reason?: string): void;
  /** Aborts the running turn, waits for it to end, and closes the session. */
  shutdown(): Promise<void>;
  contextUsage(): ContextUsage;
  /** The system prompt of the last turn. */
  systemPrompt(): string;
  /** Requests a compaction after the running turn, or after the next one of the session that is open. */
  compact(): void;
  /** Compacts now. Throws a `SessionBusyError` unless the session is idle. */
  runCompaction(): Promise<CompactionOutcome>;
  /** Reads prompts, extensions and guardrails again, before the next turn if one is running. */
  reload(): Promise<void>;
  /**
   * Resolves when the session is idle. Do not await it in a handler that the turn waits for: the turn cannot end before that
   * returns.
   */
  waitForIdle(): Promise<void>;
  /** Begins a new conversation and returns its id. */
  newSession(): Promise<string>;
  /** Continues from an earlier entry. Returns the id of the branch entry or of the new session. */
  fork(entryId: string, options?: ForkOptions): Promise<string>;
  switchSession(id: string): Promise<void>;
}

/** The models that can be chosen. */
export interface ModelRegistry {
  get(id: string): LLMClient | undefined;
  list(): readonly LLMClient[];
}

export interface ContextUsage {
  /** The provider's count for the last call, plus an estimate of what was added since. */
  readonly tokens: number;
  /** What the model can take, in tokens; null if neither the model nor the options say. */
  readonly window: number | null;
}

/** How a compaction ended. `before` and `after` are estimated tokens. */
export type CompactionOutcome =
  | {
      readonly status: "compacted";
      readonly entryId: string;
      readonly before: number;
      readonly after: number;
    }
  /** Nothing was written: a handler cancelled it, there was nothing to shorten, or the result was not smaller. */
  | { readonly status: "cancelled" | "nothingToDo" | "noSmaller" };

export interface ForkOptions {
  /** Copy the path to the entry into a new session. Default: false, which makes a branch in this session. */
  readonly newSession?: boolean | undefined;
  /** Stored with the branch. */
  readonly note?: string | undefined;
}

/** Handles an event of the session, and may return changes to it. */
export type Handler<E extends SessionEventName> = (
  event: SessionEvents[E],
  agent: ExtensionContext,
) => MaybePromise<ResultOf<E> | undefined | void>;
type ResultOf<E> = E extends keyof SessionEventResults ? SessionEventResults[E] : never;

/** Code that takes part in a session. Its errors are collected in `agent.errors` and never end a turn. */
export interface Extension {
  /** Names the source of an error in `agent.errors`. */
  readonly name: string;
  /** Handlers by event. They are awaited one after the other, in the order of the extensions. */
  readonly on?: { readonly [E in SessionEventName]?: Handler<E> | undefined } | undefined;
  /** Gets the events of the loop, including streamed text. It is not awaited. */
  readonly onEvent?: ((event: AgentEvent, agent: ExtensionContext) => unknown) | undefined;
  /** Additional tools. A built-in tool with the same name takes precedence. */
  readonly tools?: readonly (Tool | DelegateTool)[] | undefined;
  readonly guardrails?: readonly GuardrailSource[] | undefined;
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
}

/** An error of an extension, a guardrail or a source of live state. */
export interface CollectedError {
  readonly source: string;
  readonly event: string;
  readonly error: unknown;
}

/** Types an extension. Returns a frozen copy. */
export function defineExtension(extension: Extension): Extension {
  return Object.freeze({ ...extension });
}
