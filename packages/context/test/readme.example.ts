import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentId, type ChatMessage, SessionId } from "@ravi/kernel";
import { agentContext, FileHistory, SlidingWindow, TokenBudget, ToolResultCompaction } from "@ravi/context";

const directory = await mkdtemp(join(tmpdir(), "ravi-example-"));
const history = await FileHistory.open(directory);

// An agent reads one file after the other. Each message is on the disk when `append` resolves.
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

// What the model gets to see is a view that fits: first old results are cut, then old turns are left out.
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
assert.equal(window[0]?.content, "Which of the reports mentions Acme?"); // the task is not forgotten
assert.equal(window[1]?.role, "assistant"); // and no call was parted from its result
assert.ok((window[2]?.content.length ?? 0) <= 500);
assert.equal(window.at(-1)?.content, "Report 99. ".repeat(300)); // what the model has not read yet is whole

// The transcript is as it was.
assert.equal((await history.load(key)).head, 201);

await history.close();
await rm(directory, { recursive: true });
