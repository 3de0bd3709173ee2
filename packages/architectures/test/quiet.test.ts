import { describe, expect, test } from "vitest";
import type { Architecture } from "@ravi/kernel";
import { agentName } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { Blackboard, Debate, ReAct, ReWOO, StrategyAgent } from "@ravi/architectures";
import { type Script, scriptedModel } from "@ravi/testing";
import { play } from "./trees.ts";

// Record 40: what a strategy asks its model for its own use is not told; what may be its answer is.

/** Who has said what, in the order in which they said it. Deltas of one text are put together. */
async function saidBy(agent: StrategyAgent): Promise<readonly string[]> {
  const said: string[] = [];
  let speaker: string | undefined;
  const ctx = bareContext({
    onEvent({ agentId, event }) {
      if (event.type === "text" && speaker === agentId) said.push(`${said.pop() ?? ""}${event.delta}`);
      else if (event.type === "text") said.push(`${agentName(agentId)}: ${event.delta}`);
      speaker = event.type === "text" ? agentId : undefined;
    },
  });
  await agent.run(ctx, ctx.inbox("the task"));
  return said;
}

function strategist(architecture: Architecture, script: Script): StrategyAgent {
  return new StrategyAgent({ name: "agent", model: scriptedModel(script), architecture });
}

describe("J3: observers are told what may be the answer, and not what a strategy asks for itself:", () => {
  test.each([
    ["ReAct", ["agent: answer"]],
    ["SelfRefine", ["agent: draft", "agent: better"]],
    ["Reflexion", ["agent: try", "agent: try again"]],
    ["TreeOfThoughts", ["agent: answer"]],
    ["PlanAndExecute", ["agent: found", "agent: told", "agent: answer"]],
    ["ReWOO", ["agent: answer"]],
    ["Router", ["ann: answer"]],
    ["Supervisor", ["ann: found"]],
    ["ActorCritic", ["agent: try", "agent: better"]],
    ["Debate", ["ann: red", "bob: blue", "ann: red", "bob: blue", "ann: 2", "bob: 2"]],
    ["Swarm", ["ann: HANDOFF bob: you know it", "bob: answer"]],
    ["Blackboard", ["ann: a clue", "bob: SOLUTION: answer"]],
  ])("%s", async (name, said) => {
    const inOrder = await saidBy(play(name));
    if (name === "Debate") expect(inOrder.toSorted()).toEqual(said.toSorted());
    else expect(inOrder).toEqual(said);
  });

  test("a coordinator's choice is not told, and the answer from the board is", async () => {
    const expert = new StrategyAgent({
      name: "ann",
      model: scriptedModel(["a clue"]),
      architecture: new ReAct(),
    });
    const script = ['{"next": "ann"}', '{"done": true}', "answer"];
    const agent = strategist(new Blackboard({ experts: { ann: expert }, coordinator: true }), script);
    expect(await saidBy(agent)).toEqual(["ann: a clue", "agent: answer"]);
  });

  test("what ReWOO lets the model find out is evidence", async () => {
    const script = ["#E1 = LLM[what is red]\n#E2 = LLM[what is blue]", "fire", "water", "answer"];
    expect(await saidBy(strategist(new ReWOO(), script))).toEqual(["agent: answer"]);
  });
});

describe("J3: a model with several stances speaks for all of them at once, so only the answer is told:", () => {
  const debate = (options: ConstructorParameters<typeof Debate>[0], script: Script): StrategyAgent =>
    strategist(new Debate({ stances: ["for", "against"], ...options }), script);

  test("the one that they agree on", async () => {
    const agent = debate({}, ["I think so.\nAnswer: forty-two", "Well.\nAnswer: forty-two"]);
    expect(await saidBy(agent)).toEqual(["agent: forty-two"]);
  });

  test("the one that they vote for", async () => {
    const agent = debate({ rounds: 1 }, ["Answer: red", "Answer: blue", "2", "2"]);
    expect(await saidBy(agent)).toEqual(["agent: blue"]);
  });

  test("the judge's, as the judge's", async () => {
    const judge = new StrategyAgent({
      name: "judge",
      model: scriptedModel(["purple"]),
      architecture: new ReAct(),
    });
    const agent = debate({ rounds: 1, judge }, ["Answer: red", "Answer: blue"]);
    expect(await saidBy(agent)).toEqual(["judge: purple"]);
  });

  test("the best of theirs, if the judge says nothing", async () => {
    const judge = new StrategyAgent({
      name: "judge",
      model: scriptedModel([{ text: "", finishReason: "filtered" }]),
      architecture: new ReAct(),
    });
    const agent = debate({ rounds: 1, judge }, ["Answer: red", "Answer: blue"]);
    expect(await saidBy(agent)).toEqual(["agent: red"]);
  });

  test("none, if nobody has said anything", async () => {
    expect(await saidBy(debate({ rounds: 1 }, ["", ""]))).toEqual([]);
  });
});
