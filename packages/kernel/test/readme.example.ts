import assert from "node:assert/strict";
import { type Agent, AgentId, isRaviError, Priority, spawnBudget, Supervision } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

// Policies are frozen values. One hiring limit holds for the whole tree; a child inherits spending limits unless it gets its own.
const lead = Supervision.root(AgentId("lead"), {
  spawnBudget: { maxAgents: 8, maxDepth: 2 },
  executionBudget: { maxCostUsd: 2, maxTurns: 40 },
});
const researcher = lead.spawnChild({ agentId: AgentId("researcher", 1), priority: Priority.HIGH });
assert.equal(researcher.spawnBudget, lead.spawnBudget);
assert.deepEqual(Supervision.fromJSON(JSON.parse(JSON.stringify(researcher))), researcher);

// An invalid limit throws at once, with a message that says what was expected.
try {
  spawnBudget({ maxAgents: 0 });
} catch (error) {
  assert(isRaviError(error, "INVALID_VALUE"));
  assert.equal(error.message, "spawnBudget.maxAgents is 0; expected a whole number of at least 1");
}

// An agent is any object with an id and a `run` method. It does everything through its context, where a runtime enforces the
// rules.
const greeter: Agent = {
  id: AgentId("greeter"),
  run: async (_ctx, inbox) => ({ status: "completed", output: `Hello, ${inbox.input}!`, stopReason: "done" }),
};
const boss: Agent = {
  id: AgentId("boss"),
  async run(ctx, inbox) {
    const hired = await ctx.batch(
      inbox.input.split(", ").map((name) => ({ kind: "hire", agent: greeter, input: name })),
    );
    const greetings = hired.map((outcome) =>
      "result" in outcome ? outcome.result.output : `(${outcome.status})`,
    );
    return { status: "completed", output: greetings.join(" "), stopReason: "done" };
  },
};
const ctx = bareContext({ agentId: boss.id });
const result = await boss.run(ctx, ctx.inbox("Ada, Grace"));
assert.equal(result.output, "Hello, Ada! Hello, Grace!");
