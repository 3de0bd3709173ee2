import { AgentId, type Ledger, type RunId, Supervision } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { ExecutionTracker, ModelMeter, PriceBook } from "@ravi/resources";
import { approval } from "@ravi/middleware";
import { MemoryJournal } from "@ravi/runtime";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { ledgerFor } from "../src/run/host/ledger.ts";
import { meteringFor } from "../src/run/host/meters.ts";
import {
  type Agent,
  agent,
  DEFAULT_LIMITS,
  deliver,
  HookEvent,
  HookManager,
  type Member,
  resume,
  run,
  type RunOptions,
  runs,
  start,
  team,
  tool,
} from "@ravi/sdk";

const greeter = (options: object = {}) =>
  agent({ name: "greeter", model: scriptedModel(["Hello."]), ...options });

describe("limits", () => {
  test("without a word about them the documented defaults hold, and stand in the result", async () => {
    expect((await run(greeter(), "Hi")).limits).toEqual({
      budget: { usd: 1, tokens: 500_000, turns: 100, toolCalls: 500, seconds: 600 },
      tree: { agents: 8, depth: 3, total: null, preempt: true },
    });
  });

  test("a run with a journal may rest for days: it has no deadline but the one that it is given", async () => {
    const journal = new MemoryJournal();
    const { limits } = await run(greeter(), "Hi", { journal });
    expect(limits.budget).toEqual({ ...DEFAULT_LIMITS.budget, seconds: null });
    const timed = await run(greeter(), "Hi", { journal, budget: { seconds: 60 } });
    expect(timed.limits.budget.seconds).toBe(60);
    const own = await run(greeter({ budget: { seconds: 90 } }), "Hi", { journal });
    expect(own.limits.budget.seconds).toBe(90);
  });

  test("what is left out keeps its default, and null takes a limit off", async () => {
    const { limits } = await run(greeter(), "Hi", {
      budget: { usd: null, turns: 3 },
      tree: { depth: null, total: 9 },
    });
    expect(limits).toEqual({
      budget: { ...DEFAULT_LIMITS.budget, usd: null, turns: 3 },
      tree: { ...DEFAULT_LIMITS.tree, depth: null, total: 9 },
    });
    const none = { usd: null, tokens: null, turns: null, toolCalls: null, seconds: null };
    expect((await run(greeter(), "Hi", { budget: null })).limits.budget).toEqual(none);
  });

  test("more dollars than can be counted are refused by the name that they were written under", () => {
    const expected = /budget\.usd is 1000000000; expected at most 9007199, or null for no limit/;
    const refused = (): unknown => start(greeter(), "Hi", { budget: { usd: 1e9 } });
    expect(refused).toThrow(expected);
    expect(() => greeter({ budget: { usd: 1e9 } })).toThrow(expected);
    expect(() => greeter({ budget: { usd: 9_007_199 } })).not.toThrow();
  });

  test("R18: one ledger holds for many runs at once, and for all whom they hire", async () => {
    const tenant = new ExecutionTracker({ maxCostUsd: 0.02 }, { scope: "tenant acme" });
    const prices = { scripted: { input: 1, output: 10 } };
    const answer = { text: "Hello.", usage: { inputTokens: 100, outputTokens: 100 } };
    const settings = { maxOutputTokens: 200 };
    const greets = () => agent({ name: "greeter", model: scriptedModel([answer]), settings });
    const leads = () =>
      team({
        name: "lead",
        model: scriptedModel([
          { toolCalls: [{ name: "handoff_greeter", arguments: { task: "greet" } }], usage: answer.usage },
          answer,
        ]),
        members: [greets()],
        settings,
        budget: tenant,
      });
    const results = await Promise.all(Array.from({ length: 20 }, () => run(leads(), "Hi", { prices })));
    const spent = results.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
    expect(tenant.used.cost).toBeCloseTo(spent, 9);
    expect(tenant.used.cost).toBeGreaterThan(0.01);
    expect(tenant.used.cost).toBeLessThanOrEqual(0.02);
    expect(tenant.open).toBe(0);
    const stopped = results.filter(({ status }) => status === "partial");
    expect(stopped.length).toBeGreaterThan(0);
    for (const { stoppedBy } of stopped) expect(stoppedBy?.scope).toMatch(/tenant acme/);
  });

  test("R18: helpers that do not all fit under the cap at once take turns, and all of them do their work", async () => {
    const price = { prices: { scripted: { input: 1, output: 10 } } };
    const usage = { inputTokens: 100, outputTokens: 10 };
    const note = agent({ name: "note", model: scriptedModel(() => ({ text: "noted", usage })) });
    const tasks = Array.from({ length: 7 }, (_, n) => ({
      name: "handoff_note",
      arguments: { task: `part ${n}` },
    }));
    const lead = team({
      name: "lead",
      model: scriptedModel([
        { toolCalls: tasks, usage },
        { text: "all noted", usage },
      ]),
      members: [note],
    });
    // A call reserves more than eight cents for 8,192 tokens, and takes a fiftieth of a cent.
    const result = await run(lead, "Note all parts", { ...price, budget: { usd: 0.1 } });
    expect(result).toMatchObject({ status: "completed", output: "all noted" });
    const statuses = result.tree.agents().map(({ status }) => status);
    expect(statuses).toEqual(["completed", ...tasks.map(() => "completed")]);
    expect(result.cost).toBeCloseTo(9 * 0.0002, 9);
  });

  test("R18: a member with a share of its lead's ledger is charged to that once, and has all that is left of it", async () => {
    const tenant = new ExecutionTracker({ maxCostUsd: 0.12 }, { scope: "tenant acme" });
    const share = tenant.child({ maxCostUsd: 0.1 }, "greeters");
    const usage = { inputTokens: 100, outputTokens: 10 };
    const lead = team({
      name: "lead",
      model: scriptedModel([
        { toolCalls: [{ name: "handoff_greeter", arguments: { task: "greet" } }], usage },
        { text: "greeted", usage },
      ]),
      members: [agent({ name: "greeter", model: scriptedModel([{ text: "Hello.", usage }]), budget: share })],
      budget: tenant,
    });
    // A call reserves more than eight cents for 8,192 tokens, and takes a fiftieth of a cent.
    const result = await run(lead, "Hi", { prices: { scripted: { input: 1, output: 10 } } });
    expect(result.tree.agents().map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect([tenant.used, share.used]).toMatchObject([
      { turns: 3, cost: result.cost },
      { turns: 1, cost: 0.0002 },
    ]);
  });

  test("R18: a ledger of many runs is charged once by a run that is resumed", async () => {
    const tenant = new ExecutionTracker({ maxCostUsd: 1 }, { scope: "tenant acme" });
    const usage = { inputTokens: 1_000, outputTokens: 100 };
    const model = scriptedModel([
      { toolCalls: [{ name: "pay", arguments: {} }], usage },
      { text: "Paid.", usage },
    ]);
    const careful = agent({
      name: "careful",
      model,
      tools: [
        tool({
          name: "pay",
          description: "",
          input: z.object({}),
          needsApproval: true,
          execute: () => "paid",
        }),
      ],
      budget: tenant,
    });
    const options = { journal: new MemoryJournal(), prices: { scripted: { input: 1, output: 10 } } };
    const asked = Promise.withResolvers<string>();
    const hooks = new HookManager();
    hooks.on(HookEvent.APPROVAL_REQUESTED, ({ name }) => asked.resolve(name));
    const handle = start(careful, "Hi", { ...options, hooks });
    const name = await asked.promise;
    expect(await handle.suspend()).toMatchObject({ status: "suspended", cost: 0.002 });
    expect(tenant.used.cost).toBe(0.002);
    await deliver(handle.runId, name, true, { journal: options.journal });
    expect(await resume(handle.runId, { agents: careful, ...options })).toMatchObject({ cost: 0.004 });
    expect(tenant.used.cost).toBe(0.004);
  });

  test("an agent's own limits go before the defaults, and the run's before the agent's", async () => {
    const own = greeter({ budget: { tokens: 900_000, turns: 7 } });
    expect((await run(own, "Hi")).limits.budget).toEqual({
      ...DEFAULT_LIMITS.budget,
      tokens: 900_000,
      turns: 7,
    });
    expect((await run(own, "Hi", { budget: { turns: 5 } })).limits.budget.turns).toBe(5);
    const lead = team({
      name: "lead",
      model: scriptedModel(["Done."]),
      members: [greeter()],
      tree: { agents: 30 },
    });
    expect((await run(lead, "Hi")).limits.tree.agents).toBe(30);
    expect((await run(lead, "Hi", { tree: { agents: 4 } })).limits.tree).toEqual({
      ...DEFAULT_LIMITS.tree,
      agents: 4,
    });
  });

  test("a run cannot raise or remove what its agent may spend by its own budget", async () => {
    const own = greeter({ budget: { turns: 1 } });
    for (const budget of [{ turns: 5 }, { turns: null }, null])
      expect((await run(own, "Hi", { budget })).limits.budget.turns).toBe(1);
  });

  test("a ledger of the user's own is reserved from in addition", async () => {
    const tracker = new ExecutionTracker({ maxTurns: 1 });
    const clerk = agent({ name: "clerk", model: scriptedModel(() => "Hello."), budget: tracker });
    expect((await run(clerk, "Hi")).status).toBe("completed");
    expect(await run(clerk, "Hi")).toMatchObject({ status: "partial", stopReason: "budget" });
    expect(tracker.used.turns).toBe(1);
  });
});

describe("a model without a known price", () => {
  test("runs under the default limit in dollars, and its cost is null and not 0", async () => {
    expect(await run(greeter(), "Hi")).toMatchObject({ status: "completed", cost: null });
  });

  test("is refused under a limit that somebody set, with what to do about it", async () => {
    const result = await run(greeter(), "Hi", { budget: { usd: 1 } });
    expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    expect(result.error?.message).toContain(
      'set prices: { "scripted:scripted": { input: 0.5, output: 1.5 } }',
    );
    expect(result.error?.message).toContain("budget: { usd: null }");
    const priced = { "scripted:scripted": { input: 1, output: 1 } };
    expect((await run(greeter(), "Hi", { budget: { usd: 1 }, prices: priced })).status).toBe("completed");
  });

  test("is refused under an agent's own limit too, at any depth", async () => {
    for (const usd of [0.5, 1]) expect((await run(greeter({ budget: { usd } }), "Hi")).status).toBe("failed");
    const model = scriptedModel([
      { toolCalls: [{ name: "handoff_greeter", arguments: { task: "Hi" } }] },
      "Over.",
    ]);
    const members = [{ agent: greeter(), budget: { usd: 0.5 } }];
    const lead = team({ name: "lead", model, members, retryPolicy: false });
    const seen: boolean[] = [];
    await run(lead, "Hi", {
      onEvent: ({ event }) => event.type === "toolResult" && seen.push(event.isError),
    });
    expect(seen).toEqual([true]);
  });

  test("is still held to its tokens", async () => {
    const result = await run(greeter(), "Hi", { budget: { tokens: 10 } });
    expect(result).toMatchObject({ status: "partial", stopReason: "budget", output: "" });
    expect(result.usage).toEqual({ inputTokens: 0, outputTokens: 0 });
  });
});

describe("whether the limit in dollars is the default one is on record", () => {
  const send = tool({
    name: "send",
    description: "Sends it.",
    input: z.object({}),
    needsApproval: true,
    execute: () => "sent",
  });
  const prices = { "scripted:scripted": { input: 1, output: 1 } };
  const clerk = (): ReturnType<typeof greeter> =>
    agent({
      name: "clerk",
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === "tool" ? "Sent." : { toolCalls: [{ name: "send", arguments: {} }] },
      ),
      tools: [send],
    });

  /** A run that waits for its approval, and has it now. */
  async function waiting(options: RunOptions): Promise<MemoryJournal> {
    const journal = new MemoryJournal();
    const handle = start(clerk(), "Send it", { ...options, journal, runId: "r" });
    await vi.waitUntil(() => handle.status === "suspended");
    await handle.suspend();
    const name = (await runs({ journal }))[0]?.waitingFor?.[0]?.name ?? "";
    await deliver("r", name, true, { journal, mustWait: true });
    return journal;
  }

  test("a limit of the same amount that the call has set still refuses a model without a price after a resume", async () => {
    const journal = await waiting({ budget: { usd: 1 }, prices });
    const result = await resume("r", { agents: clerk(), journal });
    expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    expect(result.error?.message).toContain("the price of scripted:scripted");
  });

  test("the default one lets it through, whoever else is registered", async () => {
    const journal = await waiting({});
    const agents = [clerk(), greeter({ budget: { usd: 5 } })];
    expect(await resume("r", { agents, journal })).toMatchObject({ status: "completed", output: "Sent." });
  });

  test("a run that a Runtime has begun, whose record does not say it, has a limit of its own, whatever its amount", async () => {
    for (const usd of [1, 2]) {
      const journal = await waiting({ budget: { usd }, prices });
      const load = journal.load.bind(journal);
      const old = Object.assign(journal, {
        load: (runId: RunId) =>
          load(runId).map((record) => {
            const { facts: _facts, ...body } = record.body;
            return record.key === "run:start" ? { ...record, body } : record;
          }),
      });
      const result = await resume("r", { agents: clerk(), journal: old });
      expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    }
  });

  test("a model that the default limit cannot count is told of once, also by a resumed run", async () => {
    const warned: string[] = [];
    const note = (level: string) => (message: string) => void warned.push(`${level}: ${message}`);
    const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
    const journal = await waiting({ logger });
    const warning =
      'warn: the limit of $1 does not count calls of scripted:scripted, whose price is not known: set prices: { "scripted:scripted": { input: 0.5, output: 1.5 } }, or budget: { usd: null } if it costs nothing';
    expect(warned).toEqual([warning]);
    await resume("r", { agents: clerk(), journal, logger });
    expect(warned).toEqual([warning, warning]);
    const twice = agent({
      name: "twice",
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === "tool" ? "Sent." : { toolCalls: [{ name: "send", arguments: {} }] },
      ),
      tools: [tool({ ...send, needsApproval: false })],
    });
    await run(twice, "Send it", { logger });
    expect(warned).toEqual([warning, warning, warning]);
    for (const budget of [null, { usd: null }]) await run(twice, "Send it", { logger, budget });
    await run(twice, "Send it", { logger, prices });
    expect(warned).toHaveLength(3);
  });
});

