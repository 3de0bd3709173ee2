import assert from "node:assert/strict";
import { type LLMClient, textOf } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { Debate, Reflexion, StrategyAgent } from "@ravi/architectures";

const model = pretendModel(); // for a real model change only this line: openai("…"), anthropic("…")

// The strategy is one option of the agent. Everything else stays the same.
const careful = new StrategyAgent({
  name: "careful",
  model,
  instructions: "Answer in one sentence.",
  architecture: new Reflexion({ maxTries: 3, threshold: 0.8 }),
});

// `@ravi/runtime` runs it with budgets and a journal. A bare context enforces no rules, which is enough for trying things out.
const ctx = bareContext({ agent: careful });
const result = await careful.run(ctx, ctx.inbox("How many legs have two spiders?"));
assert.equal(result.status, "completed");
assert.equal(result.output, "Two spiders have 16 legs.");

// A strategy reports its decisions while it works. Leaving the loop early ends the run.
const told: string[] = [];
const panel = new StrategyAgent({ name: "panel", model, architecture: new Debate({ rounds: 1 }) });
const context = bareContext({ agent: panel });
for await (const { seq, event } of panel.stream(context, context.inbox("How many legs have two spiders?"))) {
  if (event.type === "progress") told.push(`${seq} ${event.name} ${JSON.stringify(event.data)}`);
  if (event.type === "completed") assert.equal(event.result.output, "16");
}
assert.deepEqual(told, ['2 debate.round {"round":1,"agreement":1}']);

/** Stands in for a real model: its first answer counts only one spider, and it corrects itself after the feedback. */
function pretendModel(): LLMClient {
  const answer = (asked: string): string => {
    if (asked.includes("How well"))
      return asked.includes("16") ? "9/10" : '{"score": 0.2, "feedback": "two of them"}';
    if (asked.includes("differently")) return "Multiply by the number of spiders.";
    if (asked.includes("Argue as")) return "Eight each.\nAnswer: 16";
    return asked.includes("Multiply") ? "Two spiders have 16 legs." : "A spider has 8 legs.";
  };
  return {
    id: "pretend",
    info: { provider: "pretend", model: "pretend" },
    async generate({ messages }) {
      const asked = textOf(messages.at(-1) ?? { content: "" });
      return { message: { role: "assistant", content: answer(asked) }, finishReason: "stop" };
    },
  };
}
