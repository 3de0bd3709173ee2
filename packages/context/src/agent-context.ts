import {
  type AgentContext,
  type AgentId,
  agentName,
  type ChatMessage,
  checkFields,
  checkInteger,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryProvider,
  isPromiseLike,
  type MaybePromise,
  SessionId,
} from "@ravi/kernel";
import { asOwn, checkPort, checkPorts, refusalFor } from "@ravi/kernel/loop";

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
  "alsoSent",
  "llm",
] as const satisfies readonly (keyof AgentContextOptions)[];

const wrong = refusalFor("agentContext");

/**
 * A loop's view of the conversation so far. The loop does not know which history and which compaction strategy are behind
 * it.
 */
export function agentContext(options: AgentContextOptions): AgentContext {
  checkFields("agentContext", options, FIELDS);
  const { agentId, history, compaction, ...context } = asOwn<AgentContextOptions>(options, FIELDS);
  checkPort("agentContext.history", history, ["load", "append", "clear"]);
  checkPorts("agentContext", { compaction });
  if (typeof agentId !== "string") wrong("agentId", agentId, "an AgentId");
  checkContext(context);
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

/** A strategy would fail on them in the middle of a run, or count wrongly. */
function checkContext(context: CompactionContext): void {
  const { contextWindow, system, tools, alsoSent } = context;
  if (contextWindow !== undefined) checkInteger("agentContext.contextWindow", contextWindow, 1);
  if (system !== undefined && typeof system !== "string") wrong("system", system, "a string");
  if (tools !== undefined && !Array.isArray(tools)) wrong("tools", tools, "an array of tool specs");
  if (alsoSent !== undefined && !Array.isArray(alsoSent)) wrong("alsoSent", alsoSent, "an array of messages");
  const llm: unknown = Reflect.get(context, "llm");
  if (llm !== undefined) checkPort("agentContext.llm", llm, "a function that makes a model call");
}