test("the names that limits have in the small packages are refused with the names that they have here", async () => {
  const writer = agent({ name: "writer", model: scriptedModel([]) });
  const names = { maxCostUsd: "usd", maxTokens: "tokens", maxTurns: "turns", deadlineS: "seconds" };
  for (const [name, here] of Object.entries(names)) {
    await expect(run(writer, "x", { budget: { [name]: 1 } })).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: `budget.${name}`,
      expected: `no field of that name; here it is ${here}`,
    });
  }
  for (const [name, here] of Object.entries({ maxAgents: "agents", maxDepth: "depth" })) {
    await expect(run(writer, "x", { tree: { [name]: 1 } })).rejects.toMatchObject({
      field: `tree.${name}`,
      expected: `no field of that name; here it is ${here}`,
    });
  }
});

test("a ledger in place of limits is refused with where it belongs", async () => {
  const tenant = new ExecutionTracker({ maxCostUsd: 1 });
  const writer = agent({ name: "writer", model: scriptedModel([]) });
  const expected = "limits such as { usd: 2 }; a ledger is given to an agent: agent({ …, budget: ledger })";
  // @ts-expect-error -- a ledger is no limit
  await expect(run(writer, "x", { budget: tenant })).rejects.toMatchObject({ field: "budget", expected });
  // @ts-expect-error -- nor is it one of a member
  const member: Member = { agent: writer, budget: tenant };
  const hire = () => team({ name: "lead", model: scriptedModel([]), members: [member] });
  expect(hire).toThrow(expect.objectContaining({ field: "team.members[0].budget", expected }));
});

