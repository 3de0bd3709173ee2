import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type Architecture,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  type Memory,
  type Permissions,
  type Telemetry,
  type Tool,
} from "@ravi/kernel";
import { bareContext, delegateTo } from "@ravi/kernel/loop";
import {
  ActorCritic,
  Blackboard,
  Debate,
  freshSession,
  PlanAndExecute,
  ReAct,
  Reflexion,
  ReWOO,
  Router,
  SelfRefine,
  StrategyAgent,
  Supervisor,
  Swarm,
  TreeOfThoughts,
} from "@ravi/architectures";
import { type Answer, type Script, scriptedModel } from "@ravi/testing";
import { DelegatingContext } from "../src/context/delegating-context.ts";
import { lookUp, run, told, worker } from "./support.ts";

const BROKE = new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "thinker" });
const LATE = new DeadlineExceededError({ deadline: 1 });

function strategy(act: Architecture["run"]): Architecture {
  return { name: "test", run: act, declaredWorkers: () => ({}) };
}

describe("J10: how a run ends when it is cut off", () => {
  test("what an earlier run on the same session had found is not told as this run's", async () => {
    const session = freshSession({ id: "s" });
    const first = strategy(async function* (own) {
      yield { type: "step", step: 1 };
      own.metadata["findings"] = "about the first question";
      throw LATE;
    });
    expect((await run(first, [], { session })).result.output).toBe("about the first question");
    const second = strategy(async function* () {
      yield { type: "step", step: 1 };
      throw LATE;
    });
    expect((await run(second, [], { session })).result).toEqual({
      status: "partial",
      output: "",
      stopReason: "deadline",
    });
  });

  test.each<[string, () => unknown, string]>([
    ["a promise", async () => {}, "a promise"],
    ["nothing", () => undefined, "undefined"],
  ])("a strategy that returns %s instead of its events is named", async (_, act, value) => {
    const architecture = strategy(act as Architecture["run"]);
    const expected = `test.run(session, deps, prompt) is ${value}; expected an async generator (async *run)`;
    await expect(run(architecture, [])).rejects.toMatchObject({ code: "INVALID_VALUE", message: expected });
  });

  test("an answer that is no text is named", async () => {
    const architecture = strategy(async function* (own) {
      yield { type: "step", step: 1 };
      Object.assign(own, { output: 7 });
    });
    const expected = "session.output is 7; expected a string";
    await expect(run(architecture, [])).rejects.toMatchObject({ code: "INVALID_VALUE", message: expected });
  });

  test("the time may end while the last turn is made: what was found is given all the same", async () => {
    const architecture = strategy(async function* (own) {
      yield { type: "step", step: 1 };
      own.metadata["findings"] = "half of it";
      throw BROKE;
    });
    const { result } = await run(architecture, [LATE]);
    expect(result).toEqual({ status: "partial", output: "half of it", stopReason: "deadline" });
  });

  test.each([
    ["<think>Could be 0.9?\n</think>\n\n0.1", 0.1],
    ["Could be 0.9?</think>\n0.1", 0.1],
    ["<think>0.9</think><think>0.8?</think>\n<thinking>0.7</thinking>0.1", 0.1],
    ["Could be 0.9?\n</think> \n<think>0.8?</think>0.1", 0.1],
    ['<thinking>{"score": 0.9}</thinking> {"score": 0.1}', 0.1],
    ["<think>0.9</think>", null],
  ])("thoughts that a server leaves in an answer are not read as one: %j", async (text, score) => {
    const { result, events } = await run(new Reflexion({ maxTries: 1 }), [
      "<think>hm</think>the answer",
      text,
    ]);
    expect(told(events, "reflexion.score")).toEqual([{ attempt: 1, score }]);
    expect(result.output).toBe("the answer");
  });

  test.each([
    "Write <think>why</think> in front.",
    "R1 puts its thoughts before </think>, so split there.",
    "Write\n<think>\nwhy\n</think>\nin front.",
  ])("a text about thoughts is left as it is: %j", async (about) => {
    expect((await run(new ReAct(), [about])).result.output).toBe(about);
    expect((await run(new ReAct(), [`<think>hm</think>\n${about}`])).result.output).toBe(about);
  });

  test.each(["<think>why</think>", "why\n</think>"])(
    "thoughts alone are no success: %j",
    async (thoughts) => {
      // The model is asked once more for an answer.
      const { result } = await run(new ReAct(), [thoughts, thoughts]);
      expect(result).toMatchObject({ status: "partial", output: "" });
    },
  );

  test.each(["<think>why</think>\n\n", "why\n</think>\n\n", "why\r\n</think>\r\n\r\n"])(
    "nothing is left of the lines between thoughts and an answer: %j",
    async (thoughts) => {
      expect((await run(new ReAct(), [`${thoughts}because`])).result.output).toBe("because");
    },
  );

  test("when the money ends, parts that were found after the best answer are answered from too", async () => {
    const architecture = strategy(async function* (own) {
      yield { type: "step", step: 1 };
      own.output = "a draft";
      own.metadata["findings"] = "what was found since";
      throw BROKE;
    });
    const { result, model } = await run(architecture, ["an answer from both"]);
    expect(result).toEqual({ status: "partial", output: "an answer from both", stopReason: "budget" });
    expect(JSON.stringify(model.calls[0]?.request.messages)).toContain("what was found since");
  });

  test("a worker that was cancelled alone has failed, and its run is not taken for cancelled", async () => {
    const gone: Agent = {
      id: AgentId("gone"),
      run: () => Promise.reject(new CancellationError({ reason: "enough" })),
    };
    const router = new Router({ routes: { gone } });
    await expect(run(router, ["gone"])).rejects.toMatchObject({
      code: "TOOL_ERROR",
      cause: { code: "CANCELLED" },
    });
  });

  test("where a worker had no money for any answer, the last turn gives one", async () => {
    const poor: Agent = {
      id: AgentId("poor"),
      run: async () => ({ status: "partial", output: "", stopReason: "budget" }),
    };
    const { result } = await run(new Router({ routes: { poor } }), ["poor", "all that I know"]);
    expect(result).toEqual({ status: "partial", output: "all that I know", stopReason: "budget" });
  });

  test("a helper that is denied a slot ends neither the step that wanted it nor the plan", async () => {
    const ctx = bareContext();
    const error = new BudgetExhaustedError({ dimension: "agents", used: 1, limit: 1, scope: "thinker" });
    ctx.batch = async (leaves: readonly object[]) => leaves.map(() => ({ status: "denied", error })) as never;
    const helper = delegateTo(worker("helper", []));
    const { result, model } = await run(
      new PlanAndExecute(),
      [
        "1. ask the helper",
        { toolCalls: [{ name: "helper", arguments: { task: "help" } }] },
        "did it myself",
        "the answer",
      ],
      { tools: [helper], ctx },
    );
    expect(result).toEqual({ status: "completed", output: "the answer", stopReason: "done" });
    expect(model.calls).toHaveLength(4);
  });

  test("when no more tool calls are allowed, Reflexion goes on without its memory", async () => {
    const ctx = bareContext();
    ctx.tool = () =>
      Promise.reject(
        new BudgetExhaustedError({ dimension: "toolCalls", used: 1, limit: 1, scope: "thinker" }),
      );
    const memory: Memory = {
      isNoop: false,
      remember: (_, text) => ({ id: "1", text, at: 0 }),
      recall: () => [],
      forget() {},
    };
    const { result } = await run(new Reflexion(), ["one", "0.1", "a lesson", "two", "0.9"], { ctx, memory });
    expect(result).toEqual({ status: "completed", output: "two", stopReason: "done" });
  });

  test("a debater for whom there is no money ends the debate: no other round or vote is paid for", async () => {
    const ann = worker("ann", ["Answer: red"]);
    const poor: Agent = {
      id: AgentId("poor"),
      run: async () => ({ status: "partial", output: "", stopReason: "budget" }),
    };
    const { result } = await run(new Debate({ debaters: { ann, poor } }), []);
    expect(result).toEqual({ status: "partial", output: "red", stopReason: "budget" });
    expect(ann.model.calls).toHaveLength(1);
  });

  const half = { text: "half of it", toolCalls: [{ name: "look_up", arguments: { query: "x" } }] };

  test.each([
    ["react", () => new ReAct()],
    ["self-refine", () => new SelfRefine()],
    ["reflexion", () => new Reflexion()],
    ["actor-critic", () => new ActorCritic()],
    ["supervisor", () => new Supervisor({ workers: { a: worker("a", []) } })],
  ])("%s gives what was said last when the time ends before its first answer", async (_, architecture) => {
    const { result } = await run(architecture(), [half, LATE], { tools: [lookUp] });
    expect(result).toEqual({ status: "partial", output: "half of it", stopReason: "deadline" });
  });

  test("of a step of a plan that is cut off by the time, what was found in it is kept", async () => {
    const { result } = await run(new PlanAndExecute(), ["1. find it\n2. tell it", half, LATE], {
      tools: [lookUp],
    });
    expect(result).toEqual({
      status: "partial",
      output: "1. find it\n(not finished) half of it\n[look_up] facts about x",
      stopReason: "deadline",
    });
  });

  test("the last turn knows what was found in the step in which the money ended", async () => {
    const script = ["1. tell it\n2. find it", "told", half, BROKE, "landed"];
    const { result, model } = await run(new PlanAndExecute(), script, { tools: [lookUp] });
    expect(result).toEqual({ status: "partial", output: "landed", stopReason: "budget" });
    const found = model.calls.at(-1)?.request.messages.at(-2)?.content;
    expect(found).toBe(
      "What was found so far:\n\n1. tell it\ntold\n\n2. find it\n(not finished) half of it\n[look_up] facts about x",
    );
  });

  test.each([
    ["actor-critic", new ActorCritic(), ["first", '{"score": 0.4}']],
    ["reflexion", new Reflexion(), ["first", '{"score": 0.4}', "a lesson"]],
  ])("%s pays for no last turn whose answer it would throw away", async (_, architecture, before) => {
    const { result, model } = await run(architecture, [...before, half, BROKE, "a last turn"], {
      tools: [lookUp],
    });
    expect(result).toEqual({ status: "partial", output: "first", stopReason: "budget" });
    expect(model.calls).toHaveLength(before.length + 2);
  });

  test("a worker's silence is no answer where there is somebody to fall back on", async () => {
    const routes = { a: worker("a", ["", ""]), b: worker("b", ["here I am"]) };
    const { result, events } = await run(new Router({ routes, fallback: "b" }), ["a"]);
    expect(result).toEqual({ status: "completed", output: "here I am", stopReason: "done" });
    expect(told(events, "router.failed")).toEqual([{ route: "a", error: "an empty answer" }]);
  });

  test("a supervisor cannot pass on silence", async () => {
    const workers = { a: worker("a", ["", ""]) };
    const { result } = await run(new Supervisor({ workers }), [
      { toolCalls: [{ name: "delegate", arguments: { worker: "a", task: "x" } }] },
      { toolCalls: [{ name: "forward_message", arguments: { worker: "a" } }] },
      "nobody knew",
    ]);
    expect(result).toEqual({ status: "completed", output: "nobody knew", stopReason: "done" });
  });

  test("all that a worker has found is kept, also if it had several tasks", async () => {
    const workers = { a: worker("a", ["one", "two", "three"]) };
    const delegate = (task: string) => ({ name: "delegate", arguments: { worker: "a", task } });
    const { result } = await run(new Supervisor({ workers }), [
      { toolCalls: [delegate("1"), delegate("2")] },
      { toolCalls: [delegate("3")] },
      LATE,
    ]);
    expect(result).toEqual({
      status: "partial",
      output: "[a] one\n[a] two\n[a] three",
      stopReason: "deadline",
    });
  });

  test.each<[string, Architecture, readonly Answer[], string]>([
    [
      "a plan",
      new PlanAndExecute(),
      ["1. find it\n2. tell it", "found", "told"],
      "1. find it\nfound\n\n2. tell it\ntold",
    ],
    ["evidence", new ReWOO(), ["#E1 = look_up[x]"], '#E1 (look_up "x"): facts about x'],
    ["thoughts", new TreeOfThoughts({ depth: 1, branch: 2 }), ['["one", "two"]', "0.5", "0.6"], "two"],
    ["a board", new Blackboard({ experts: { a: worker("a", ["a clue", "PASS"]) } }), [], "[a] a clue"],
    [
      "a team",
      new Supervisor({ workers: { a: worker("a", ["one"]) } }),
      [{ toolCalls: [{ name: "delegate", arguments: { worker: "a", task: "t" } }] }],
      "[a] one",
    ],
  ])(
    "if nothing or a refusal is made of %s, what was found is given",
    async (_, architecture, script, output) => {
      const { result } = await run(architecture, [...script, { finishReason: "refused" }], {
        tools: [lookUp],
      });
      expect(result).toEqual({ status: "partial", output, stopReason: "refused" });
    },
  );

  test("a worker that could not be made costs none of those that may be made", async () => {
    let made = 0;
    const spawn = ({ name }: { name: string }): ReturnType<typeof worker> => {
      if (++made === 1) throw new Error("not today");
      return worker(name, ["made"]);
    };
    const call = { name: "spawn", arguments: { name: "helper", instructions: "help", task: "x" } };
    const { result, events } = await run(new Supervisor({ workers: {}, spawn, maxSpawns: 1 }), [
      { toolCalls: [call] },
      { toolCalls: [call] },
      { toolCalls: [{ name: "forward_message", arguments: { worker: "helper" } }] },
    ]);
    expect(result).toEqual({ status: "completed", output: "made", stopReason: "done" });
    const results = events.flatMap((event) => (event.type === "toolResult" ? [event.isError] : []));
    expect(results).toEqual([true, false, false]);
  });

  test.each([
    ["-5", "5"],
    ["3.5", "5.3"],
    ["✅", "❌"],
    ["?!", "..."],
    ["<", ">"],
  ])("%s and %s do not agree", async (one, other) => {
    const debaters = { a: worker("a", [one, "1"]), b: worker("b", [other, "1"]) };
    const { events } = await run(new Debate({ debaters, rounds: 1 }), []);
    expect(told(events, "debate.round")).toEqual([{ round: 1, agreement: 0 }]);
    expect(told(events, "debate.vote")).toHaveLength(1);
  });
});

