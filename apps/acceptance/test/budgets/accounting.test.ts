import { describe, expect, it, test, vi } from "vitest";
import * as z from "zod";
import {
  type Agent,
  BudgetExhaustedError,
  defineTool,
  isRaviError,
  type LLMClient,
  type ModelRequest,
  textOf,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { loopbackOpenAI, scriptedModel } from "@ravi/testing";
import { agent, done, governed, handOver, hands, model, PRICED } from "../../src/leading.ts";
import { MiddlewarePipeline, retry } from "@ravi/middleware";
import { openai } from "@ravi/provider-openai";

const look = defineTool({
  name: "look",
  description: "",
  input: z.object({ n: z.number() }),
  execute: ({ n }) => `seen ${n}`,
});

const ask = (text: string): ModelRequest => ({ messages: [{ role: "user", content: text }] });

describe("R18: a provider that lies about what was used", () => {
  const lying = (usage: unknown): LLMClient => ({
    id: "liar",
    info: { provider: "test", model: "fixed", maxOutputTokens: 100 },
    generate: async () => ({
      message: { role: "assistant", content: "hi" },
      finishReason: "stop",
      usage: usage as Usage,
    }),
  });
  const isSound = (n: unknown): boolean => typeof n === "number" && Number.isFinite(n) && n >= 0;

  test.each<[string, unknown]>([
    ["negative", { inputTokens: -1_000_000, outputTokens: -5 }],
    ["not a number", { inputTokens: Number.NaN, outputTokens: 1 }],
    ["infinite", { inputTokens: Infinity, outputTokens: 1 }],
    ["fractions", { inputTokens: 1.5, outputTokens: 0.25 }],
    ["texts", { inputTokens: "12", outputTokens: "3" }],
    ["null", null],
    ["empty", {}],
    ["negative cached", { inputTokens: 10, outputTokens: 1, cachedInputTokens: -1_000_000 }],
    ["more cached than read", { inputTokens: 10, outputTokens: 1, cachedInputTokens: 1_000_000 }],
    ["more than can be counted", { inputTokens: 1e300, outputTokens: 1 }],
  ])("%s: the answer is delivered, and the books stay sound", async (_, usage) => {
    for (const services of [{}, { journal: new MemoryJournal() }]) {
      const hooks = new HookManager();
      const costs: unknown[] = [];
      hooks.on(HookEvent.LLM_END, ({ costUsd }) => void costs.push(costUsd));
      let books: ExecutionTracker | undefined;
      const runtime = governed({
        ...services,
        hooks,
        ledger: (root) => (books = new ExecutionTracker(root.executionBudget, { scope: root.rootId })),
      });
      const child = new ReActAgent({ name: "child", model: lying(usage) });
      const { told, result } = await handOver(
        hands(["child", "x"]),
        [{ agent: child }],
        {},
        { executionBudget: { maxCostUsd: 1, maxTokens: 1_000_000 } },
        runtime,
      );
      expect(told).toEqual([{ text: "hi", isError: false }]);
      expect(isSound(result.cost)).toBe(true);
      expect(isSound(result.usage.inputTokens) && isSound(result.usage.outputTokens)).toBe(true);
      expect(books?.open).toBe(0);
      for (const cost of costs) expect(isSound(cost)).toBe(true);
    }
  });
});

describe("T2: a provider that says it used more than a ledger can count", () => {
  const MOST_DOLLARS = Number.MAX_SAFE_INTEGER / 1e9;

  test.each<[string, () => ExecutionTracker | undefined]>([
    ["alone", () => undefined],
    ["beside a tracker of the user's own", () => new ExecutionTracker({ maxTokens: 100_000 })],
  ])("%s: its answer is delivered, nothing stays open, and nothing is admitted after", async (_, brought) => {
    const own = brought();
    const journal = new MemoryJournal();
    let calls = 0;
    const liar: LLMClient = {
      id: "liar",
      info: { provider: "test", model: "fixed" },
      generate: async () => {
        calls++;
        const usage = { inputTokens: 1e13, outputTokens: 5 };
        return { message: { role: "assistant", content: "hi" }, finishReason: "stop", usage };
      },
    };
    const heard: string[] = [];
    const lead: Agent = {
      ...agent("lead", async (ctx) => {
        const first = await ctx.llm(liar, ask("1"));
        heard.push(textOf(first.message));
        await ctx.waitFor("go");
        await ctx.llm(liar, ask("2")).catch((error: unknown) => {
          heard.push(isRaviError(error) ? error.code : String(error));
        });
        return done("");
      }),
      ...(own !== undefined && { defaults: { executionBudget: own } }),
    };
    const books: ExecutionTracker[] = [];
    const runtime = (): Runtime =>
      governed({
        journal,
        agents: [lead],
        // A dollar for a thousand tokens: ten billion dollars.
        meter: {
          estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
          price: (_info, usage) => ({ usd: totalTokens(usage) / 1000 }),
        },
        ledger: (root) => {
          const opened = new ExecutionTracker(root.executionBudget, { scope: root.rootId });
          books.push(opened);
          return opened;
        },
      });
    const first = runtime();
    const run = first.run(lead, "", { runId: "r", executionBudget: { maxCostUsd: 1 } });
    await vi.waitFor(() => expect(run.status).toBe("suspended"));
    await first.close();
    const second = runtime();
    await second.deliver("r", "go", true);
    const result = await second.resume("r").result;

    expect(heard).toEqual(["hi", "hi", "BUDGET_EXHAUSTED"]);
    expect(calls).toBe(1);
    const used = { tokens: 1e13 + 5, cost: MOST_DOLLARS, turns: 1, toolCalls: 0 };
    for (const each of [...books, ...(own === undefined ? [] : [own])]) {
      expect(each.used).toEqual(used);
      expect(each.open).toBe(0);
    }
    expect(result).toMatchObject({ status: "completed", cost: 10_000_000_000.005 });
  });
});

describe("the sum of LLM_END is the result's cost is what the agents' accounts say", () => {
  test("with tools that call models, retries of crashed helpers, and helpers that land", async () => {
    const hooks = new HookManager();
    let heard = 0;
    hooks.on(HookEvent.LLM_END, ({ costUsd }) => void (heard += Math.round((costUsd ?? 0) * 1e9)));
    const inner = model(() => "inner");
    const thinks = defineTool({
      name: "think",
      description: "",
      input: z.object({}),
      execute: async (_, { llm }) => (await llm(inner, ask("deep"))).message.content,
    });
    const thinker = new ReActAgent({
      name: "thinker",
      model: model([{ toolCalls: [{ name: "think" }] }, "thought"]),
      tools: [thinks],
    });
    const lands = new ReActAgent({
      name: "lands",
      model: scriptedModel(
        ({ tools }: ModelRequest, n: number) =>
          tools === undefined ? "landed" : { toolCalls: [{ name: "look", arguments: { n } }] },
        PRICED,
      ),
      tools: [look],
    });
    const { result } = await handOver(
      hands(["thinker", "x"], ["lands", "y"]),
      [{ agent: thinker }, { agent: lands, executionBudget: { maxTurns: 3 } }],
      {},
      {},
      governed({ hooks }),
    );
    const cost = Math.round((result.cost ?? 0) * 1e9);
    const accounts = (result.agents ?? []).reduce(
      (sum, one) => sum + Math.round((one.costUsd ?? 0) * 1e9),
      0,
    );
    expect(cost).toBeGreaterThan(0);
    expect(accounts).toBe(cost);
    expect(heard).toBe(cost);
  });
});

test("R18: a connection that broke may have been paid for: what was set aside counts as spent", async () => {
  const broken: LLMClient = {
    id: "broken",
    info: { provider: "test", model: "fixed", maxOutputTokens: 100 },
    // As `fetch` puts it.
    generate: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNRESET") })),
  };
  const child = new ReActAgent({ name: "child", model: broken });
  const { result } = await handOver(hands(["child", "x"]), [{ agent: child }]);
  const account = result.agents?.[1];
  expect(account).toMatchObject({ status: "failed", usage: { outputTokens: 100 } });
  expect(account?.costUsd).toBeGreaterThan(0.0001);
  expect(account?.wasteUsd).toBe(account?.costUsd);
});

describe("R18: caps hold", () => {
  test("wrap-up turns of many helpers at once stay under the cap of all", async () => {
    let made = 0;
    const endless = (): LLMClient =>
      scriptedModel(({ tools }: ModelRequest, n: number) => {
        made++;
        return tools === undefined ? "landed" : { toolCalls: [{ name: "look", arguments: { n } }] };
      }, PRICED);
    const team = Array.from({ length: 12 }, (_, n) => ({
      agent: new ReActAgent({ name: `w${n}`, model: endless(), tools: [look] }),
    }));
    const { result } = await handOver(
      hands(...team.map((__, n) => [`w${n}`, "go"] as const)),
      team,
      {},
      { executionBudget: { maxTurns: 20 } },
    );
    expect(made + 2).toBeLessThanOrEqual(20);
    expect(["completed", "partial"]).toContain(result.status);
  });

  test("a child with a larger budget than its parent has no more than its parent", async () => {
    let made = 0;
    const greedy = agent("greedy", async (ctx) => {
      for (;;) {
        await ctx.llm(model(["x"]), ask("more"));
        made++;
      }
    });
    const middle = agent("middle", async (ctx) => {
      const outcome = await ctx.hire({ agent: greedy, input: "", executionBudget: { maxTurns: 1_000 } });
      return done(outcome.status);
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: middle, input: "", executionBudget: { maxTurns: 5 } });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const result = await governed().run(lead, "go", { executionBudget: { maxTurns: 50 } }).result;
    expect(result.output).toBe("partial");
    expect(made).toBeLessThanOrEqual(5);
  });

  test("what was granted beyond the limits stands in the result's limits", async () => {
    const worker = new ReActAgent({
      name: "worker",
      model: model(({ messages }) => {
        const seen = messages.filter(({ role }) => role === "tool").length;
        return seen < 4 ? { toolCalls: [{ name: "look", arguments: { n: seen } }] } : "all";
      }),
      tools: [look],
      onBudget: "ask",
    });
    const runtime = governed({ journal: new MemoryJournal() });
    const handle = runtime.run(worker, "go", { runId: "r", executionBudget: { maxTurns: 3 } });
    await runtime.deliver("r", "approval:budget:r", { turns: 4 });
    const result = await handle.result;
    expect(result.output).toBe("all");
    expect(result.limits?.executionBudget?.maxTurns).toBe(7);
  });

  test("whoever grants as much as can be counted has granted no more than that, and the run has its result", async () => {
    const asking = agent("asking", async (ctx) => {
      const refusal = new BudgetExhaustedError({ dimension: "turns", used: 3, limit: 3, scope: "asking" });
      await ctx.requestBudget?.(refusal);
      return done("granted");
    });
    const runtime = governed({ journal: new MemoryJournal() });
    const executionBudget = { maxTurns: 3, maxTokens: 100, maxCostUsd: 1 };
    const handle = runtime.run(asking, "go", { runId: "r", executionBudget });
    const most = Number.MAX_SAFE_INTEGER;
    await runtime.deliver("r", "approval:budget:r", { turns: most, cost: most / 1e9 });
    const result = await handle.result;
    expect(result.output).toBe("granted");
    expect(result.limits?.executionBudget).toMatchObject({
      maxTurns: most,
      maxTokens: 100,
      maxCostUsd: most / 1e9,
    });
  });

  test("an agent that catches up sees what was left before it was granted more, and after", async () => {
    const seen: (number | null | undefined)[] = [];
    const asking = agent("asking", async (ctx) => {
      seen.push(ctx.budget?.turns);
      const refusal = new BudgetExhaustedError({ dimension: "turns", used: 3, limit: 3, scope: "asking" });
      await ctx.requestBudget?.(refusal);
      seen.push(ctx.budget?.turns);
      return done(String(await ctx.waitFor("go")));
    });
    const journal = new MemoryJournal();
    const first = governed({ journal });
    const run = first.run(asking, "go", { runId: "r", executionBudget: { maxTurns: 3 } });
    await first.deliver("r", "approval:budget:r", { turns: 4 });
    await vi.waitFor(() => expect(seen).toEqual([3, 7]));
    await first.close();
    await run.result;
    const second = governed({ journal, agents: [asking] });
    await second.deliver("r", "go", "on");
    expect((await second.resume("r").result).output).toBe("on");
    expect(seen).toEqual([3, 7, 3, 7]);
  });

  test("what two ask for at once is granted to each of them once", async () => {
    const worker = (name: string): Agent =>
      new ReActAgent({
        name,
        model: model(({ messages }) => {
          const seen = messages.filter(({ role }) => role === "tool").length;
          return seen < 4 ? { toolCalls: [{ name: "look", arguments: { n: seen } }] } : `${name} saw all`;
        }),
        tools: [look],
        onBudget: "ask",
      });
    let books: ExecutionTracker | undefined;
    const runtime = governed({
      journal: new MemoryJournal(),
      ledger: (root) => (books = new ExecutionTracker(root.executionBudget, { scope: root.rootId })),
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: model([hands(["a", "x"], ["b", "y"]), "fine"]),
      subAgents: [
        { agent: worker("a"), askTimeoutS: null, executionBudget: { maxTurns: 3 } },
        { agent: worker("b"), askTimeoutS: null, executionBudget: { maxTurns: 3 } },
      ],
    });
    const handle = runtime.run(lead, "go", { runId: "r", executionBudget: { maxTurns: 30 } });
    await runtime.deliver("r", "approval:budget:r/hire:a#1", { turns: 4 });
    await runtime.deliver("r", "approval:budget:r/hire:b#1", { turns: 4 });
    expect((await handle.result).status).toBe("completed");
    expect(books?.budget.maxTurns).toBe(38);
  });
});

describe("T4: nothing is paid after a cancellation", () => {
  test("by an agent that catches what stops it and goes on", async () => {
    const said = model(() => "x");
    let refused = 0;
    const stubborn = agent("stubborn", async (ctx) => {
      for (let n = 0; n < 20; n++) {
        try {
          await ctx.llm(said, ask(`${n}`));
        } catch {
          refused++;
        }
      }
      return done("I went on");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(stubborn, { input: "" });
      handle.cancel("enough");
      const outcome = await ctx.join(handle);
      return done(outcome.status);
    });
    const result = await governed().run(lead, "go").result;
    expect(result.output).toBe("cancelled");
    expect(said.calls.length).toBeLessThanOrEqual(1);
    expect(refused).toBeGreaterThanOrEqual(19);
    expect(result.agents?.[1]).toMatchObject({ status: "cancelled" });
    expect(result.agents?.[1]?.wasteUsd).toBe(result.agents?.[1]?.costUsd);
  });
});

test("R18: a provider that nobody could reach for a while has charged nothing, and the books say so", async () => {
  const prices = { input: 0.25, output: 2 };
  const script = ["Good morning."];
  const { url, ...gone } = await loopbackOpenAI({ script });
  await gone.close();
  const unreachable = openai("gpt-5.2", { baseURL: url, apiKey: "sk-example-key" });
  const greeter = new ReActAgent({
    name: "greeter",
    model: unreachable,
    settings: { maxOutputTokens: 1_000 },
  });
  let tries = 0;
  let back: Awaited<ReturnType<typeof loopbackOpenAI>> | undefined;
  const runtime = new Runtime({
    meter: new ModelMeter({ prices: { "gpt-5.2": prices } }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    pipelines: {
      chat: new MiddlewarePipeline([
        retry({ baseMs: 0 }),
        async (_context, next) => {
          // It is there again at the third try.
          if (++tries === 3) back = await loopbackOpenAI({ script, prices, port: Number(new URL(url).port) });
          await next();
        },
      ]),
    },
  });
  try {
    const result = await runtime.run(greeter, "Hello", { executionBudget: { maxCostUsd: 1 } }).result;
    expect(result).toMatchObject({ status: "completed", output: "Good morning." });
    expect(tries).toBe(3);
    expect(result.cost).toBe(back?.bill().costUsd);
  } finally {
    await back?.close();
  }
});

it("R18: a limit that was warned of and is passed later is told again, and stands in the result and on record", async () => {
  const told: object[] = [];
  const hooks = new HookManager();
  hooks.on(HookEvent.BUDGET_WARNING, ({ used, limit }) => void told.push({ used, limit }));
  const noop = defineTool({ name: "noop", description: "", input: z.object({}), execute: () => "ok" });
  const spending = scriptedModel([
    { toolCalls: [{ name: "noop" }], usage: { inputTokens: 300, outputTokens: 8_200 } },
    { text: "final", usage: { inputTokens: 300, outputTokens: 50_000 } },
  ]);
  const settings = { maxOutputTokens: 20 };
  const worker = new ReActAgent({ name: "worker", model: spending, tools: [noop], hooks, settings });
  const journal = new MemoryJournal();
  const runtime = new Runtime({
    journal,
    ledger: ({ executionBudget, agentId }) =>
      new ExecutionTracker(executionBudget, { reserve: false, scope: agentId }),
  });
  const exceeded = [{ dimension: "tokens", used: 58_800, limit: 10_000, scope: "worker" }];
  const result = await runtime.run(worker, "x", { runId: "r", executionBudget: { maxTokens: 10_000 } })
    .result;
  expect(result).toMatchObject({ status: "completed", output: "final", exceeded });
  expect(told).toEqual([
    { used: 8_500, limit: 10_000 },
    { used: 58_800, limit: 10_000 },
  ]);
  expect(await runtime.resume("r").result).toMatchObject({ exceeded });
});
