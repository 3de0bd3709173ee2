import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  BudgetExhaustedError,
  type CompactionStrategy,
  defineTool,
  InvalidValueError,
  type Meter,
  type Pipelines,
  Priority,
  ProviderError,
  RunId,
  textOf,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, until } from "./support/helpers.ts";

const meter: Meter = {
  estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 2 } }),
  price: () => ({ usd: 1 }),
};
const count = defineTool({
  name: "count",
  description: "",
  input: z.object({}),
  idempotent: true,
  execute: () => 1,
});
const call = { id: "c", name: "count", arguments: "{}" };

describe("R18, O4: who used what", () => {
  const model = scriptedModel(() => "ok", { record: false });
  const helper = agent("helper", async (ctx, inbox) => {
    await ctx.llm(model, ask("1"));
    if (inbox.input === "crash") throw new RangeError("no");
    await ctx.tool(call, count);
    return done("");
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("1"));
    await ctx.llm(model, ask("2"));
    await ctx.batch([
      { kind: "hire", agent: helper, input: "", priority: Priority.HIGH },
      { kind: "hire", agent: helper, input: "crash" },
      { kind: "hire", agent: helper, input: "" },
    ]);
    return done("");
  });
  const rules = {
    meter,
    headcount: () => new FakeHeadcount(2),
    ledger: () => new FakeLedger({}),
  };
  const expected = [
    {
      agentId: "lead",
      parent: null,
      status: "completed",
      costUsd: 2,
      modelCalls: 2,
      toolCalls: 0,
      wasteUsd: 0,
    },
    {
      agentId: "helper/1",
      parent: "lead",
      priority: Priority.HIGH,
      status: "completed",
      costUsd: 1,
      toolCalls: 1,
    },
    { agentId: "helper/2", parent: "lead", status: "failed", costUsd: 1, modelCalls: 1, wasteUsd: 1 },
    { agentId: "helper/3", parent: "lead", status: "denied", costUsd: 0, modelCalls: 0, wasteUsd: 0 },
  ];

  test("each agent has its account, also one that failed or was denied, with the limits of the tree", async () => {
    const runtime = new Runtime({ ...rules, journal: new MemoryJournal() });
    const options = { spawnBudget: { maxAgents: 3 }, executionBudget: { maxTurns: 50 } };
    const result = await runtime.run(lead, "", { ...options, runId: "r" }).result;
    expect(result.agents).toMatchObject(expected);
    expect(result.limits).toMatchObject({ spawnBudget: { maxAgents: 3 }, executionBudget: { maxTurns: 50 } });
    expect(result.cost).toBe(4);
    // Asked again, the record says the same.
    const again = await runtime.resume("r").result;
    expect(again.agents).toEqual(result.agents);
    expect(again.limits).toEqual(result.limits);
  });

  test("R2: a hire that names no priority is NORMAL, whatever its parent is: started, denied, or read back", async () => {
    const hiring = agent("hiring", async (ctx) => {
      await ctx.hire({ agent: helper, input: "" });
      await ctx.batch([
        { kind: "hire", agent: helper, input: "" },
        { kind: "hire", agent: helper, input: "" },
      ]);
      return done("");
    });
    const journal = new MemoryJournal();
    const headcount = () => new FakeHeadcount(1);
    const options = { runId: "r", priority: Priority.HIGH };
    const run = new Runtime({ ...rules, headcount, journal }).run(hiring, "", options);
    const seen = ({ agents }: Awaited<typeof run.result>) =>
      agents?.map(({ status, priority }) => [status, priority]);
    const expectedOf = [
      ["completed", Priority.HIGH],
      ["completed", Priority.NORMAL],
      ["completed", Priority.NORMAL],
      ["denied", Priority.NORMAL],
    ];
    expect(seen(await run.result)).toEqual(expectedOf);
    const records = journal.load(RunId("r"));
    const crashed = cut("r", records.slice(0, -1));
    const resumed = new Runtime({ ...rules, headcount, journal: crashed, agents: [hiring, helper] });
    expect(seen(await resumed.resume("r").result)).toEqual(expectedOf);
  });

  test("a bare run counts too, and says that it had no limits", async () => {
    const result = await new Runtime().run(lead, "").result;
    expect(result.limits).toEqual({ spawnBudget: null, executionBudget: null });
    expect(result.agents?.map(({ modelCalls, toolCalls }) => [modelCalls, toolCalls])).toEqual([
      [2, 0],
      [1, 1],
      [1, 0],
      [1, 1],
    ]);
  });

  test("T5: cut off after any entry and resumed, the accounts say the same; what was in doubt comes on top", async () => {
    const journal = new MemoryJournal();
    const whole = await new Runtime({ ...rules, journal }).run(lead, "", { runId: "r" }).result;
    const records = journal.load(RunId("r"));
    for (let at = 2; at < records.length; at++) {
      const runtime = new Runtime({
        ...rules,
        journal: cut("r", records.slice(0, at)),
        agents: [lead, helper],
      });
      const result = await runtime.resume("r").result;
      const doubted = (result.inDoubt ?? []).filter((key) => key.includes(":llm:")).length;
      const before = records[at - 1];
      expect(result.cost, `after ${at}: ${before?.phase} of ${before?.key}`).toBe(4 + 2 * doubted);
      for (const [n, account] of (result.agents ?? []).entries()) {
        const known = whole.agents?.find(({ execId }) => execId === account.execId);
        const { agentId, status, priority, modelCalls, toolCalls } = account;
        expect([n, agentId, status, priority, modelCalls, toolCalls]).toEqual([
          n,
          known?.agentId,
          known?.status,
          known?.priority,
          known?.modelCalls,
          known?.toolCalls,
        ]);
        if (result.inDoubt?.length === 0) expect(account).toEqual(known);
      }
    }
  });
});

