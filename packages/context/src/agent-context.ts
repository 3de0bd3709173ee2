import {
  type AgentContext,
  type AgentId,
  agentName,
  type ChatMessage,
  checkFields,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryProvider,
  InvalidValueError,
  isPromiseLike,
  type MaybePromise,
  SessionId,
} from "@ravi/kernel";
import { asOwn, checkPort, checkPorts } from "@ravi/kernel/loop";

export interface AgentContextOptions extends CompactionContext {
  readonly agentId: AgentId;
  readonly history: HistoryProvider;
  /** All of the history, when absent. */
  readonly compaction?: CompactionStrategy | undefined;
}

const FIELDS = [
  "agentId",
  "history",
  "compaction",
  "contextWindow",
  "system",
  "tools",
  "llm",
] as const satisfies readonly (keyof AgentContextOptions)[];

/** A loop's whole view of its past (R10): which provider and which strategy are behind it, it does not know. */
export function agentContext(options: AgentContextOptions): AgentContext {
  checkFields("agentContext", options, FIELDS);
  const { agentId, history, compaction, ...context } = asOwn<AgentContextOptions>(options, FIELDS);
  checkPort("agentContext.history", history, ["load", "append", "clear"]);
  checkPorts("agentContext", { compaction });
  if (typeof agentId !== "string")
    throw new InvalidValueError({ field: "agentContext.agentId", value: agentId, expected: "an AgentId" });
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