test("a limit of the tree in a budget, and the reverse, is refused with where it belongs", async () => {
  const writer = agent({ name: "writer", model: scriptedModel([]) });
  const names = { maxAgents: "agents", agents: "agents", maxDepth: "depth", preempt: "preempt" };
  for (const [name, here] of Object.entries(names)) {
    await expect(run(writer, "x", { budget: { [name]: 1 } })).rejects.toMatchObject({
      field: `budget.${name}`,
      expected: `no field of that name; ${here} is a limit of the tree: tree: { ${here} }`,
    });
  }
  for (const [name, here] of Object.entries({ maxTurns: "turns", usd: "usd" })) {
    await expect(run(writer, "x", { tree: { [name]: 1 } })).rejects.toMatchObject({
      field: `tree.${name}`,
      expected: `no field of that name; ${here} is a limit of the budget: budget: { ${here} }`,
    });
  }
});

test("runs with the same prices share a meter, also if each run writes its prices anew", () => {
  const inline = (input: number) => meteringFor({ scripted: { input, output: 1 } }).meter;
  expect(inline(1)).toBe(inline(1));
  expect(inline(2)).not.toBe(inline(1));
  expect(meteringFor(undefined).meter).toBe(meteringFor({}).meter);
  const book = new PriceBook();
  expect(meteringFor(book).meter).toBe(meteringFor(book).meter);
  expect(meteringFor(new PriceBook()).meter).not.toBe(meteringFor(book).meter);
  // Of any number of prices only so many are remembered.
  const first = inline(1);
  for (let input = 1_000; input < 1_100; input++) inline(input);
  expect(inline(1)).not.toBe(first);
});

