import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type LLMClient, ProviderError, RunId } from "@ravi/kernel";
import { type ChatMiddleware, llmJudge, MiddlewarePipeline, retry, timeout } from "@ravi/middleware";
import { ExecutionTracker } from "@ravi/resources";
import { type RunReport, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, ask, call, done } from "../support/priced.ts";
import { PRICE, turns, World } from "../support/scarce.ts";

// Layers around a call make further calls, and these may have to wait for money too.

describe("T5: a crash while a further call of an effect waits for its money", () => {
  /** An agent that calls that model through those layers, on a ledger of its own. */
  function scene(chat: RuntimeOptions["pipelines"], model?: (world: World) => LLMClient["generate"]) {
    const world = new World();
    const acme = new ExecutionTracker({ maxCostUsd: 0.15 }, { scope: "acme", clock: world.clock });
    const asked = { ...world.provider.model, ...(model && { generate: model(world) }) };
    const lead: Agent = {
      ...agent("lead", async (ctx) => {
        await ctx.llm(asked, ask("?"));
        return done();
      }),
      defaults: { executionBudget: acme },
    };
    const rules = { ...world.rules, pipelines: chat, agents: [lead] };
    const { journal } = world;
    const limits = { runId: "r", executionBudget: { maxCostUsd: 5 } };
    const told: unknown[] = [];
    const onEvent: NonNullable<Parameters<Runtime["run"]>[2]>["onEvent"] = ({ event }) => {
      if (event.type === "progress") told.push(event.name);
    };
    new Runtime({ ...rules, journal }).run(lead, "", { ...limits, onEvent });
    const crash = (): Promise<RunReport> =>
      new Runtime({ ...rules, journal: cutJournal("r", journal.load(RunId("r"))) }).inspect("r");
    return { world, acme, told, crash };
  }

  test("T5: of a retry: the first attempt costs what it took, which is nothing if it was refused", async () => {
    const chat = new MiddlewarePipeline([retry({ baseMs: 1_000, random: () => 1 })]);
    const { world, acme, told, crash } = scene({ chat }, () => async () => {
      throw new ProviderError({ kind: "RATE_LIMIT", message: "later" });
    });
    await turns();
    acme.reserve({ tokens: 1, cost: 0.1 });
    await world.clock.advance(1_000);
    await turns();
    expect(told).toEqual(["waitsForBudget"]);
    expect(await crash()).toMatchObject({ cost: 0, usage: { inputTokens: 0, outputTokens: 0 } });
  });

  test("T5: of a judge: the answer that it is to judge costs what it took", async () => {
    const { provider } = new World();
    const chat = new MiddlewarePipeline([llmJudge({ model: provider.model, criteria: "nice" })]);
    const { world, acme, told, crash } = scene({ chat });
    acme.reserve({ tokens: 1, cost: 0.05 });
    world.provider.open();
    await turns();
    expect([told, world.provider.sent, provider.sent]).toEqual([["waitsForBudget"], 1, 0]);
    expect((await crash()).cost).toBeCloseTo(PRICE, 9);
  });
});

describe("R16: a time limit around two calls at once, of which one waits for what the other has reserved", () => {
  const LIMIT = { executionBudget: { maxCostUsd: 0.19 } };

  /** Asks its model inside of a tool, twice at once. */
  function withTool({ provider }: World): Agent {
    const tool = defineTool({
      name: "ask",
      description: "",
      input: z.object({}),
      timeoutS: 40,
      execute: async (_, { llm }) =>
        void (await Promise.all([1, 2].map(() => llm(provider.model, ask("?"))))),
    });
    return agent("one", async (ctx) => done((await ctx.tool(call("ask"), tool)).isError ? "failed" : "ok"));
  }

  /** Asks its model, while a layer asks another one. */
  function withLayer({ provider }: World): Agent {
    const judging: ChatMiddleware = {
      level: "chat",
      name: "judging",
      process: async (context, next) =>
        void (await Promise.all([next(), context.call(provider.model, context.request)])),
    };
    const chat = new MiddlewarePipeline([timeout({ timeoutMs: 40_000 }), judging]);
    const run: Agent["run"] = async (ctx) => {
      const answered = ctx.llm(provider.model, ask("?"));
      return done(await answered.then(() => "ok").catch(() => "failed"));
    };
    return { ...agent("one", run), pipelines: { chat } };
  }

  const WAYS: readonly (readonly [string, (world: World) => Agent])[] = [
    ["of a tool", withTool],
    ["of a layer", withLayer],
  ];

  test.each(WAYS)("R16: the one %s is kept if the other call hangs", async (_, make) => {
    const world = new World();
    const { result } = new Runtime(world.rules).run(make(world), "", LIMIT);
    await turns();
    await world.clock.advance(39_999);
    expect(world.provider.sent).toBe(1);
    await world.clock.advance(1);
    await turns();
    expect([world.provider.sent, world.ledger.open, world.clock.pending]).toEqual([1, 0, 0]);
    expect(await result).toMatchObject({ output: "failed" });
  });

  test.each(WAYS)("R16: the one %s does not count the wait for others", async (_, make) => {
    const world = new World();
    const acme = new ExecutionTracker({ maxCostUsd: 0.19 }, { scope: "acme", clock: world.clock });
    const others = acme.reserve({ tokens: 1, cost: 0.1 });
    world.provider.answering = () => new Promise((resolve) => world.clock.setTimer(resolve, 15_000));
    const one = { ...make(world), defaults: { executionBudget: acme } };
    const { result } = new Runtime(world.rules).run(one, "", { executionBudget: { maxCostUsd: 5 } });
    for (let n = 0; n < 4; n++) {
      await turns();
      await world.clock.advance(30_000);
    }
    others.cancel();
    for (const sent of [1, 2]) {
      await turns();
      expect(world.provider.sent).toBe(sent);
      await world.clock.advance(15_000);
    }
    expect(await result).toMatchObject({ output: "ok" });
    expect(world.clock.pending).toBe(0);
  });
});
