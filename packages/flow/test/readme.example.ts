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
    // Three translators at once; what most of them say is taken, and of equals what the first one says.
    new ParallelFlow({
      name: "panel",
      branches: [says("a", () => "Guten Tag"), says("b", () => "Hallo"), says("c", () => "Guten Tag")],
      combine: "vote",
    }),
    // It is given the flow's input and what the panel has said.
    new ConditionalFlow({
      name: "check",
      if: (input) => input.includes("Guten Tag"),
      whenTrue: says("polite", () => "Guten Tag, and politely so."),
      otherwise: says("casual", () => "Hallo!"),
    }),
  ],
});

// `@ravi/runtime` gives each branch a seat, a budget and a journal. A bare context has no rules: good for trying things out.
const ctx = bareContext({ agent: flow });
const result = await flow.run(ctx, ctx.inbox("Say good day in German."));

assert.equal(result.status, "completed");
assert.equal(result.output, "Guten Tag, and politely so.");
assert.deepEqual(result.structured?.[0], { name: "panel", status: "completed", output: "Guten Tag" });
