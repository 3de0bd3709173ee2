import fc from "fast-check";
import { MemoryHistory, SlidingWindow } from "@ravi/context";
import { AgentId, ProviderError } from "@ravi/kernel";
import { PriceBook } from "@ravi/resources";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { agent, estimate, run, team, tool } from "@ravi/sdk";
import { within } from "../src/run/estimate.ts";

const RUNS = process.env["RAVI_LONG"] ? 2_000 : 60;
const prices = { scripted: { input: 1, output: 4 } };
const plain = () =>
  agent({ name: "plain", model: scriptedModel(["Hi."]), settings: { maxOutputTokens: 100 } });
const noop = tool({ name: "noop", description: "", input: z.object({}), execute: () => 1 });

describe("estimate", () => {
  test("bounds an agent that hears nobody but its model by what it can say", async () => {
    const { usd, tokens, calls, reason } = await estimate(plain(), "Hi", { prices, retry: false });
    expect({ calls, reason }).toEqual({ calls: 3, reason: undefined });
    expect(usd).toBeLessThan(0.01);
    expect(tokens).toBeLessThan(10_000);
  });

  test("counts every attempt of a retry", async () => {
    expect((await estimate(plain(), "Hi", { prices })).calls).toBe(12);
    expect((await estimate(plain(), "Hi", { prices, retry: { maxRetries: 1 } })).calls).toBe(6);
    expect((await estimate(plain(), "Hi", { prices, budget: { turns: 2 } })).calls).toBe(2);
  });

  test("counts each attempt in full, in tokens and in dollars", async () => {
    const once = await estimate(plain(), "Hi", { prices, retry: false });
    const twice = await estimate(plain(), "Hi", { prices, retry: { maxRetries: 1 } });
    expect(twice.tokens).toBe(2 * (once.tokens ?? 0));
    expect(twice.usd).toBeCloseTo(2 * (once.usd ?? 0), 10);
  });

  test("counts what is said to a model when it has to answer again", async () => {
    const { tokens, calls } = await estimate(plain(), "Hi", { prices, retry: false });
    // The second of three calls has one such message in its prompt, and the third has two, of up to 1,200 tokens each.
    expect([calls, (tokens ?? 0) > 3 * 1_200]).toEqual([3, true]);
  });

  test("bounds any other agent by its limits alone, since tools, layers and histories are not known", async () => {
    const model = scriptedModel(["Hi."]);
    const caps = { usd: 1, tokens: 500_000, calls: 100 };
    expect(await estimate(agent({ name: "a", model, tools: [noop] }), "Hi", { prices })).toEqual(caps);
    expect(await estimate(agent({ name: "a", model, instructions: () => "?" }), "Hi", { prices })).toEqual(
      caps,
    );
    expect(await estimate(agent({ name: "a", model, middleware: { chat: [] } }), "Hi", { prices })).toEqual(
      caps,
    );
    expect(await estimate(plain(), "Hi", { prices, sessionId: "s" })).toEqual(caps);
    expect(await estimate(plain(), "Hi", { prices, middleware: { chat: [] } })).toEqual(caps);
    const history = new MemoryHistory();
    expect(await estimate(plain(), "Hi", { prices, history })).toEqual(caps);
    const compaction = new SlidingWindow({ messages: 10 });
    expect(await estimate(plain(), "Hi", { prices, compaction })).toEqual(caps);
    expect(await estimate(team({ name: "t", model, members: [plain()] }), "Hi", { prices })).toEqual(caps);
  });

  test("is null where nothing bounds it, with the reason", async () => {
    const open = agent({ name: "open", model: scriptedModel(["Hi."]), tools: [noop] });
    expect(await estimate(open, "Hi", { prices, budget: null })).toEqual({
      usd: null,
      tokens: null,
      calls: null,
      reason:
        "its cost has no limit; set budget.usd; its tokens have no limit; set budget.tokens; its model calls have no limit; set budget.turns",
    });
  });

  test("is null in dollars without a price, also of a member; with a limit of one's own it says what will happen", async () => {
    expect(await estimate(plain(), "Hi")).toMatchObject({
      usd: null,
      reason: "scripted:scripted of plain has no known price; set it with the option prices",
    });
    const lead = team({
      name: "lead",
      model: scriptedModel(["x"], { info: { model: "known" } }),
      members: [plain()],
    });
    const known = { "scripted:known": { input: 1, output: 1 } };
    expect(await estimate(lead, "Hi", { prices: known })).toMatchObject({
      usd: null,
      reason: expect.stringContaining("of plain"),
    });
    expect(await estimate(plain(), "Hi", { budget: { usd: 2 } })).toMatchObject({
      usd: 2,
      reason: expect.stringContaining("will be refused"),
    });
  });

  test("knows only the limits of an agent that was not made here", async () => {
    const foreign = { id: AgentId("foreign"), run: plain().run };
    expect(await estimate(foreign, "Hi")).toMatchObject({
      usd: null,
      tokens: 500_000,
      calls: 100,
      reason: expect.stringContaining("foreign"),
    });
    expect(await estimate(foreign, "Hi", { budget: { usd: 3 } })).toMatchObject({ usd: 3 });
  });

  test("is null in dollars where work is delegated to agents that are not known", async () => {
    const model = scriptedModel(["Hi."]);
    const boss = agent({ name: "boss", model, tools: [plain().asDelegate()] });
    const reason = "the models of the agents that boss delegates to are not known";
    expect(await estimate(boss, "Hi", { prices })).toMatchObject({ usd: null, tokens: 500_000, reason });
  });

  test("is null in dollars where helpers that a model defines have a model without a price, or delegate further", async () => {
    const model = scriptedModel(["Hi."]);
    const free = scriptedModel(["x"], { info: { model: "free" } });
    const boss = team({ name: "boss", model, dynamicHiring: { tools: [noop], model: free } });
    const reason = "scripted:free of the helpers of boss has no known price; set it with the option prices";
    const known = { "scripted:scripted": { input: 1, output: 4 } };
    expect(await estimate(boss, "Hi", { prices: known })).toMatchObject({ usd: null, reason });
    const vague = team({ name: "vague", model, dynamicHiring: { tools: [plain().asDelegate()] } });
    const unknown = "the models of the agents that vague delegates to are not known";
    expect(await estimate(vague, "Hi", { prices })).toMatchObject({ usd: null, reason: unknown });
    const plainHelpers = team({ name: "clear", model, dynamicHiring: { tools: [noop] } });
    expect(await estimate(plainHelpers, "Hi", { prices })).toMatchObject({ usd: 1 });
  });

  test("takes a book of prices too, and refuses misspelt options", async () => {
    expect((await estimate(plain(), "Hi", { prices: new PriceBook({ prices }) })).usd).not.toBeNull();
    await expect(estimate(plain(), "Hi", { budgets: {} } as object)).rejects.toThrow(/budgets/);
    for (const retry of [{ maxRetries: -1 }, { maxRetries: Number.NaN }, { maxRetry: 2 }, null] as object[])
      await expect(estimate(plain(), "Hi", { prices, retry })).rejects.toThrow(/^retry/);
  });
});