test("what is no price is refused, also if it has the same text as one", async () => {
  meteringFor({});
  const prices = new Map([["scripted", { input: 1, output: 1 }]]);
  expect(JSON.stringify(prices)).toBe("{}");
  await expect(run(greeter(), "x", { prices: prices as never })).rejects.toMatchObject({ field: "prices" });
  await expect(run(greeter(), "x", { prices: { scripted: 1n } as never })).rejects.toMatchObject({
    field: 'prices["scripted"]',
  });
});

test("prices that were changed count from the next run on", async () => {
  const prices = { scripted: { input: 1, output: 1 } };
  const cost = async () =>
    (await run(agent({ name: "a", model: scriptedModel(["Hello."]) }), "Hi", { prices })).cost;
  const before = await cost();
  prices.scripted = { input: 10, output: 10 };
  expect(await cost()).toBeCloseTo(10 * (before ?? 0), 9);
});

test("R18: what a helper spent before a resume does not count as the size of the lead's own calls", () => {
  const root = Supervision.root(AgentId("lead"), { executionBudget: { maxTokens: 1000 } });
  const ledger = ledgerFor(root, { facts: undefined, clock: undefined });
  void ledger.charge({ tokens: 400, turns: 1 }, { largest: null });
  expect(() => ledger.reserve({ tokens: 500, turns: 1 })).not.toThrow();
});