describe("J4, J11: services that misbehave", () => {
  test("a policy that never answers does not keep a run from being cancelled", async () => {
    const permissions: Permissions = { isNoop: false, check: () => new Promise(() => {}) };
    const model = scriptedModel(["never"]);
    const ctx = bareContext();
    const agent = new StrategyAgent({ name: "a", model, permissions, architecture: new ReAct() });
    const running = agent.run(ctx, ctx.inbox("x"));
    await new Promise(setImmediate);
    ctx.meta.cancellation.cancel("enough");
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
    expect(model.calls).toEqual([]);
  });

  test.each([
    ["nothing", () => undefined],
    ["a text", () => "allow"],
    ["a yes that is none", () => ({ allow: "true" })],
    ["an empty object", () => ({})],
    ["a rejection", () => Promise.reject(new Error("down"))],
  ])("a policy that gives %s denies", async (_, check) => {
    const permissions = { isNoop: false, check } as object as Permissions;
    const model = scriptedModel(["never"]);
    const ctx = bareContext();
    const agent = new StrategyAgent({ name: "a", model, permissions, architecture: new ReAct() });
    await expect(agent.run(ctx, ctx.inbox("x"))).rejects.toMatchObject({ code: "MIDDLEWARE_TERMINATION" });
    expect(model.calls).toEqual([]);
  });

  test("a service is left out only when it says so itself, and clearly", async () => {
    const model = scriptedModel(["never"]);
    const unclear = { isNoop: "false", check: () => ({ allow: false, reason: "no" }) };
    const permissions = unclear as object as Permissions;
    const ctx = bareContext();
    const agent = new StrategyAgent({ name: "a", model, permissions, architecture: new ReAct() });
    await expect(agent.run(ctx, ctx.inbox("x"))).rejects.toThrow("not permitted");
  });

  test("telemetry that fails changes nothing", async () => {
    const fail = (): never => {
      throw new Error("the exporter is down");
    };
    const spans = { setAttribute: fail, recordError: fail, end: fail };
    for (const startSpan of [fail, () => spans]) {
      const telemetry: Telemetry = { isNoop: false, startSpan, metric: fail };
      const { result } = await run(
        new ReAct(),
        [{ toolCalls: [{ name: "look_up", arguments: { query: "x" } }] }, "found"],
        { telemetry, tools: [lookUp] },
      );
      expect(result.output).toBe("found");
    }
  });

  test("a tool that is an instance of a class is a tool under observation too", async () => {
    class Weather implements Tool {
      get name(): string {
        return "weather";
      }
      get description(): string {
        return "The weather.";
      }
      get input(): Tool["input"] {
        return lookUp.input;
      }
      execute(): string {
        return "rain";
      }
    }
    const telemetry: Telemetry = {
      isNoop: false,
      startSpan: () => ({ setAttribute: () => {}, recordError: () => {}, end: () => {} }),
      metric: () => {},
    };
    const { events } = await run(
      new ReAct(),
      [{ toolCalls: [{ name: "weather", arguments: { query: "x" } }] }, "wet"],
      { telemetry, tools: [new Weather()] },
    );
    expect(events).toContainEqual(expect.objectContaining({ type: "toolResult", content: "rain" }));
  });

  test("a memory whose answer was changed on its way is no lesson, and no failure", async () => {
    const memory = {
      isNoop: false,
      recall: () => [{ id: "1", text: "a lesson", at: 0 }],
      remember: (_: unknown, text: string) => ({ id: "1", text, at: 0 }),
      forget: () => {},
    };
    const ctx = bareContext();
    ctx.tool = async () => ({ content: "[REDACTED", isError: false });
    const { result } = await run(new Reflexion(), ["answer", "1.0"], { memory, ctx });
    expect(result.status).toBe("completed");
  });
});

