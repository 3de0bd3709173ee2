import { describe, expect, test } from "vitest";
import {
  type AgentResult,
  BudgetExhaustedError,
  type HireOutcome,
  ProviderError,
  type StopReason,
  ToolError,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, done, hands, lead, listening, partial, toldIn } from "./support.ts";

describe("R16: handing work over", () => {
  test("the answer comes back as the result of the call; each hand-off is an event and a hook", async () => {
    const { hooks, heard } = listening();
    const script = [hands(["a", "find it"]), "found"];
    const { result, told, events } = await lead(script, [{ agent: agent("a") }], {}, { hooks });
    expect(result).toEqual(done("found"));
    expect(told).toEqual([{ text: "did find it", isError: false }]);
    expect(events.map(({ event }) => event)).toContainEqual({ type: "handoff", to: "a", task: "find it" });
    expect(heard.filter(([event]) => event === "handoff")).toMatchObject([
      ["handoff", { agentName: "agent", to: "a", task: "find it" }],
    ]);
  });

  test("several of one turn run at once, and come back in the order asked", async () => {
    let running = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const slow = agent("slow", async (_, { input }) => {
      most = Math.max(most, ++running);
      if (most === 3) gate.resolve();
      await gate.promise;
      running--;
      return done(input);
    });
    const script = [hands(["slow", "1"], ["slow", "2"], ["slow", "3"]), "ok"];
    const { told } = await lead(script, [{ agent: slow }]);
    expect(most).toBe(3);
    expect(told.map(({ text }) => text)).toEqual(["1", "2", "3"]);
  });

  test("an unknown helper is an error for the model, which says who is there", async () => {
    const { result, told } = await lead([hands(["b", "x"]), "ok"], [{ agent: agent("a") }]);
    expect(told).toEqual([
      { text: 'error: unknown tool "handoff_b"; available tools: handoff_a', isError: true },
    ]);
    expect(result.status).toBe("completed");
  });

  test("an orchestrator is an agent: one below another", async () => {
    const below = new OrchestratorAgent({
      name: "below",
      model: scriptedModel([hands(["a", "deep"]), "got it"]),
      subAgents: [{ agent: agent("a") }],
    });
    const { told, events } = await lead([hands(["below", "go"]), "ok"], [{ agent: below }]);
    expect(told).toEqual([{ text: "got it", isError: false }]);
    // Every event says by its path whose it is.
    const handoffs = events.filter(({ event }) => event.type === "handoff");
    expect(handoffs.map(({ execId }) => execId.split("/").slice(1))).toEqual([[], ["hire:below#1"]]);
  });
});

