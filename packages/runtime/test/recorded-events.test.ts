import {
  addUsage,
  type Agent,
  type AgentEvent,
  defineTool,
  isRaviError,
  type Journal,
  type JournalEntry,
  type LLMClient,
  type Meter,
  ProviderError,
  type RunEvent,
  RunId,
} from "@ravi/kernel";
import { delegateTo, type LoopOptions, planLoop, toolLoop } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, until } from "./support/helpers.ts";
import { team } from "./team.ts";

const recorded = (journal: Journal, runId = "r"): Promise<readonly RunEvent[]> =>
  new Runtime({ journal }).recordedEvents(runId);

/** An agent as users write it, on the loop of the kernel. */
function looping(options: LoopOptions): Agent {
  const plan = planLoop("Test", options);
  return { id: plan.id, run: (ctx, inbox) => toolLoop(plan, ctx, inbox) };
}

const price = defineTool({
  name: "price",
  description: "",
  input: z.object({ vendor: z.string() }),
  execute: ({ vendor }) => {
    if (vendor === "Nobody") throw new Error("no such vendor");
    return `$${vendor.length}`;
  },
});

const calls = (...vendors: string[]) => ({
  toolCalls: vendors.map((vendor) => ({ name: "price", arguments: { vendor } })),
});

function buyers(): Agent {
  const researcher = looping({
    name: "researcher",
    model: scriptedModel([{ text: "Let me look.", ...calls("Acme", "Nobody") }, "Acme asks $4."]),
    tools: [price],
  });
  return looping({
    name: "lead",
    model: scriptedModel([
      { toolCalls: [{ name: "researcher", arguments: { task: "What does Acme ask?" } }] },
      "It is $4.",
    ]),
    tools: [delegateTo(researcher)],
  });
}

/** What observers are told, as far as it is on record: whole texts, and nothing of steps or of what tools are about to be called with. */
function onRecord(events: readonly RunEvent[]): unknown[] {
  const kept: { agentId: string; execId: string; event: AgentEvent }[] = [];
  for (const { agentId, execId, event } of events) {
    const last = kept.at(-1);
    if (event.type === "step" || event.type === "toolArguments") continue;
    const isMore = event.type === "text" && last?.event.type === "text" && last.execId === execId;
    if (isMore && last?.event.type === "text")
      last.event = { type: "text", delta: last.event.delta + event.delta };
    else kept.push({ agentId, execId, event });
  }
  return kept;
}

describe.each<[string, () => Journal]>([
  ["in memory", () => new MemoryJournal()],
  [
    "in SQLite",
    () => {
      const journal = SqliteJournal.open(temporaryDirectory());
      onTestFinished(() => journal.close());
      return journal;
    },
  ],
])("recordedEvents, with a journal %s,", (_, open) => {
  test("gives what the observers of a run were told, without its agents", async () => {
    const journal = open();
    const told: RunEvent[] = [];
    const runtime = new Runtime({ journal, ledger: () => new FakeLedger() });
    await runtime.run(buyers(), "Buy it", { runId: "r", onEvent: (event) => told.push(event) }).result;

    const events = await recorded(journal);
    // A hire's result is told by the parent's loop, and is on record as the end of the child.
    const isHire = ({ event }: { event: AgentEvent }): boolean =>
      event.type === "toolResult" && event.name === "researcher";
    const expected = onRecord(told.filter((each) => !isHire(each)));
    expect(events.map(({ agentId, execId, event }) => ({ agentId, execId, event }))).toEqual(expected);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((__, at) => at + 1));
    const times = events.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });
});

test("recordedEvents of a longer record begin with those of a shorter one", async () => {
  const journal = new MemoryJournal();
  await new Runtime({ journal }).run(buyers(), "Buy it", { runId: "r" }).result;
  const records = journal.load(RunId("r"));
  const all = await recorded(journal);
  for (let entries = 1; entries <= records.length; entries++) {
    const known = await recorded(cut("r", records.slice(0, entries)));
    expect(known).toEqual(all.slice(0, known.length));
  }
  expect(records.length).toBeGreaterThan(10);
});

