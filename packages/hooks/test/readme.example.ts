import assert from "node:assert/strict";
import { AgentId, ExecId, RunId, SessionId } from "@ravi/kernel";
import { CostTracker, HookEvent, HookManager, RunLogger } from "@ravi/hooks";

const problems: string[] = [];
const hooks = new HookManager({ onError: (problem) => problems.push(problem.message) });

const costs = new CostTracker();
costs.attachTo(hooks);
const log = new RunLogger({ limit: 100 });
log.attachTo(hooks);

// The event determines the type of the payload, which is frozen.
hooks.on(HookEvent.LLM_END, async ({ agentName, usage }) => {
  await sendMetric(`${agentName} used ${usage.inputTokens + usage.outputTokens} tokens`);
});
hooks.on(HookEvent.TOOL_END, function brokenDashboard() {
  throw new Error("the dashboard is down");
});

// A runtime does this part. It does not wait for listeners, and an error in one goes to `onError`, never back into the run.
const runId = RunId("run-1");
const who = {
  agentName: "lead",
  agentId: AgentId("lead"),
  runId,
  execId: ExecId(runId),
  sessionId: SessionId("s1"),
};
const usage = { inputTokens: 1200, outputTokens: 300 };
const call = { key: "llm:small#1", provider: "acme", model: "small", durationMs: 800 };
const tool = { key: "tool:1:0", toolName: "search", callId: "call_0", durationMs: 40 };
void hooks.dispatch(HookEvent.LLM_END, { ...who, ...call, at: 1, status: "ok", usage, costUsd: 0.002 });
void hooks.dispatch(HookEvent.TOOL_END, { ...who, ...tool, at: 2, status: "ok" });
await hooks.drain();

assert.equal(costs.report().total.costUsd, 0.002);
assert.deepEqual(
  log.entries().map((entry) => entry.event),
  ["llm_end", "tool_end"],
);
assert.deepEqual(problems, ["hook brokenDashboard of tool_end failed: Error: the dashboard is down"]);

async function sendMetric(line: string): Promise<void> {
  assert.equal(line, "lead used 1500 tokens");
}
