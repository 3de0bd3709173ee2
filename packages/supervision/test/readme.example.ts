import assert from "node:assert/strict";
import { AgentId, BudgetExhaustedError, Priority } from "@ravi/kernel";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";

const lead = AgentId("lead");
const headcount = new SpawnTracker({ maxAgents: 2 }, { rootId: lead }); // lead holds the first slot

// Somebody takes the last slot; the next one is denied.
const writer = headcount.acquire(AgentId("writer"), Priority.NORMAL, { parentId: lead });
assert.throws(() => headcount.acquire(AgentId("editor")), BudgetExhaustedError);

// An urgent one takes the writer's slot. The writer asks before its next step, and waits there.
{
  using urgent = headcount.acquire(AgentId("incident"), Priority.HIGH);
  assert.equal(urgent.agentId, "incident");
  assert.equal(headcount.isPaused(writer.agentId), true);
  assert.equal(headcount.held, 2);
} // given back here, whatever happens

await headcount.whenResumed(writer.agentId);
assert.deepEqual(headcount.paused, []);

// A hire can also wait for its slot. Paused agents and queued hires stand in one queue.
const queued = headcount.acquire(AgentId("editor"), Priority.LOW, { onFull: "queue" });
writer.release();
const editor = await queued;
assert.equal(editor.agentId, "editor");

// The count outlives the process.
const restored = SpawnTracker.restore(JSON.parse(JSON.stringify(headcount.snapshot())));
assert.equal(restored.held, 2);
assert.equal(restored.totalSpawned, 4);

// When an agent crashes: is it started again, and how long is the wait?
const policy = new RetryPolicy(1);
assert.equal(policy.shouldRetry("run/hire:editor#1", new TypeError("a bug")), true);
assert.ok(policy.delayMs(1) < 1000);
assert.equal(policy.shouldRetry("run/hire:editor#1"), false);