test("recordedEvents of a run that was killed anywhere and resumed are those of one that was not", async () => {
  const journal = new MemoryJournal();
  const agents = [team().worker, team().lead];
  const options = { ledger: () => new FakeLedger(), agents, clock: virtualClock() };
  await new Runtime({ journal, ...options }).run(team().lead, "2 3", { runId: "r" }).result;
  const records = journal.load(RunId("r"));
  const told = (events: readonly RunEvent[]): string[] =>
    events.map(({ execId, event }) => `${execId} ${JSON.stringify(event)}`).toSorted();
  const all = told(await recorded(journal));
  for (let entries = 1; entries < records.length; entries++) {
    const killed = cut("r", records.slice(0, entries));
    await new Runtime({ journal: killed, ...options }).resume("r").result;
    expect(told(await recorded(killed))).toEqual(all);
  }
});

test("recordedEvents tells quiet answers as progress", async () => {
  const journal = new MemoryJournal();
  const thinker = agent("thinker", async (ctx) => {
    await ctx.llm(scriptedModel(["a plan"]), ask("plan"), { quiet: true });
    const { message } = await ctx.llm(scriptedModel(["an answer"]), ask("answer"));
    return done(String(message.content));
  });
  await new Runtime({ journal }).run(thinker, "go", { runId: "r" }).result;
  const events = (await recorded(journal)).map(({ event }) => event);
  expect(events.filter(({ type }) => type !== "usage")).toEqual([
    { type: "started", input: "go" },
    { type: "progress", name: "quietAnswer", data: { text: "a plan" } },
    { type: "text", delta: "an answer" },
    { type: "completed", result: done("an answer") },
  ]);
});

test("recordedEvents does not tell an answer that is none, but what it has cost", async () => {
  const journal = new MemoryJournal();
  const options = { journal, ledger: () => new FakeLedger() };
  await new Runtime(options).run(buyers(), "Buy it", { runId: "r" }).result;
  const records = journal.load(RunId("r"));
  const garbled = records.map((record) =>
    "response" in record.body
      ? { ...record, body: { ...record.body, response: { message: { role: "assistant" } } } }
      : record,
  );
  const types = (await recorded(cut("r", garbled))).map(({ event }) => event.type);
  const { usage = 0, text = 0 } = Object.fromEntries(
    Array.from(
      Map.groupBy(types, (type) => type),
      ([type, all]) => [type, all.length],
    ),
  );
  expect({ usage, text }).toEqual({ usage: 4, text: 0 });
});

test.each([false, true])(
  "recordedEvents tells what the models of a tool have cost (it fails: %s)",
  async (fails) => {
    const journal = new MemoryJournal();
    const guess = defineTool({
      name: "guess",
      description: "",
      input: z.object({}),
      execute: async (_, { llm }) => {
        await llm(scriptedModel(["one"]), ask("a number"));
        await llm(scriptedModel(["two"]), ask("another number"));
        if (fails) throw new Error("no idea");
        return "three";
      },
    });
    const guesser = looping({
      name: "guesser",
      model: scriptedModel([{ toolCalls: [{ name: "guess", arguments: {} }] }, "It is three."]),
      tools: [guess],
    });
    const runtime = new Runtime({ journal, ledger: () => new FakeLedger() });
    const { usage } = await runtime.run(guesser, "go", { runId: "r" }).result;
    const events = await recorded(journal);
    const used = events.flatMap(({ event }) => (event.type === "usage" ? [event.usage] : []));
    expect(used.reduce(addUsage)).toEqual(usage);
    const types = events.map(({ event }) => event.type);
    expect(types.slice(0, 5)).toEqual(["started", "usage", "toolCall", "usage", "toolResult"]);
  },
);

