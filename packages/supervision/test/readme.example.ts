import assert from "node:assert/strict";
import { AgentId, BudgetExhaustedError, Priority } from "@ravi/kernel";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";

const lead = AgentId("lead");
const headcount = new SpawnTracker({ maxAgents: 2 }, { rootId: lead }); // lead holds the first slot

// The writer takes the last slot, so the editor is denied.
const writer = headcount.acquire(AgentId("writer"), Priority.NORMAL, { parentId: lead });
assert.throws(() => headcount.acquire(AgentId("editor")), BudgetExhaustedError);

// An agent of higher priority takes the writer's slot. The writer is paused: it waits before its next step.
const urgent = headcount.acquire(AgentId("incident"), Priority.HIGH);
try {
  assert.equal(urgent.agentId, "incident");
  assert.equal(headcount.isPaused(writer.agentId), true);
  assert.equal(headcount.held, 2);
} finally {
  urgent.release(); // or, from Node 24 on, `using urgent = headcount.acquire(…)`
}

await headcount.whenResumed(writer.agentId);
assert.deepEqual(headcount.paused, []);

// A hire can also wait for a slot. Paused agents and queued hires share one queue.
const queued = headcount.acquire(AgentId("editor"), Priority.LOW, { onFull: "queue" });
writer.release();
const editor = await queued;
assert.equal(editor.agentId, "editor");

// The state can be saved, and restored in another process.
const restored = SpawnTracker.restore(JSON.parse(JSON.stringify(headcount.snapshot())));
assert.equal(restored.held, 2);
assert.equal(restored.totalSpawned, 4);

// When an agent crashes, the policy decides whether to restart it and how long to wait first.
const policy = new RetryPolicy(1);
assert.equal(policy.shouldRetry("run/hire:editor#1", new TypeError("a bug")), true);
assert.ok(policy.delayMs(1) < 1000);
assert.equal(policy.shouldRetry("run/hire:editor#1"), false);
