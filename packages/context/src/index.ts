/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The history of an agent and which part of it the model sees: histories in memory and in files, compaction strategies, and a memory
 * across conversations.
 *
 * This list is the public surface of the package; a test pins it.
 *
 * @packageDocumentation
 */

export { agentContext, type AgentContextOptions } from "./agent-context.ts";

export { compose } from "./compaction/compose.ts";
export { estimateTokens } from "@ravi/kernel/loop";
export { validPrompt } from "./compaction/prompt.ts";
export { SelectiveToolCall, type SelectiveToolCallOptions } from "./compaction/selective-tool-call.ts";
export { SlidingWindow, type SlidingWindowOptions } from "./compaction/sliding-window.ts";
export { Summarization, type SummarizationOptions } from "./compaction/summarization.ts";
export { SUMMARY_NAME } from "./compaction/summary.ts";
export { TokenBudget, type TokenBudgetOptions } from "./compaction/token-budget.ts";
export type { CountTokens } from "./compaction/token-counter.ts";
export {
  ToolResultCompaction,
  type ToolResultCompactionOptions,
} from "./compaction/tool-result-compaction.ts";
export { Truncation, type TruncationOptions } from "./compaction/truncation.ts";

export { FileHistory, type FileHistoryOptions } from "./history/file-history.ts";
export type { HistoryFile, HistoryFiles, HistoryLock } from "./history/files.ts";
export { MemoryHistory } from "./history/memory-history.ts";

export { KeywordMemory, type KeywordMemoryOptions } from "./memory/keyword-memory.ts";