test("O4: an account says why its agent was cut off, and by whose limit; after a restart and by the record too", async () => {
  const model = scriptedModel(() => "ok", { record: false });
  const worker = agent("worker", async (ctx) => {
    for (;;) await ctx.llm(model, ask("?"));
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: worker, input: "", executionBudget: { maxTurns: 1 } });
    await ctx.hire({ agent: worker, input: "" });
    return done(String(await ctx.waitFor("go")));
  });
  const rules = { meter, ledger: () => new FakeLedger({ maxTurns: 3 }), agents: [lead, worker] };
  const stoppedBy = { dimension: "turns", scope: "fake" };
  const cutOff = [
    { agentId: "worker/1", status: "partial", stopReason: "budget", stoppedBy: { ...stoppedBy, limit: 1 } },
    { agentId: "worker/2", status: "partial", stopReason: "budget", stoppedBy: { ...stoppedBy, limit: 3 } },
  ];
  const journal = new MemoryJournal();
  const first = new Runtime({ ...rules, journal });
  const run = first.run(lead, "", { runId: "r" });
  await until(() => run.status === "suspended");
  expect((await first.inspect("r")).agents.slice(1)).toMatchObject(cutOff);
  await first.close();
  const second = new Runtime({ ...rules, journal });
  await second.deliver("r", "go", "on");
  const { agents = [] } = await second.resume("r").result;
  expect(agents[0]).not.toHaveProperty("stopReason");
  expect(agents.slice(1)).toMatchObject(cutOff);
  expect((await second.inspect("r")).agents).toEqual(agents);
});

test("O4: a call that a layer has answered went to nobody, also by the record", async () => {
  const model = scriptedModel(() => "ok", { record: false });
  const answering: Pipelines["chat"] = {
    isNoop: false,
    admit: () => {},
    run: async (context, core) => {
      const text = context.request.messages.map(textOf).join("");
      if (text === "judged") context.result = await context.call(model, ask("may it?"));
      if (text === "cached")
        context.result = { message: { role: "assistant", content: "" }, finishReason: "stop" };
      return context.result === undefined ? core() : undefined;
    },
  };
  const lead = agent("lead", async (ctx) => {
    for (const text of ["asked", "cached", "judged"]) await ctx.llm(model, ask(text));
    return done("");
  });
  const rules = { meter, ledger: () => new FakeLedger({}), pipelines: { chat: answering } };
  const journal = new MemoryJournal();
  const whole = await new Runtime({ ...rules, journal }).run(lead, "", { runId: "r" }).result;
  expect(whole.agents).toMatchObject([{ modelCalls: 1, costUsd: 2 }]);
  const before = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
  const resumed = new Runtime({ ...rules, journal: cut("r", before), agents: [lead] });
  expect((await resumed.resume("r").result).agents).toEqual(whole.agents);
});

