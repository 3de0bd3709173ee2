import { describe, expect, test } from "vitest";
import {
  ActorCritic,
  Blackboard,
  Debate,
  freshSession,
  PlanAndExecute,
  PROMPTS,
  Reflexion,
  ReWOO,
  Router,
  SelfRefine,
  StrategyAgent,
  type StrategyAgentOptions,
  Supervisor,
  Swarm,
  TreeOfThoughts,
} from "@ravi/architectures";
import type { Architecture, LLMClient } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { scriptedModel } from "@ravi/testing";
import { asked, run, worker } from "./support.ts";

const ann = worker("ann", []);
const says = worker("says", ["hello"]);
const wrong = {} as never;

describe("what a compiler would have caught is refused by name", () => {
  test.each<[string, () => unknown]>([
    ["SelfRefine.rounds", () => new SelfRefine({ rounds: 3 } as never)],
    ["SelfRefine.maxRounds", () => new SelfRefine({ maxRounds: -1 })],
    ["SelfRefine.critic", () => new SelfRefine({ critic: wrong })],
    ["Reflexion.threshold", () => new Reflexion({ threshold: 8 })],
    ["Reflexion.evaluator", () => new Reflexion({ evaluator: wrong })],
    ["TreeOfThoughts.beam", () => new TreeOfThoughts({ beam: 0 })],
    ["PlanAndExecute.planner", () => new PlanAndExecute({ planner: wrong })],
    ["ReWOO.maxSteps", () => new ReWOO({ maxSteps: 0.5 })],
    ["Router.routes.ann", () => new Router({ routes: { ann: wrong } })],
    ["Router.routes.bob", () => new Router({ routes: { bob: { run: () => {} } as never } })],
    ["Router.routes", () => new Router({ routes: { ann, "": ann } })],
    ["Swarm.members", () => new Swarm({ members: { " ": ann } })],
    ["Router.classifier", () => new Router({ routes: { ann }, classifier: wrong })],
    ["Supervisor.workers", () => new Supervisor({ workers: [ann] as never })],
    ["Supervisor.maxSpawns", () => new Supervisor({ workers: { ann }, maxSpawns: -1 })],
    ["ActorCritic.critic", () => new ActorCritic({ critic: wrong })],
    ["Debate.debaters", () => new Debate({ debaters: { ann } })],
    ["Debate.stances", () => new Debate({ stances: ["one"] })],
    ["Debate.stances", () => new Debate({ stances: "for and against" as never })],
    ["Debate.stances", () => new Debate({ stances: [1, 2] as never })],
    ["Debate.stances", () => new Debate({ debaters: { ann, bob: ann }, stances: ["for", "against"] })],
    ["Supervisor.workers", () => new Supervisor({ workers: Promise.resolve({}) as never, spawn: true })],
    ["Supervisor.spawn", () => new Supervisor({ workers: { ann }, spawn: "no" as never })],
    ["Debate.judge", () => new Debate({ judge: wrong })],
    ["Swarm.entry", () => new Swarm({ members: { ann }, entry: "bob" })],
    ["Blackboard.coordinator", () => new Blackboard({ experts: { ann }, coordinator: wrong })],
    ["SelfRefine.prompts.critic", () => new SelfRefine({ prompts: { critic: () => "" } as never })],
    ["SelfRefine.prompts.critique", () => new SelfRefine({ prompts: { critique: "Criticise!" } as never })],
  ])("%s", (field, build) => {
    expect(build).toThrow(field);
  });
});

test.each<[string, (options: object) => unknown]>([
  ["SelfRefine", (options) => new SelfRefine(options)],
  ["Reflexion", (options) => new Reflexion(options)],
  ["TreeOfThoughts", (options) => new TreeOfThoughts(options)],
  ["PlanAndExecute", (options) => new PlanAndExecute(options)],
  ["ReWOO", (options) => new ReWOO(options)],
  ["Router", (options) => new Router({ routes: { ann }, ...options })],
  ["Supervisor", (options) => new Supervisor({ workers: { ann }, ...options })],
  ["ActorCritic", (options) => new ActorCritic(options)],
  ["Debate", (options) => new Debate(options)],
  ["Swarm", (options) => new Swarm({ members: { ann }, ...options })],
  ["Blackboard", (options) => new Blackboard({ experts: { ann }, ...options })],
])("J10: %s refuses a field that it does not know, so that no limit is misspelt", (name, build) => {
  expect(() => build({ most: 1 })).toThrow(`${name}.most is 1; expected no field of that name`);
});

const VERDICT = '{"score": 1, "satisfied": true, "route": "ann", "confidence": 1}';

