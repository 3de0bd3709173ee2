import assert from "node:assert/strict";
import { type Agent, AgentId } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ConditionalFlow, ParallelFlow, SequentialFlow } from "@ravi/flow";

// Any agent can be a step: a ReActAgent, an orchestrator, another flow. These stand in for real ones.
const says = (name: string, answer: (input: string) => string): Agent => ({
  id: AgentId(name),
  run: async (_, { input }) => ({ status: "completed", output: answer(input), stopReason: "done" }),
});

const flow = new SequentialFlow({
  name: "translate",
  steps: [
    // Three translators at once. The most frequent answer wins; in a tie, the one that the earliest branch gave.
    new ParallelFlow({
      name: "panel",
      branches: [says("a", () => "Guten Tag"), says("b", () => "Hallo"), says("c", () => "Guten Tag")],
      combine: "vote",
    }),
    // This step gets the flow's input and the panel's answer.
    new ConditionalFlow({
      name: "check",
      if: (input) => input.includes("Guten Tag"),
      whenTrue: says("polite", () => "Guten Tag, and politely so."),
      otherwise: says("casual", () => "Hallo!"),
    }),
  ],
});

// `@ravi/runtime` gives each branch a slot, a budget and a journal. A bare context enforces no rules, which is enough for trying
// things out.
const ctx = bareContext({ agent: flow });
const result = await flow.run(ctx, ctx.inbox("Say good day in German."));

assert.equal(result.status, "completed");
assert.equal(result.output, "Guten Tag, and politely so.");
assert.deepEqual(result.structured?.[0], { name: "panel", status: "completed", output: "Guten Tag" });