test("O4: an attempt that failed is a retry, and what it cost is waste", async () => {
  let tries = 0;
  const flaky = scriptedModel(() => "ok", { record: false });
  const model = {
    ...flaky,
    generate: (...args: Parameters<typeof flaky.generate>) => {
      if (++tries === 1) throw new ProviderError({ kind: "TIMEOUT", message: "cut off" });
      return flaky.generate(...args);
    },
  };
  const retrying = {
    isNoop: false,
    admit: () => {},
    run: async (_context: object, core: () => Promise<void>) => core().catch(() => core()),
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("1"));
    return done("");
  });
  const rules = { meter, pipelines: { chat: retrying } };
  const journal = new MemoryJournal();
  const runtime = new Runtime({ ...rules, journal, ledger: () => new FakeLedger({}) });
  const { agents, cost } = await runtime.run(lead, "", { runId: "r" }).result;
  expect(agents).toMatchObject([{ modelCalls: 1, retries: 1, wasteUsd: 2, costUsd: 3 }]);
  expect(cost).toBe(3);
  // The same by the record. Its ledger is told the larger of the two: so much the next call may take, and not the sum.
  const ledger = new FakeLedger({});
  const charge = vi.spyOn(ledger, "charge");
  const before = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
  const resumed = new Runtime({ ...rules, journal: cut("r", before), agents: [lead], ledger: () => ledger });
  expect((await resumed.resume("r").result).agents).toEqual(agents);
  expect(charge.mock.calls).toMatchObject([[{ cost: 3, turns: 2 }, { largest: { tokens: 200, cost: 2 } }]]);
});

test("O4: the call of a strategy that summarizes is one of its agent's calls, also by the record", async () => {
  const model = scriptedModel(() => "ok", { record: false });
  const compaction: CompactionStrategy = {
    async compact(messages, context) {
      await context?.llm?.(model, ask("summarize"));
      return messages.slice(1);
    },
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.remember({ role: "user", content: "long" });
    await ctx.window({});
    return done("");
  });
  const rules = { meter, compaction, ledger: () => new FakeLedger({}) };
  const journal = new MemoryJournal();
  const whole = await new Runtime({ ...rules, journal }).run(lead, "", { runId: "r" }).result;
  expect(whole.agents).toMatchObject([{ modelCalls: 1, costUsd: 1 }]);
  const before = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
  const resumed = new Runtime({ ...rules, journal: cut("r", before), agents: [lead] });
  expect((await resumed.resume("r").result).agents).toEqual(whole.agents);
});

test("R18: a meter that answers later is waited for: the call is charged its price", async () => {
  const later: Meter = {
    estimate: async () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 2 } }),
    price: async () => ({ usd: 1 }),
  };
  const model = scriptedModel([{ text: "ok", usage: { inputTokens: 10, outputTokens: 1 } }]);
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("1"));
    return done("");
  });
  const ledger = new FakeLedger({});
  const { cost, agents } = await new Runtime({ meter: later, ledger: () => ledger }).run(lead, "").result;
  expect(ledger.used).toMatchObject({ tokens: 11, cost: 1, turns: 1 });
  expect([cost, agents]).toMatchObject([1, [{ costUsd: 1, usage: { inputTokens: 10, outputTokens: 1 } }]]);
});

