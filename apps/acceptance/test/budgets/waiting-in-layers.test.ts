import { describe, expect, test } from "vitest";
import { type Agent, type LLMClient, ProviderError, RunId } from "@ravi/kernel";
import { llmJudge, MiddlewarePipeline, retry } from "@ravi/middleware";
import { ExecutionTracker } from "@ravi/resources";
import { type RunReport, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { cutJournal } from "../../src/cut-journal.ts";
import { PRICE, turns, World } from "../support/scarce.ts";

// Layers around a call make further calls, and these may have to wait for money too.

describe("T5: a crash while a further call of an effect waits for its money", () => {
  /** An agent that calls that model through those layers, on a ledger of its own. */
  function scene(chat: RuntimeOptions["pipelines"], model?: (world: World) => LLMClient["generate"]) {
    const world = new World();
    const acme = new ExecutionTracker({ maxCostUsd: 0.15 }, { scope: "acme", clock: world.clock });
    const asked = { ...world.provider.model, ...(model && { generate: model(world) }) };
    const lead: Agent = {
      ...world.helper("lead", 1, acme),
      run: async (ctx) => {
        await ctx.llm(asked, { messages: [{ role: "user", content: "?" }] });
        return { status: "completed", output: "", stopReason: "done" };
      },
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