test("no run costs more than was estimated, whatever its model does", async () => {
  const answer = fc.oneof(
    fc.constant("empty"),
    fc.constant("wrong shape"),
    fc.constant("fits"),
    fc.constant("fails"),
    fc.constant("says no usage"),
    fc.constant("calls what is not there"),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.string({ maxLength: 200 }),
      fc.string({ maxLength: 400 }),
      fc.array(answer, { maxLength: 20 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 300 }),
      async (instructions, input, answers, hasOutput, maxOutputTokens) => {
        const left = [...answers];
        const model = scriptedModel(({ maxOutputTokens: most = 0 }) => {
          const kind = left.shift() ?? "fits";
          const text = kind === "empty" ? "" : kind === "wrong shape" ? "{}" : '{"n":1}';
          if (kind === "fails") return new ProviderError({ kind: "SERVER_ERROR", message: "cut off" });
          // As long as the model may answer, whatever it says.
          const usage = kind === "says no usage" ? null : { outputTokens: most };
          const toolCalls = [{ name: `nobody${left.length}`, arguments: {} }];
          return kind === "calls what is not there" ? { toolCalls, usage } : { text, usage };
        });
        const output = hasOutput ? z.object({ n: z.number() }) : undefined;
        const who = agent({ name: "who", model, instructions, output, settings: { maxOutputTokens } });
        const options = { prices, retry: { baseMs: 0, capMs: 0 } };
        const worst = await estimate(who, input, options);
        const { cost, usage } = await run(who, input, options);
        expect(model.calls.length).toBeLessThanOrEqual(worst.calls ?? 0);
        expect(cost).toBeLessThanOrEqual(worst.usd ?? 0);
        expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(worst.tokens ?? 0);
      },
    ),
    { numRuns: RUNS },
  );
});