test("R18: the 21st call of 20 turns is refused before it is paid, and the 20th wraps up", async () => {
  const again = tool({
    name: "again",
    description: "Counts.",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => n,
  });
  const model = scriptedModel(({ tools }, call) =>
    tools === undefined ? "That is all." : { toolCalls: [{ name: "again", arguments: { n: call } }] },
  );
  const counter = agent({ name: "counter", model, tools: [again] });
  const result = await run(counter, "Count", { budget: { turns: 20 } });
  expect(result).toMatchObject({ status: "partial", stopReason: "budget", output: "That is all." });
  expect(result.stoppedBy).toMatchObject({ dimension: "turns", limit: 20, scope: "counter" });
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({ stoppedBy: result.stoppedBy });
  expect(() => result.unwrap()).toThrow(/\(stopReason budget: turns of counter\)/);
  expect(model.calls).toHaveLength(20);
});

test("R18: a limit with no room for the first call says what that call may take, and what to do", async () => {
  const prices = { scripted: { input: 0.25, output: 2 } };
  const journal = new MemoryJournal();
  const result = await run(greeter(), "Hi", { budget: { usd: 0.01 }, prices, journal, runId: "r" });
  expect(result).toMatchObject({
    status: "partial",
    output: "",
    cost: 0,
    stoppedBy: { used: 0, limit: 0.01 },
  });
  const hint =
    /^the next call may cost up to \$0\.016\d+ and \$0\.01 is left; raise budget\.usd or lower settings\.maxOutputTokens$/;
  expect(result.stoppedBy?.hint).toMatch(hint);
  expect(() => result.unwrap()).toThrow(result.stoppedBy?.hint);
  const again = await resume("r", { agents: greeter(), journal });
  expect(again.stoppedBy).toEqual(result.stoppedBy);
});