test.each([
  ["the answer in its shape", { status: "completed", stopReason: "done", structured: { n: 1 } }],
  ["what was wrong with it", { status: "partial", stopReason: "invalid", problem: "n is missing" }],
] as const)("recordedEvents tells %s", async (_, more) => {
  const journal = new MemoryJournal();
  const shaped = agent("shaped", async () => ({ output: "", ...more }));
  await new Runtime({ journal }).run(shaped, "go", { runId: "r" }).result;
  expect((await recorded(journal)).at(-1)?.event).toMatchObject({ type: "completed", result: more });
});

test("recordedEvents tells failures: of a model, of a hire that was denied, of the run", async () => {
  const journal = new MemoryJournal();
  const broken = scriptedModel([new ProviderError({ kind: "AUTH", message: "wrong key", status: 401 })]);
  const helper = agent("helper", async () => done(""));
  const boss = agent("boss", async (ctx) => {
    const { status } = await ctx.hire({ agent: helper, input: "help" });
    expect(status).toBe("denied");
    await ctx.llm(broken, ask("?"));
    return done("");
  });
  const headcount = () => new FakeHeadcount(0);
  const { result } = new Runtime({ journal, headcount }).run(boss, "go", { runId: "r" });
  expect((await result).status).toBe("failed");
  const events = await recorded(journal);
  const errors = events.flatMap(({ agentId, event }) =>
    event.type === "error" ? [`${agentId} ${event.error.code}`] : [],
  );
  expect(errors).toEqual(["helper/1 BUDGET_EXHAUSTED", "boss PROVIDER_ERROR", "boss PROVIDER_ERROR"]);
});

test("recordedEvents tells what a run asks for once, also if it was suspended and asks again", async () => {
  const journal = new MemoryJournal();
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    needsApproval: true,
    execute: () => "paid",
  });
  const payer = looping({
    name: "payer",
    model: scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? "done"
        : { toolCalls: [{ id: "c1", name: "pay", arguments: {} }] },
    ),
    tools: [pay],
  });
  for (const again of [false, true]) {
    const runtime = new Runtime({ journal, agents: [payer] });
    const handle = again ? runtime.resume("r") : runtime.run(payer, "go", { runId: "r" });
    await until(() => handle.status === "suspended");
    await runtime.close();
    await handle.result;
  }
  const requests = (events: readonly RunEvent[]) =>
    events.filter(({ event }) => event.type === "progress").map(({ event }) => event);
  const waiting = await recorded(journal);
  expect(requests(waiting)).toMatchObject([
    { name: "approvalRequested", callId: "c1", data: { question: { tool: "pay" } } },
  ]);
  expect(waiting.at(-1)?.event).toMatchObject({ type: "error", error: { code: "SUSPENDED" } });

  const runtime = new Runtime({ journal, agents: [payer] });
  const name = (await runtime.list())[0]?.waitingFor?.[0]?.name ?? "";
  await runtime.deliver("r", name, true, { mustWait: true });
  await runtime.resume("r").result;
  const over = await recorded(journal);
  expect(requests(over)).toHaveLength(1);
  expect(over.slice(-4).map(({ event }) => event.type)).toEqual(["toolResult", "text", "usage", "completed"]);
});

test("recordedEvents tells the end of every agent of a run that was cancelled while nobody had it", async () => {
  const journal = new MemoryJournal();
  const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("ever"))));
  const boss = agent("boss", async (ctx) => {
    await ctx.batch([
      { kind: "hire", agent: agent("quick", async () => done("")), input: "" },
      { kind: "hire", agent: waiter, input: "" },
    ]);
    return done("");
  });
  const first = new Runtime({ journal });
  const handle = first.run(boss, "go", { runId: "r" });
  await until(() => handle.status === "suspended");
  await first.close();
  await handle.result;

  const second = new Runtime({ journal, agents: [boss] });
  await second.cancel("r", "no longer needed");
  expect((await second.resume("r").result).status).toBe("cancelled");
  const ends = (await recorded(journal)).flatMap(({ agentId, event }) => {
    if (event.type === "error") return [`${agentId} ${event.error.code}`];
    return event.type === "completed" ? [`${agentId} completed`] : [];
  });
  expect(ends).toEqual(["quick/1 completed", "boss SUSPENDED", "waiter/2 CANCELLED", "boss CANCELLED"]);
});