describe("a worker's answer that did not match its schema", () => {
  const problem = "total: expected a number, not a string";
  const unfit: Agent = {
    id: AgentId("unfit"),
    run: async () => ({ status: "partial", output: '{"total":"9"}', stopReason: "invalid", problem }),
  };
  const delegate = { toolCalls: [{ name: "delegate", arguments: { worker: "unfit", task: "t" } }] };
  const forward = { toolCalls: [{ name: "forward_message", arguments: { worker: "unfit" } }] };
  const handOver = worker("ann", ['{"handoff": "unfit", "task": "t"}']);

  test.each<[Architecture, Script]>([
    [new Router({ routes: { unfit } }), ["unfit"]],
    [new Supervisor({ workers: { unfit } }), [delegate, forward]],
    [new Swarm({ members: { ann: handOver, unfit } }), []],
    [new Swarm({ members: { unfit }, maxHandoffs: 0 }), []],
    [new ActorCritic({ actor: unfit, maxRounds: 1 }), ["0.5"]],
    [new Debate({ debaters: { ann: unfit, bob: unfit } }), []],
  ])("%o says what was wrong with it", async (architecture, script) => {
    const { result } = await run(architecture, script);
    expect(result).toMatchObject({ status: "partial", stopReason: "invalid", problem });
  });

  test("a later run on the same session does not say it", async () => {
    const session = freshSession({ id: "s" });
    await run(new Router({ routes: { unfit } }), ["unfit"], { session });
    const silent = strategy(async function* (own) {
      yield { type: "step", step: 1 };
      own.interrupted = true;
      own.interruptionReason = "invalid";
    });
    const { result } = await run(silent, [], { session });
    expect(result).toEqual({ status: "partial", output: "", stopReason: "invalid" });
  });
});