test("R18: the hint of a ledger that the user made names its own limits: more for the run would not help", async () => {
  const prices = { scripted: { input: 0.25, output: 2 } };
  const budget = new ExecutionTracker({ maxCostUsd: 0.01 }, { scope: "tenant acme" });
  const { stoppedBy } = await run(greeter({ budget }), "Hi", { prices });
  expect(stoppedBy?.scope).toBe("tenant acme");
  expect(stoppedBy?.hint).toMatch(/; raise maxCostUsd or lower settings\.maxOutputTokens$/);
});

test("R18: whatever the cap, an agent that has used it up gets its last turn, and stays below it", async () => {
  const read = tool({
    name: "read",
    description: "Reads a page.",
    input: z.object({}),
    execute: () => "lorem ipsum ".repeat(333),
  });
  const say = ({ tools }: { tools?: unknown }) =>
    tools === undefined ? "What I have." : { toolCalls: [{ name: "read" }] };
  for (let cap = 6_000; cap < 40_000; cap += 1_000) {
    for (const budget of [
      { tokens: cap, usd: null },
      { tokens: null, usd: cap / 1e6 },
    ]) {
      const model = scriptedModel(say);
      const settings = { maxOutputTokens: 1_000 };
      const reader = agent({ name: "reader", model, tools: [read], settings, loopDetection: false });
      const prices = { scripted: { input: 1, output: 1 } };
      const result = await run(reader, "Read", { budget: { ...budget, turns: null }, prices });
      expect(result).toMatchObject({ status: "partial", stopReason: "budget", output: "What I have." });
      expect(result.usage.inputTokens + result.usage.outputTokens).toBeLessThanOrEqual(cap);
      expect(result.exceeded).toBeUndefined();
    }
  }
});

test("R18: a paid answer that crosses the cap is delivered and flagged", async () => {
  const model = scriptedModel([{ text: "final", usage: { inputTokens: 5_000, outputTokens: 300 } }]);
  const settings = { maxOutputTokens: 50 };
  const result = await run(agent({ name: "a", model, settings }), "Hi", {
    budget: { tokens: 1_000, usd: null },
  });
  const exceeded = [{ dimension: "tokens", used: 5_300, limit: 1_000, scope: "a" }];
  expect(result).toMatchObject({ status: "completed", output: "final", exceeded });
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({ exceeded });
});

test("T6: an agent that has crossed the cap is told by a resumed run what was left before, as it was told then", async () => {
  const journal = new MemoryJournal();
  const model = scriptedModel([{ text: "", usage: { inputTokens: 5_000, outputTokens: 300 } }]);
  const told: unknown[] = [];
  const watchful: Agent = {
    id: AgentId("watchful"),
    async run(ctx) {
      told.push(ctx.budget.tokens);
      await ctx.llm(model, { messages: [{ role: "user", content: "Hi" }], maxOutputTokens: 50 });
      return { status: "completed", output: String(await ctx.waitFor("word")), stopReason: "done" };
    },
  };
  const first = start(watchful, "go", { journal, runId: "r", budget: { tokens: 1_000, usd: null } });
  await expect.poll(() => journal.list()).toMatchObject([{ waitingFor: [{ name: "word" }] }]);
  await first.suspend();
  await deliver("r", "word", "so", { journal });
  expect(await resume("r", { agents: watchful, journal })).toMatchObject({ status: "completed" });
  expect(told).toEqual([1_000, 1_000]);
});

test("an agent that may ask for more gets it through the handle, under the default limits too", async () => {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? "Done."
      : { toolCalls: [{ name: "again", arguments: { n: 1 } }] },
  );
  const again = tool({
    name: "again",
    description: "",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => n,
  });
  const asker = agent({ name: "asker", model, tools: [again], onBudget: "ask" });
  const handle = start(asker, "Go", { budget: { turns: 1 } });
  for await (const { event } of handle.events()) {
    if (event.type !== "progress" || event.name !== "approvalRequested") continue;
    await handle.deliver((event.data as { name: string }).name, { turns: 3 });
  }
  expect(await handle.result).toMatchObject({ status: "completed", output: "Done." });
});

