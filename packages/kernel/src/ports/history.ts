import type { ExecId, SessionId } from "../core/ids.ts";
import type { MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelRequest, ModelResponse, ToolSpec } from "../model/llm.ts";
import type { ChatMessage } from "../model/messages.ts";

/** Whose conversation. A child never reads its parent's, because the agent's name is part of the key. */
export interface HistoryKey {
  readonly sessionId: SessionId;
  readonly agentName: string;
  /** Present for a history that ends with the run. */
  readonly execId?: ExecId | undefined;
}

export interface HistoryProvider {
  /** The first `upTo` messages, or all; `head` is how many there are, and can be given again as `upTo`. */
  load(
    key: HistoryKey,
    upTo?: number,
  ): MaybePromise<{ readonly messages: readonly ChatMessage[]; readonly head: number }>;
  append(key: HistoryKey, messages: readonly ChatMessage[]): MaybePromise<void>;
  clear(key: HistoryKey): MaybePromise<void>;
  close?(): MaybePromise<void>;
}

/** What a strategy may use; one object for each execution. A model call goes through the context, and so through the ledger and the journal. */
export interface CompactionContext {
  readonly contextWindow?: number | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  llm?(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
}

/** Makes a window of a long history. A view: the transcript stays as it is. Never parts a tool call from its result. */
export interface CompactionStrategy {
  /** For hooks and logs. */
  readonly name?: string | undefined;
  /** Gives the very list that it got where there is nothing to do. */
  compact(
    messages: readonly ChatMessage[],
    context?: CompactionContext,
  ): MaybePromise<readonly ChatMessage[]>;
}
