import assert from "node:assert/strict";
import { type Agent, AgentId, defineTool, textOf } from "@ravi/kernel";
import { bareContext, toolSpec, toolTurn } from "@ravi/kernel/loop";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// A tool: its arguments have the type of its schema, and are checked before it runs.
const weather = defineTool({
  name: "weather",
  description: "Today's weather in a city.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `18 °C and dry in ${city}`,
});

// A stand-in for a model, so that this runs without a key. Any LLMClient goes here.
const model = scriptedModel([
  { toolCalls: [{ name: "weather", arguments: { city: "Lisbon" } }] },
  { text: "Take no umbrella: it is dry in Lisbon." },
]);

// An agent: any object with an id and a run. All that it does goes through its context, where the rules are.
const guide: Agent = {
  id: AgentId("guide"),
  async run(ctx, inbox) {
    await ctx.remember({ role: "user", content: inbox.input });
    for (;;) {
      await ctx.check();
      const response = await ctx.llm(model, { messages: await ctx.window(), tools: [toolSpec(weather)] });
      await ctx.remember(response.message);
      if (response.message.toolCalls === undefined) {
        return { status: "completed", output: textOf(response.message), stopReason: "done" };
      }
      const turn = await toolTurn(ctx, response, [weather]);
      for (const message of turn.messages) await ctx.remember(message);
    }
  },
};

const ctx = bareContext({ agentId: guide.id });
const result = await guide.run(ctx, ctx.inbox("Do I need an umbrella in Lisbon?"));
assert.equal(result.output, "Take no umbrella: it is dry in Lisbon.");
