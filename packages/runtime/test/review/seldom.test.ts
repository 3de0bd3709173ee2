import { expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  type AgentId,
  type ChatContext,
  defineTool,
  type Estimate,
  type Headcount,
  InvalidValueError,
  type Journal,
  type LLMClient,
  type Meter,
  type Pipeline,
  type RunHandle,
  RunId,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { RUN_START } from "../../src/journal/run-facts.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, until } from "./helpers.ts";

const model = scriptedModel(() => "ok", { record: false });

test("R24: a run that is stopped while the price of a call is looked up has not begun that call", async () => {
  const journal = new MemoryJournal();
  const { promise: looked, resolve: look } = Promise.withResolvers<Estimate>();
  let asked = 0;
  const meter: Meter = {
    estimate: () => (asked++ === 0 ? looked : { inputTokens: 1, maxOutputTokens: 1, price: { usd: 0 } }),
    price: () => ({ usd: 0 }),
  };
  const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
  const ports = { journal, meter, ledger: () => new FakeLedger() };
  const first = new Runtime(ports);
  const run = first.run(lead, "", { runId: "r" });
  await until(() => asked === 1);
  const closing = first.close();
  look({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0 } });
  await closing;
  expect(await run.result).toMatchObject({ status: "suspended", inDoubt: [] });
  expect(journal.load(RunId("r")).filter(({ key }) => key.startsWith("llm:"))).toEqual([]);
  const again = await new Runtime({ ...ports, agents: [lead] }).resume("r").result;
  expect(again).toMatchObject({ status: "completed", output: "ok", inDoubt: [] });
});

test("R18: a request that a layer sends to another model is set aside at that model's price", async () => {
  const reserved: unknown[] = [];
  const ledger = new FakeLedger();
  const watched = Object.assign(Object.create(ledger) as FakeLedger, {
    reserve: (...given: Parameters<FakeLedger["reserve"]>) => {
      reserved.push(given[0].cost);
      return ledger.reserve(...given);
    },
  });
  const named = (name: string): LLMClient => ({ ...model, id: name, info: { provider: "x", model: name } });
  const meter: Meter = {
    estimate: ({ model: name }) => ({
      inputTokens: 1,
      maxOutputTokens: 1,
      price: { usd: name === "dear" ? 9 : 1 },
    }),
    price: () => ({ usd: 1 }),
  };
  const chat: Pipeline<ChatContext> = {
    isNoop: false,
    admit() {},
    run: async (context, core) => {
      context.model = named("dear");
      await core();
    },
  };
  const lead: Agent = {
    ...agent("lead", async (ctx) => done(String((await ctx.llm(named("cheap"), ask("x"))).message.content))),
    pipelines: { chat },
  };
  await new Runtime({ meter, ledger: () => watched, journal: new MemoryJournal() }).run(lead, "").result;
  expect(reserved).toEqual([9]);
});

test("R17: a run in which somebody else than the root crashes goes on, also if the runtime restarts crashed roots", async () => {
  const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const broken = agent("broken", async (ctx) => {
    await ctx.spawn(waiting, { input: "" });
    throw new RangeError("no");
  });
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: broken, input: "" })).status));
  const runtime = new Runtime({ journal: new MemoryJournal(), restart });
  const result = await runtime.run(lead, "").result;
  expect(result).toMatchObject({ status: "completed", output: "failed" });
  expect(result.agents?.map(({ status }) => status)).toEqual(["completed", "failed", "cancelled"]);
});

test("R24: the handle of a child says that it is suspended with its run", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const handles: RunHandle[] = [];
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(waiting, { input: "" });
    handles.push(handle);
    await ctx.join(handle);
    return done("");
  });
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const { result } = runtime.run(lead, "");
  await until(() => handles.length === 1);
  expect(handles[0]?.status).toBe("running");
  await runtime.close();
  expect(await result).toMatchObject({ status: "suspended" });
  expect(handles[0]?.status).toBe("suspended");
});

test("T5: nothing of a batch is made before all of it is decided on, also if a tool may no longer be repeated", async () => {
  const made: string[] = [];
  const tool = (name: string, idempotent: boolean) =>
    defineTool({
      name,
      description: "",
      input: z.object({}),
      idempotent,
      execute: () => {
        made.push(name);
        return name;
      },
    });
  const lead = (isRepeatable: boolean): Agent =>
    agent("lead", async (ctx) => {
      const leaves = [tool("look", true), tool("pay", isRepeatable)].map(
        (each) =>
          ({ kind: "tool", tool: each, call: { id: each.name, name: each.name, arguments: "{}" } }) as const,
      );
      await ctx.batch(leaves);
      return done("");
    });
  const journal = new MemoryJournal();
  await new Runtime({ journal }).run(lead(true), "", { runId: "r" }).result;
  const isKept = (key: string, phase: string): boolean =>
    key === RUN_START || (key === "tool:0:1" && phase === "begin");
  const records = journal.load(RunId("r")).filter(({ key, phase }) => isKept(key, phase));
  const crashed = cut("r", records);
  made.length = 0;
  const result = await new Runtime({ journal: crashed, agents: [lead(false)] }).resume("r").result;
  expect(result).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
  expect(made).toEqual([]);
});

test("R23: a hire with a time limit fails on a clock without timers, and says what is missing", async () => {
  const idle = agent("idle", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    const error = await ctx.hire({ agent: idle, input: "", timeoutS: 1 }).catch((reason: unknown) => reason);
    return done(String(error));
  });
  const { output } = await new Runtime({ clock: { now: () => 0 } }).run(lead, "").result;
  expect(output).toMatch(/clock\.setTimer is undefined; expected a function/);
});

test("R24: a journal that throws something else than an error has failed for good", async () => {
  const memory = new MemoryJournal();
  const journal: Journal = Object.assign(Object.create(memory) as Journal, {
    append: (...given: Parameters<Journal["append"]>) => {
      if (given[2].every(({ key }) => !key.startsWith("llm:"))) return memory.append(...given);
      const { promise, reject } = Promise.withResolvers<void>();
      reject("full");
      return promise;
    },
  });
  const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
  const { result } = new Runtime({ journal }).run(lead, "");
  await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: true });
});

test("R15: a hire that the headcount calls a mistake is denied, also if the process crashed before that was on record", async () => {
  const seats = new FakeHeadcount();
  const picky: Headcount = Object.assign(Object.create(seats) as FakeHeadcount, {
    acquire: (id: AgentId) => {
      if (!id.startsWith("odd")) return seats.acquire(id);
      throw new InvalidValueError({ field: "agentId", value: id, expected: "somebody else" });
    },
  });
  const odd = agent("odd", async () => done(""));
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: odd, input: "" })).status));
  const journal = new MemoryJournal();
  const ports = { headcount: () => picky, agents: [lead] };
  const first = await new Runtime({ ...ports, journal }).run(lead, "", { runId: "r" }).result;
  expect(first).toMatchObject({ status: "completed", output: "denied" });
  const records = journal.load(RunId("r"));
  const begun = records.findIndex(({ key, phase }) => key.startsWith("hire:odd") && phase === "begin");
  const resumed = new Runtime({ ...ports, journal: cut("r", records.slice(0, begun + 1)) });
  expect(await resumed.resume("r").result).toMatchObject({ status: "completed", output: "denied" });
});

test("R18: a result names the limits that were kept, and no others", async () => {
  const lead = agent("lead", async () => done(""));
  const runtime = new Runtime({ headcount: () => new FakeHeadcount() });
  const { limits } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 3 } }).result;
  expect(limits).toMatchObject({ spawnBudget: { maxAgents: 3 }, executionBudget: null });
});
