import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentId, type ChatMessage, SessionId } from "@ravi/kernel";
import { agentContext, FileHistory, SlidingWindow, TokenBudget, ToolResultCompaction } from "@ravi/context";

const directory = await mkdtemp(join(tmpdir(), "ravi-example-"));
const history = await FileHistory.open(directory);

// An agent reads one report after another. When `append` resolves, its messages are on disk.
const key = { sessionId: SessionId("tuesday"), agentName: "researcher" };
await history.append(key, [{ role: "user", content: "Which of the reports mentions Acme?" }]);
for (let n = 0; n < 100; n++) {
  const call: ChatMessage = {
    role: "assistant",
    content: "",
    toolCalls: [{ id: `call_${n}`, name: "read", arguments: `{"report":${n}}` }],
  };
  const result: ChatMessage = {
    role: "tool",
    toolCallId: `call_${n}`,
    name: "read",
    content: `Report ${n}. `.repeat(300),
  };
  await history.append(key, [call, result]);
}

// The model sees a view of the history that fits its context window: old tool results are shortened first, then old turns are
// left out.
const context = agentContext({
  agentId: AgentId("researcher", 1),
  history,
  compaction: new TokenBudget({
    strategies: [new ToolResultCompaction(), new SlidingWindow({ messages: 41 })],
  }),
  contextWindow: 16_000,
  system: "You are a careful researcher.",
});
const window = await context.getPromptWindow("tuesday");

assert.equal(window.length, 41);
assert.equal(window[0]?.content, "Which of the reports mentions Acme?"); // the task is kept
assert.equal(window[1]?.role, "assistant"); // no tool call is separated from its result
assert.ok((window[2]?.content.length ?? 0) <= 500);
assert.equal(window.at(-1)?.content, "Report 99. ".repeat(300)); // a result that the model has not read yet stays whole

// The stored transcript is unchanged.
assert.equal((await history.load(key)).head, 201);

await history.close();
await rm(directory, { recursive: true });