test("nor does one whose model calls tools without end, and has none", async () => {
  const model = scriptedModel((_, call) => ({ toolCalls: [{ name: `nobody${call}`, arguments: {} }] }));
  const who = agent({ name: "who", model, settings: { maxOutputTokens: 100 } });
  const worst = await estimate(who, "Hi", { prices, retry: false });
  const { status } = await run(who, "Hi", { prices, retry: false });
  expect(status).toBe("partial");
  expect(model.calls.length).toBeLessThanOrEqual(worst.calls ?? 0);
});

test("an estimate that forgot the repeated attempts would be caught", async () => {
  const model = scriptedModel(() => new ProviderError({ kind: "SERVER_ERROR", message: "cut off" }));
  const who = agent({ name: "who", model, settings: { maxOutputTokens: 100 } });
  const forgetful = await estimate(who, "Hi", { prices, retry: false });
  const { usage } = await run(who, "Hi", { prices, retry: { baseMs: 0, capMs: 0, maxRetries: 60 } });
  expect(usage.inputTokens + usage.outputTokens).toBeGreaterThan(forgetful.tokens ?? 0);
});

test("an estimate counts with the defaults of a run: for attempts, and for answers of the wrong shape", async () => {
  const settings = { maxOutputTokens: 100 };
  const failing = scriptedModel(() => new ProviderError({ kind: "SERVER_ERROR", message: "cut off" }));
  const unlucky = agent({ name: "unlucky", model: failing, settings });
  const retry = { baseMs: 0, capMs: 0 };
  await run(unlucky, "Hi", { prices, retry });
  const once = await estimate(unlucky, "Hi", { prices, retry: false });
  const repeated = await estimate(unlucky, "Hi", { prices, retry });
  expect(repeated.calls).toBe((once.calls ?? 0) * failing.calls.length);

  const wrong = scriptedModel(() => "{}");
  const shaped = agent({ name: "shaped", model: wrong, settings, output: z.object({ n: z.number() }) });
  await run(shaped, "Hi", { prices, retry: false });
  const { calls } = await estimate(shaped, "Hi", { prices, retry: false });
  expect(calls).toBe((once.calls ?? 0) + wrong.calls.length - 1);
});

test("the tighter of what an agent can take and what it may, in each dimension", () => {
  const none = { usd: null, tokens: null, turns: null, toolCalls: null, seconds: null };
  const priced = { unpriced: undefined, isStrict: true };
  expect(within({ usd: 2, tokens: 10, calls: 3 }, { ...none, usd: 1, turns: 5 }, priced)).toEqual({
    usd: 1,
    tokens: 10,
    calls: 3,
  });
});