test("recordedEvents tells nothing of an agent after its end, such as a tool that was recorded late", async () => {
  const [journal, slow] = [new MemoryJournal(), new MemoryJournal()];
  const helper = looping({ name: "helper", model: scriptedModel([calls("Acme"), "$4"]), tools: [price] });
  const boss = agent("boss", async (ctx) => {
    await ctx.hire({ agent: helper, input: "" });
    return done("");
  });
  await new Runtime({ journal }).run(boss, "go", { runId: "r" }).result;
  // As if the helper had run out of time while its tool was being recorded.
  const [records, id] = [journal.load(RunId("r")), RunId("r")];
  const isTool = ({ key, phase }: JournalEntry) => key === "tool:1:0" && phase === "end";
  const claim = slow.claim(id, "me", 1_000);
  const before = records.filter((record) => !isTool(record) && !record.key.startsWith("run:status"));
  slow.append(id, claim?.epoch ?? 0, [...before, ...records.filter(isTool)]);

  const types = (events: readonly RunEvent[]) =>
    events.filter(({ agentId }) => agentId !== "boss").map(({ event }) => event.type);
  const all = ["started", "usage", "toolCall", "toolResult", "text", "usage", "completed"];
  expect(types(await recorded(journal))).toEqual(all);
  expect(types(await recorded(slow))).toEqual(all.filter((type) => type !== "toolResult"));
});

test("recordedEvents names the run that is not there", async () => {
  const wrong = await recorded(new MemoryJournal(), "nothing").catch((error: unknown) => error);
  expect(isRaviError(wrong, "INVALID_VALUE") && wrong.message).toContain('runId is "nothing"');
  await expect(new Runtime().recordedEvents("r")).rejects.toThrow("journal");
});

test.each([
  ["set aside for a call without an end", "cancelled"],
  ["charged after the tool that has made the call had ended", "completed"],
])("what is %s is in what `inspect` tells, and in no event", async (_, end) => {
  const journal = new MemoryJournal();
  const asked = Promise.withResolvers<void>();
  const deaf: LLMClient = {
    id: "deaf",
    info: { provider: "x", model: "deaf" },
    generate: () => (asked.resolve(), new Promise<never>(() => {})),
  };
  const meter: Meter = {
    estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
    price: () => ({ usd: 0.15 }),
  };
  const think = defineTool({
    name: "think",
    description: "",
    input: z.object({}),
    execute: (__, { llm }) => {
      void llm(deaf, ask("x"));
      return "thought";
    },
  });
  const lead = agent("lead", async (ctx) => {
    if (end === "cancelled") await ctx.llm(deaf, ask("x"));
    else await ctx.tool({ id: "c", name: "think", arguments: "{}" }, think);
    return done("");
  });
  const clock = virtualClock();
  const runtime = new Runtime({ journal, meter, clock, ledger: () => new FakeLedger() });
  const run = runtime.run(lead, "", { runId: "r" });
  const used = async (): Promise<(number | null)[]> =>
    (await recorded(journal)).flatMap(({ event }) => (event.type === "usage" ? [event.costUsd] : []));
  await asked.promise;
  expect([await used(), (await runtime.inspect("r")).cost]).toEqual([[], 0.2]);
  if (end === "cancelled") run.cancel("enough");
  await clock.advance(2_000);
  expect(await run.result).toMatchObject({ status: end, cost: 0.2 });
  expect([(await runtime.inspect("r")).cost, await used()]).toEqual([0.2, []]);
});
