import { describe, expect, test } from "vitest";
import {
  type AgentSession,
  type Architecture,
  CancellationError,
  DeadlineExceededError,
  type Dependencies,
  PausedError,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import {
  freshSession,
  ReAct,
  SelfRefine,
  StrategyAgent,
  type StrategyAgentOptions,
  TreeOfThoughts,
  withExtraTools,
} from "@ravi/architectures";
import { scriptedModel } from "@ravi/testing";
import { add, run, worker } from "./support.ts";

/** A strategy that does what a test wants. */
function strategy(act: (session: AgentSession, deps: Dependencies) => Promise<void> | void): Architecture {
  return {
    name: "test",
    async *run(session, deps) {
      yield { type: "step", step: 1 };
      await act(session, deps);
    },
    declaredWorkers: () => ({}),
  };
}

describe("J1, J2, J7: what a strategy gets, and what becomes of its session", () => {
  test("J2: dependencies are frozen in fact, and their budget says whether there is one", async () => {
    let seen: Dependencies | undefined;
    await run(
      strategy((session, deps) => {
        seen = deps;
        session.output = "x";
      }),
      [],
      { tools: [add] },
    );
    expect(Object.isFrozen(seen)).toBe(true);
    expect(Object.isFrozen(seen?.tools)).toBe(true);
    expect(seen?.budget.isNoop).toBe(true);
    expect(seen?.maxTurns).toBe(50);
    expect([seen?.memory.isNoop, seen?.permissions.isNoop, seen?.telemetry.isNoop, seen?.auditLog]).toEqual([
      true,
      true,
      true,
      null,
    ]);
    expect(() => Object.assign(seen ?? {}, { maxTurns: 1 })).toThrow(TypeError);
  });

  test("J2: they are all that a strategy needs, and its scope is that of the run", async () => {
    let seen: Dependencies | undefined;
    const ctx = bareContext({ userId: "ada" });
    await run(
      strategy((session, deps) => {
        seen = deps;
        session.output = "x";
      }),
      [],
      { ctx },
    );
    expect(Object.keys(seen ?? {})).toEqual(
      expect.arrayContaining(
        `model memory runtime tools budget permissions hooks telemetry auditLog maxTurns streaming scope`.split(
          " ",
        ),
      ),
    );
    expect(seen?.streaming, "nobody reads its stream").toBe(false);
    expect(seen?.scope).toEqual(ctx.scope);
  });

  test("J1: the agent makes a session that has nothing but its id and its instructions", async () => {
    let seen: AgentSession | undefined;
    const architecture = strategy((session) => {
      seen = structuredClone(session);
      session.output = "x";
    });
    const model = scriptedModel([]);
    const agent = new StrategyAgent({ name: "a", model, architecture, instructions: "Add." });
    const ctx = bareContext({ agent });
    await agent.run(ctx, ctx.inbox("2 and 3"));
    expect(seen).toEqual({
      id: expect.any(String),
      instructions: "Add.",
      messages: [],
      turns: 0,
      output: "",
      cumulativeUsage: { inputTokens: 0, outputTokens: 0 },
      interrupted: false,
      interruptionReason: null,
      metadata: {},
    });
  });

  test("J1: the session is read into the result", async () => {
    const { result } = await run(
      strategy((session) => void (session.output = "all of it")),
      [],
    );
    expect(result).toEqual({ status: "completed", output: "all of it", stopReason: "done" });
  });

  test.each([
    ["length", "length"],
    ["max_turns", "steps"],
    [null, "steps"],
    ["done", "steps"],
  ])("J1: interrupted for the reason %s is partial, %s", async (reason, stopReason) => {
    const { result } = await run(
      strategy((session) => {
        session.output = "some";
        session.interrupted = true;
        session.interruptionReason = reason;
      }),
      [],
    );
    expect(result).toEqual({ status: "partial", output: "some", stopReason });
  });

  test("a strategy that said nothing has not succeeded", async () => {
    expect(
      (
        await run(
          strategy(() => {}),
          [],
        )
      ).result,
    ).toEqual({ status: "partial", output: "", stopReason: "steps" });
  });

  test.each([
    [
      new DeadlineExceededError({ deadline: 0 }),
      { status: "partial", output: "best", stopReason: "deadline" },
    ],
    [new PausedError({ agentId: "a" }), { status: "paused", output: "best", stopReason: "paused" }],
  ])("%s gives the best answer so far", async (error, expected) => {
    const { result } = await run(
      strategy((session) => {
        session.output = "best";
        throw error;
      }),
      [],
    );
    expect(result).toEqual(expected);
  });

  test("cancellation, a provider's failure and a mistake are thrown on", async () => {
    for (const error of [new CancellationError({ reason: "enough" }), new Error("a mistake")])
      await expect(
        run(
          strategy(() => {
            throw error;
          }),
          [],
        ),
      ).rejects.toBe(error);
  });

  test("J9: a session that was cut off can go on", async () => {
    const session = freshSession({ id: "s" });
    await run(new ReAct(), [{ text: "half", finishReason: "length" }], { session });
    expect(session.interrupted).toBe(true);
    const { result } = await run(new ReAct(), ["whole"], { session, prompt: "go on" });
    expect(result).toMatchObject({ status: "completed", output: "whole" });
  });

  test("J9: what was said before is heard by every call of a later run, without the tools of then", async () => {
    const session = freshSession({ id: "s" });
    const calls = { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] };
    await run(new ReAct(), [calls, "3"], { session, tools: [add], prompt: "1 + 2?" });
    const { model } = await run(new SelfRefine({ maxRounds: 1 }), ["6", '{"satisfied": true}'], {
      session,
      prompt: "Twice that?",
    });
    for (const { request } of model.calls)
      expect(request.messages.slice(0, 2)).toEqual([
        { role: "user", content: "1 + 2?" },
        { role: "assistant", content: "3" },
      ]);
    expect(session.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("instructions may be a function of the run, and are the session's from then on", async () => {
    const model = scriptedModel(["hi", "hi again"]);
    const instructions: StrategyAgentOptions["instructions"] = (_, input) => `You do: ${input}`;
    const agent = new StrategyAgent({ name: "a", model, instructions, architecture: new ReAct() });
    const [one, two] = [bareContext(), bareContext()];
    const session = await agent.openSession(one, "this");
    await agent.continue(session, one, one.inbox("this"));
    await agent.continue(session, two, two.inbox("that"));
    for (const { request } of model.calls)
      expect(request.messages[0]).toEqual({ role: "system", content: "You do: this" });
  });

  test("instructions that are no text are refused before anything is paid", async () => {
    const model = scriptedModel([]);
    const none = (() => null) as object as () => string;
    const agent = new StrategyAgent({
      name: "a",
      model,
      instructions: none,
      architecture: new TreeOfThoughts(),
    });
    const ctx = bareContext();
    await expect(agent.run(ctx, ctx.inbox("x"))).rejects.toMatchObject({ code: "INVALID_VALUE" });
    expect(model.calls).toEqual([]);
  });
});

describe("J8: helpers", () => {
  test("withExtraTools gives frozen dependencies with more tools, and refuses a name that is taken", async () => {
    await run(
      strategy((session, deps) => {
        session.output = "ok";
        const more = withExtraTools(deps, [add]);
        expect(more.tools.map(({ name }) => name)).toEqual(["add"]);
        expect(Object.isFrozen(more)).toBe(true);
        expect(deps.tools).toEqual([]);
        expect(() => withExtraTools(more, [add])).toThrow("another tool already has this name");
      }),
      [],
    );
  });
});

describe("options", () => {
  const model = scriptedModel([]);
  const good: StrategyAgentOptions = { name: "a", model, architecture: new ReAct() };
  test.each([
    [{ ...good, maxTurn: 3 }, "StrategyAgent.maxTurn"],
    [{ ...good, architecture: {} }, "StrategyAgent.architecture"],
    [{ ...good, memory: {} }, "StrategyAgent.memory"],
    [{ ...good, permissions: {} }, "StrategyAgent.permissions"],
    [{ ...good, telemetry: {} }, "StrategyAgent.telemetry"],
    [{ ...good, auditLog: {} }, "StrategyAgent.auditLog"],
    [{ ...good, model: {} }, "StrategyAgent.model"],
    [{ ...good, maxTurns: 0 }, "StrategyAgent.maxTurns"],
    [{ ...good, tools: [add, add] }, "StrategyAgent.tools[1].name"],
  ])("%# is refused by name: %s", (options, field) => {
    expect(() => new StrategyAgent(options as StrategyAgentOptions)).toThrow(field);
  });

  test("it is an agent like any other, and a tool of others", async () => {
    const agent = worker("helper", ["helped"], "Helps.");
    const ctx = bareContext();
    expect(await ctx.hire({ agent, input: "x" })).toMatchObject({
      status: "completed",
      result: { output: "helped" },
    });
    expect(new StrategyAgent({ ...good, description: "Adds." }).asDelegate()).toMatchObject({
      name: "a",
      description: "Adds.",
    });
  });
});
