import { expect, test } from "vitest";
import * as context from "@ravi/context";

test("the exports of @ravi/context are these", () => {
  expect(Object.keys(context).toSorted()).toEqual([
    "FileHistory",
    "KeywordMemory",
    "MemoryHistory",
    "SUMMARY_NAME",
    "SelectiveToolCall",
    "SlidingWindow",
    "Summarization",
    "TokenBudget",
    "ToolResultCompaction",
    "Truncation",
    "agentContext",
    "compose",
    "estimateTokens",
    "validPrompt",
  ]);
});