test("a context around another hands on all of it, also what a context need not have", async () => {
  const inner = bareContext();
  const asked: unknown[] = [];
  inner.requestBudget = async (refusal) => asked.push(refusal) > 0;
  const outer = new DelegatingContext(inner);
  expect(await outer.requestBudget(BROKE)).toBe(true);
  expect(asked).toEqual([BROKE]);
  expect(await new DelegatingContext(bareContext()).requestBudget(BROKE)).toBe(false);
  expect(await outer.record("fact", () => 7)).toBe(7);
});

describe("thoughts that a server leaves in front of an answer are no part of what a cut-off run gives", () => {
  const half = {
    text: "<think>hm</think>half of it",
    toolCalls: [{ name: "look_up", arguments: { query: "x" } }],
  };

  test.each([
    ["the answer of the last turn", "why\n</think>\n\nlanded", "landed"],
    ["what was found, if the last turn has thoughts only", "<think>why</think>", "1. find it\nfound"],
  ])("%s", async (_, last, output) => {
    const { result } = await run(new PlanAndExecute(), ["1. find it\n2. tell it", "found", BROKE, last]);
    expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
  });

  const cut: Answer = { text: "<think>Perhaps a score of 0.9, or\n1. one\n2. two", finishReason: "length" };

  test.each<[string, Architecture, readonly Answer[], object]>([
    ["score", new Reflexion({ maxTries: 1 }), ["answer", cut], { output: "answer", stopReason: "steps" }],
    ["plan", new PlanAndExecute(), [cut, "done at once", "answer"], { output: "answer", stopReason: "done" }],
    ["choice", new Router({ routes: { one: worker("one", []) } }), [cut, "myself"], { output: "myself" }],
    ["answer", new ReAct(), [cut], { output: "", stopReason: "length" }],
  ])("thoughts that are cut off are no %s", async (_, architecture, script, ending) => {
    expect((await run(architecture, script)).result).toMatchObject(ending);
  });

  test.each([
    ["react", () => new ReAct()],
    ["a draft", () => new SelfRefine()],
  ])("%s whose last turn has thoughts only", async (_, architecture) => {
    const { result } = await run(architecture(), [half, BROKE, "<think>why</think>"], { tools: [lookUp] });
    expect(result).toEqual({ status: "partial", output: "half of it", stopReason: "budget" });
  });

  test.each([
    ["react", () => new ReAct(), [half, LATE], "half of it"],
    ["a draft", () => new SelfRefine(), [half, LATE], "half of it"],
    [
      "a step",
      () => new PlanAndExecute(),
      ["1. find it\n2. tell it", half, LATE],
      "1. find it\n(not finished) half of it\n[look_up] facts about x",
    ],
  ])("%s that the time cuts off", async (_, architecture, script, output) => {
    const { result } = await run(architecture(), script, { tools: [lookUp] });
    expect(result).toEqual({ status: "partial", output, stopReason: "deadline" });
  });
});
