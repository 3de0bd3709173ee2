import assert from "node:assert/strict";
import { type Agent, agent, AgentId, type DelegateTool, start, textOf } from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

// Whoever calls this tool hires an agent that only waits, for minutes or for days, until a person answers.
const person: Agent = {
  id: AgentId("person"),
  async run(ctx, inbox) {
    const answer = await ctx.waitFor(`person: ${inbox.input}`); // `waitingFor` of the run shows this name
    return { status: "completed", output: String(answer), stopReason: "done" };
  },
};
const question = z.object({ question: z.string() });
const askPerson: DelegateTool = {
  kind: "delegate",
  name: "ask_person",
  description: "Asks the person in charge, who may take long to answer.",
  input: question,
  hire: (args) => ({ kind: "hire", agent: person, input: question.parse(args).question }),
};

const painter = agent({
  name: "painter",
  // Stands in for a real model: it asks first, and then says what it has heard.
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return `It will be ${textOf(last)}.`;
    return { toolCalls: [{ name: "ask_person", arguments: { question: "Which colour?" } }] };
  }),
  tools: [askPerson],
});

const handle = start(painter, "Paint the door.", { budget: { seconds: null } }); // people take their time
await handle.deliver("person: Which colour?", "blue"); // from another process: deliver(runId, name, "blue", { journal })
assert.equal((await handle.result).output, "It will be blue.");
