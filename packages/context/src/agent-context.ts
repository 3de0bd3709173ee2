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

/** Options of `agentContext`. The inherited fields are passed to the compaction strategy. */
export interface AgentContextOptions extends CompactionContext {
  readonly agentId: AgentId;
  readonly history: HistoryProvider;
  /** Makes the history fit the model's context window. Default: none, the whole history is sent. */
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

/**
 * A loop's view of the conversation so far (R10). The loop does not know which history and which compaction strategy are behind
 * it.
 */
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