test.each<[string, (other: LLMClient) => Architecture, number]>([
  ["critic of SelfRefine", (critic) => new SelfRefine({ critic }), 1],
  ["evaluator of Reflexion", (evaluator) => new Reflexion({ evaluator }), 1],
  ["evaluator of TreeOfThoughts", (evaluator) => new TreeOfThoughts({ depth: 1, evaluator }), 3],
  ["planner of PlanAndExecute", (planner) => new PlanAndExecute({ planner }), 1],
  ["planner of ReWOO", (planner) => new ReWOO({ planner }), 1],
  ["classifier of Router", (classifier) => new Router({ routes: { ann: says }, classifier }), 1],
])("J10: the %s is asked what is its part, and the agent's own model is not", async (_, build, calls) => {
  const other = scriptedModel(() => VERDICT);
  const { model } = await run(build(other), () => '["a", "b", "c"]');
  expect(other.calls).toHaveLength(calls);
  const prompts = model.calls.map(({ request }) => asked(request));
  for (const { request } of other.calls) expect(prompts).not.toContain(asked(request));
});

test("a text in place of a context and an inbox is refused with how an agent is run", async () => {
  const agent = new StrategyAgent({ name: "careful", model: scriptedModel([]), architecture: new Debate() });
  await expect(Reflect.apply(agent.run, agent, ["Hello"])).rejects.toThrow(
    /^careful\.run: inbox is undefined; .* call run\(agent, input\) of @ravi\/sdk/,
  );
});

describe("prompts", () => {
  test("one that returns no text, such as an async one, is named, and its question is not asked", async () => {
    const critique = (async () => "Criticise!") as never;
    const model = scriptedModel(["A draft."]);
    const agent = new StrategyAgent({
      name: "a",
      model,
      architecture: new SelfRefine({ prompts: { critique } }),
    });
    const ctx = bareContext();
    await expect(agent.run(ctx, ctx.inbox("go"))).rejects.toThrow(
      /SelfRefine\.prompts\.critique\(\) is .*; expected a string/,
    );
    expect(model.calls).toHaveLength(1);
  });

  test("any of them can be said in other words, and the rest stays", async () => {
    const prompts = {
      critique: ({ answer }: { answer: string }) => `Was ist falsch an: ${answer}`,
      refine: undefined,
    };
    const { model } = await run(new SelfRefine({ prompts }), [
      "eins",
      '{"satisfied": false}',
      "zwei",
      '{"satisfied": true}',
    ]);
    expect(asked(model.calls[1]?.request)).toBe("Was ist falsch an: eins");
    expect(asked(model.calls[2]?.request)).toContain("so that it addresses the criticism");
  });

  test("they are in one place, and frozen", () => {
    expect(Object.keys(PROMPTS)).toHaveLength(11);
    for (const set of Object.values(PROMPTS)) expect(Object.isFrozen(set)).toBe(true);
  });
});

test("a tool with a raw JSON Schema is refused by name before anything is paid, unless the run has a validator", async () => {
  const raw = { name: "raw", description: "", input: { type: "object" }, execute: () => "sunny" };
  const plan = "#E1 = raw[{}]";
  // Without answers in its script a model that is asked fails in words of its own.
  await expect(run(new ReWOO(), [], { tools: [raw] })).rejects.toThrow(/^tool raw: input /);
  const { result } = await run(new ReWOO(), [plan, "It is sunny."], {
    tools: [raw],
    ctx: bareContext({ validator: () => [] }),
  });
  expect(result).toMatchObject({ status: "completed", output: "It is sunny." });
});

test.each<[string, unknown]>([
  ["freshSession", null],
  ["freshSession.id", {}],
  ["freshSession.mesages", { id: "s", mesages: [] }],
  ["freshSession.messages", { id: "s", messages: null }],
  ["freshSession.instructions", { id: "s", instructions: 4 }],
])("T11: a session that cannot begin is refused by name: %s", (field, options) => {
  expect(() => freshSession(options as never)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field }),
  );
});

test("J4: a strategy's agent has what its options inherit: a policy that denies, and a budget", async () => {
  const permissions = { isNoop: false, check: () => ({ allow: false, reason: "not you" }) } as const;
  const options = Object.create({
    name: "a",
    model: scriptedModel(["never"]),
    architecture: new SelfRefine(),
    permissions,
    executionBudget: { maxTurns: 3 },
  }) as StrategyAgentOptions;
  const made = new StrategyAgent(options);
  expect(made.defaults).toEqual({ executionBudget: { maxTurns: 3 } });
  const ctx = bareContext();
  await expect(made.run(ctx, ctx.inbox("go"))).rejects.toThrow("not you");
});