test.each(["ledger", "meter"])(
  "R18: where the %s fails, an answer that was paid for is not asked for again",
  async (whose) => {
    const down = async (): Promise<never> => {
      throw new Error("the database is down");
    };
    const unlimited = new ExecutionTracker({});
    const broken: Ledger = {
      reserve: () => ({ settle: down, cancel() {} }),
      charge: (spent) => unlimited.charge(spent),
      child: () => broken,
      remaining: () => unlimited.remaining(),
      used: unlimited.used,
      snapshot: () => ({}),
    };
    if (whose === "meter") vi.spyOn(ModelMeter.prototype, "price").mockImplementation(down);
    const model = scriptedModel(() => "Hello.");
    const options = { model, budget: whose === "ledger" ? broken : undefined };
    const result = await run(greeter(options), "Hi", { retry: { baseMs: 1 } });
    vi.restoreAllMocks();
    expect(model.calls).toHaveLength(1);
    expect(result.error?.message).toMatch(
      new RegExp(`^the ${whose} failed after a call of scripted:scripted was sent: the database is down; `),
    );
  },
);

describe("R18: the name of a price that is nearly that of a model", () => {
  const model = { ...scriptedModel(() => "Hi."), info: { provider: "openai", model: "gpt-5-mini" } };
  const price = { input: 1, output: 1 };
  const warnings = async (...names: string[]): Promise<string[]> => {
    const warned: string[] = [];
    const none = (): void => {};
    const warn = (message: string): void => void warned.push(message);
    const logger = { debug: none, info: none, warn, error: none };
    const prices = Object.fromEntries(names.map((name) => [name, price]));
    await run(agent({ name: "a", model }), "Hi", { prices, logger });
    return warned;
  };

  test.each(["openai:gpt-5-mni", "gpt-5-mnii", "opnai:gpt-5-mini", "openai/gtp-5-mini"])(
    "is told of, once, since that model costs what the catalogue says: %s",
    async (name) => {
      expect(await warnings(name)).toEqual([
        `the price of "${name}" is used by no agent of this run; did you mean "openai:gpt-5-mini", which has no price of its own in the option prices?`,
      ]);
      expect(await warnings(name)).toEqual([]);
    },
  );

  test.each([
    ["another model", ["openai:gpt-5-nano", "azure:gpt-5-mini", "gpt-5.1-mini", "claude"]],
    ["a model that has a price", ["gpt-5-mini", "gpt-5-mnii"]],
  ])("is not told of if it is that of %s", async (_, names) => {
    expect(await warnings(...names)).toEqual([]);
  });
});

describe("R27: a guard of a tool that no agent has", () => {
  const named = (name: string) =>
    tool({ name, description: "d", input: z.object({}), execute: () => "done" });
  const none = (): void => {};
  const warnings = async (listed: string, tools: readonly string[], shared: boolean): Promise<string[]> => {
    const warned: string[] = [];
    const logger = { debug: none, info: none, warn: (text: string) => void warned.push(text), error: none };
    const middleware = { function: [approval({ tools: [listed] })] };
    const worker = agent({
      name: "worker",
      model: scriptedModel(() => "Hi."),
      tools: tools.map(named),
      ...(!shared && { middleware }),
    });
    const lead = team({ name: "lead", model: scriptedModel(() => "Hi."), members: [worker] });
    await run(lead, "Hi", { logger, budget: { usd: null }, ...(shared && { middleware }) });
    return warned;
  };

  test.each([
    ["sendmail", true],
    ["send_mial", false],
  ])("is told of, once, if a tool of nearly that name is not guarded: %s", async (listed, shared) => {
    expect(await warnings(listed, ["send_mail", "look"], shared)).toEqual([
      `a layer guards the tool "${listed}", which no agent of this run has; did you mean "send_mail", which no layer guards by its name?`,
    ]);
    expect(await warnings(listed, ["send_mail", "look"], shared)).toEqual([]);
  });

  test("is not told of if the tool is there, or none of nearly that name", async () => {
    expect(await warnings("set_user", ["set_user", "get_user"], true)).toEqual([]);
    expect(await warnings("set_user", ["look"], true)).toEqual([]);
  });
});
