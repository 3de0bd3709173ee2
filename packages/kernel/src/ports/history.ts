import type { ExecId, SessionId } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelRequest, ModelResponse, ToolSpec } from "../model/llm.ts";
import type { ChatMessage } from "../model/messages.ts";

/** Names one conversation. The agent's name is part of it, so a child never reads its parent's. */
export interface HistoryKey {
  readonly sessionId: SessionId;
  readonly agentName: string;
  /** Present for a history that is deleted at the end of the run. */
  readonly execId?: ExecId | undefined;
}

/** Stores conversations. */
export interface HistoryProvider {
  /**
   * Gives the first `upTo` messages (default: all), and as `head` how many there are. `head` may later be given as `upTo`. Throws if
   * there are fewer than that.
   */
  load(
    key: HistoryKey,
    upTo?: number,
  ): MaybePromise<{ readonly messages: readonly ChatMessage[]; readonly head: number }>;
  /** Stores all of them behind what is there, or none. They are stored when it resolves. Several runs may append to one key. */
  append(key: HistoryKey, messages: readonly ChatMessage[]): MaybePromise<void>;
  clear(key: HistoryKey): MaybePromise<void>;
  /**
   * Keeps what a compaction that called a model has made of the conversation, so that the next run need not pay for it again. It
   * replaces what was kept before, and `clear` deletes it as well. A provider without these two methods keeps none.
   */
  storeView?(key: HistoryKey, view: JsonValue): MaybePromise<void>;
  /** Gives what was kept last; undefined if there is nothing. */
  loadView?(key: HistoryKey): MaybePromise<JsonValue | undefined>;
  close?(): MaybePromise<void>;
}

/** What a strategy may use. The same object for the whole execution. */
export interface CompactionContext {
  readonly contextWindow?: number | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  /** Messages that every request has in addition to the compacted ones, and which take room as well. */
  readonly alsoSent?: readonly ChatMessage[] | undefined;
  /** Makes a model call through the run's context, so that it is paid from the budget and recorded. */
  llm?(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
}

/** Shortens a long history to what is sent to the model. The stored history stays as it is. */
export interface CompactionStrategy {
  /** Shown in hooks and logs. */
  readonly name?: string | undefined;
  /** Returns a shorter list, or the same list object if there is nothing to do. Must not separate a tool call from its result. */
  compact(
    messages: readonly ChatMessage[],
    context?: CompactionContext,
  ): MaybePromise<readonly ChatMessage[]>;
}
