import {
  type AgentContext,
  type AgentId,
  agentName,
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryProvider,
  isPromiseLike,
  type MaybePromise,
  SessionId,
} from "@ravi/kernel";

export interface AgentContextOptions extends CompactionContext {
  readonly agentId: AgentId;
  readonly history: HistoryProvider;
  /** All of the history, when absent. */
  readonly compaction?: CompactionStrategy | undefined;
}

/** A loop's whole view of its past (R10): which provider and which strategy are behind it, it does not know. */
export function agentContext(options: AgentContextOptions): AgentContext {
  const { agentId, history, compaction, ...context } = options;
  const compact = (messages: readonly ChatMessage[]): MaybePromise<readonly ChatMessage[]> =>
    compaction === undefined ? messages : compaction.compact(messages, context);
  return {
    agentId,
    getPromptWindow(sessionId) {
      const loaded = history.load({ sessionId: SessionId(sessionId), agentName: agentName(agentId) });
      return isPromiseLike(loaded)
        ? Promise.resolve(loaded).then(({ messages }) => compact(messages))
        : compact(loaded.messages);
    },
  };
}