test.each([
  ["a mistake in the code of its model", new TypeError("model.x is not a function")],
  [
    "a value that its model refuses",
    new InvalidValueError({ field: "apiKey", value: "", expected: "a key" }),
  ],
  [
    "a limit that its model keeps",
    new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "model" }),
  ],
])("R18: a call that fails by %s took its turn and no money, since nothing was sent", async (_, error) => {
  const model = {
    ...scriptedModel([]),
    generate: () => {
      throw error;
    },
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("1")).catch(() => {});
    return done("");
  });
  const ledger = new FakeLedger({});
  const { cost } = await new Runtime({ meter, ledger: () => ledger }).run(lead, "").result;
  expect(ledger.used).toMatchObject({ tokens: 0, cost: 0, turns: 1 });
  expect(cost).toBe(0);
});

test("T5: a call whose judge could not be reached is still one call after a restart", async () => {
  const judge = scriptedModel(() => {
    throw new Error("socket hang up");
  });
  const model = scriptedModel(() => "ok");
  const pipelines: Pipelines = {
    chat: {
      isNoop: false,
      admit: () => {},
      async run(context, core) {
        await context.call(judge, ask("may it?")).catch(() => {});
        await core();
      },
    },
  };
  const caller = agent("caller", async (ctx) => {
    await ctx.llm(model, ask("?"));
    return done(String(await ctx.waitFor("word")));
  });
  const journal = new MemoryJournal();
  const whole = new Runtime({ journal, pipelines });
  const { result } = whole.run(caller, "", { runId: "r" });
  await whole.deliver("r", "word", "on");
  expect((await result).agents).toMatchObject([{ modelCalls: 1 }]);
  const records = journal.load(RunId("r"));
  const atWait = records.findIndex(({ key }) => key.startsWith("wait"));
  const resumed = new Runtime({
    journal: cut("r", records.slice(0, atWait)),
    pipelines,
    agents: [caller],
  });
  await resumed.deliver("r", "word", "on");
  expect((await resumed.resume("r").result).agents).toMatchObject([{ modelCalls: 1 }]);
  expect(model.calls).toHaveLength(1);
});

test.each(["model", "tool"])(
  "T4: a %s call that was cut off, and then refused before it was made again, is not counted as made again",
  async (kind) => {
    const model = scriptedModel(() => "fine", { record: false });
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      idempotent: true,
      execute: () => "seen",
    });
    const asker = agent("asker", async (ctx) => {
      const step: Promise<unknown> =
        kind === "model"
          ? ctx.llm(model, ask("?"))
          : ctx.tool({ id: "c", name: "look", arguments: "{}" }, look);
      await step.catch(() => {});
      return done(String(await ctx.waitFor("name")));
    });
    const whole = new MemoryJournal();
    const first = new Runtime({ journal: whole, ledger: () => new FakeLedger() });
    const begun = first.run(asker, "", { runId: "r" });
    await until(() => begun.status === "suspended");
    await first.close();
    const records = whole.load(RunId("r"));
    const at = records.findIndex(({ phase }) => phase === "begin");
    const journal = cut("r", records.slice(0, at + 1));

    const counts = async (): Promise<unknown> => {
      const [account] = (await new Runtime({ journal }).inspect("r")).agents;
      return { modelCalls: account?.modelCalls, toolCalls: account?.toolCalls, retries: account?.retries };
    };
    const once = { modelCalls: kind === "model" ? 1 : 0, toolCalls: kind === "tool" ? 1 : 0, retries: 0 };
    expect(await counts()).toEqual(once);
    // What was set aside for the call that was cut off has used up the only turn.
    const ledger = (): FakeLedger => new FakeLedger({ maxTurns: 1, maxToolCalls: 0 });
    const second = new Runtime({ journal, agents: [asker], ledger });
    const resumed = second.resume("r");
    await until(() => resumed.status === "suspended");
    await second.close();
    expect(await counts()).toEqual(once);
    const third = new Runtime({ journal, agents: [asker], ledger });
    await third.deliver("r", "name", "Bo");
    const result = await third.resume("r").result;
    expect(result.output).toBe("Bo");
    expect(result.agents).toMatchObject([once]);
  },
);