describe("a child that was cut off or never came is never a success to its parent", () => {
  const error = new ToolError({ toolName: "a", message: "boom" });
  const ended = (result: AgentResult): HireOutcome => ({ status: result.status, result });
  const outcomes: readonly (readonly [string, HireOutcome, RegExp])[] = [
    [
      "budget",
      ended(partial("half", "budget")),
      /cut off .*\(its budget was used up\)\. Its result so far: half/,
    ],
    [
      "deadline",
      ended(partial("half", "deadline")),
      /cut off .*\(its time was up\)\. Its result so far: half/,
    ],
    ["length", ended(partial("half", "length")), /cut off .*\(its answer was too long\)/],
    ["steps", ended(partial("half", "steps")), /cut off .*\(it reached its maximum number of steps\)/],
    [
      "invalid",
      ended(partial("half", "invalid")),
      /cut off .*\(its answer did not match the required schema/,
    ],
    [
      "invalid, with what was wrong",
      ended({ ...partial("half", "invalid"), problem: "n: expected a number" }),
      /cut off .*\(its answer did not match the required schema: n: expected a number\)\. Its result so far/,
    ],
    ["failed", ended(partial("half", "failed")), /cut off .*\(a part of its work failed\)/],
    ["loop", ended(partial("half", "loop")), /cut off .*\(it kept repeating itself\)/],
    [
      "a reason of an agent's own",
      ended(partial("half", "constructor" as StopReason)),
      /cut off .*\(constructor\)\. Its result so far: half/,
    ],
    ["refused", ended(partial("", "refused")), /cut off .*\(refused\)\. It left no result\./],
    ["filtered", ended(partial("", "filtered")), /cut off .*\(filtered\)/],
    [
      "pause",
      ended({ status: "paused", output: "half", stopReason: "paused" }),
      /was paused for more urgent work .* so far: half/,
    ],
    [
      "denial",
      {
        status: "denied",
        error: new BudgetExhaustedError({ dimension: "agents", used: 3, limit: 3, scope: "lead" }),
      },
      /a was not hired: .*agents.*\. Do the work yourself/,
    ],
    ...(["totalAgents", "depth"] as const).map((dimension): (typeof outcomes)[number] => [
      `denial for good, by ${dimension}`,
      {
        status: "denied",
        error: new BudgetExhaustedError({ dimension, used: 3, limit: 3, scope: "lead" }),
      },
      /a was not hired: .*\. Do the work yourself\.$/,
    ]),
    ["refusal", { status: "denied", error }, /a was not hired: boom$/],
    ["failure", { status: "failed", error }, /a did not succeed: boom/],
    ["cancellation", { status: "cancelled", error }, /a was stopped: boom/],
  ];
  test.each(outcomes)("%s", async (_, outcome, text) => {
    const model = scriptedModel([hands(["a", "x"]), "ok"]);
    const orchestrator = new OrchestratorAgent({ name: "lead", model, subAgents: [{ agent: agent("a") }] });
    const ctx = bareContext();
    ctx.batch = async () => [outcome] as never;
    const result = await orchestrator.run(ctx, ctx.inbox("go"));
    expect(toldIn(ctx.window())).toEqual([{ text: expect.stringMatching(text), isError: true }]);
    expect(result.status).toBe("completed");
  });

  test("R16: a failing child never crashes its parent", async () => {
    const broken = agent("broken", async () => {
      throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    });
    const { result, told } = await lead([hands(["broken", "x"]), "ok"], [{ agent: broken }]);
    expect(told).toEqual([{ text: "error: broken did not succeed: down", isError: true }]);
    expect(result.status).toBe("completed");
  });
});

describe("R16: a helper that is silent", () => {
  test("R16: one that ends without a word is an error for the model, and no crash", async () => {
    const mute = agent("mute", async () => done("  "));
    const { result, told } = await lead([hands(["mute", "x"]), "ok"], [{ agent: mute }]);
    expect(told).toEqual([{ text: "error: mute gave no answer", isError: true }]);
    expect(result.status).toBe("completed");
  });

  const clock = () => virtualClock({ now: 0 });
  /** Answers when its time has come, or stops when it is told to. */
  const slow = (seconds: number, ends: string[] = []) =>
    agent("slow", async (ctx) => {
      try {
        await ctx.sleepUntil(seconds * 1000);
      } catch (error) {
        ends.push("stopped");
        throw error;
      }
      ends.push("answered");
      return done("at last");
    });

  test("is cancelled after its time, and the model hears of it", async () => {
    const ends: string[] = [];
    const time = clock();
    const running = lead([hands(["slow", "x"]), "ok"], [{ agent: slow(500, ends) }], {}, { clock: time });
    await time.advance(120_000);
    const { told, result } = await running;
    expect(told).toEqual([
      { text: expect.stringMatching(/^error: slow did not answer in time and was stopped/), isError: true },
    ]);
    expect(ends).toEqual(["stopped"]);
    expect(result.status).toBe("completed");
    expect(time.pending).toBe(0);
  });

  test("with onTimeout leave works on; its answer is given to the model before it ends", async () => {
    const ends: string[] = [];
    const time = clock();
    const model = scriptedModel([hands(["slow", "x"]), "nothing yet", "at last I know"]);
    const subAgents = [{ agent: slow(500, ends), askTimeoutS: 60, onTimeout: "leave" as const }];
    const running = lead([], subAgents, { model }, { clock: time });
    await time.advance(60_000);
    expect(model.calls).toHaveLength(2);
    await time.advance(500_000);
    const { result, told, ctx } = await running;
    expect(told[0]?.text).toMatch(/^error: slow has not answered yet and is still working/);
    expect(ctx.window().at(-2)).toEqual({ role: "user", content: "[late answer from slow] at last" });
    expect(result).toEqual(done("at last I know"));
    expect(ends).toEqual(["answered"]);
  });

  test("and late with two tasks: each answer says what it answers", async () => {
    const time = clock();
    const model = scriptedModel([hands(["slow", "x"], ["slow", "y"]), "nothing yet", "now I know"]);
    const subAgents = [{ agent: slow(500, []), askTimeoutS: 60, onTimeout: "leave" as const }];
    const running = lead([], subAgents, { model }, { clock: time });
    await time.advance(600_000);
    const { ctx } = await running;
    expect(ctx.window().slice(-3, -1)).toEqual([
      { role: "user", content: "[late answer from slow to the task: x] at last" },
      { role: "user", content: "[late answer from slow to the task: y] at last" },
    ]);
  });

  test("and left behind by a lead that is cut off, is cancelled: nobody outlives the lead", async () => {
    const ends: string[] = [];
    const time = clock();
    const subAgents = [{ agent: slow(500, ends), askTimeoutS: 60, onTimeout: "leave" as const }];
    const running = lead([hands(["slow", "x"]), "that is all"], subAgents, { maxSteps: 1 }, { clock: time });
    await time.advance(60_000);
    expect(await running).toMatchObject({ result: { status: "partial", stopReason: "steps" } });
    await time.advance(0);
    expect(ends).toEqual(["stopped"]);
    expect(time.pending).toBe(0);
  });
});
