import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type ChatContext,
  defineTool,
  InvalidValueError,
  type Journal,
  JournalFailedError,
  type Limiter,
  type LLMClient,
  type Meter,
  type ModelResponse,
  type Pipeline,
  Priority,
  ProviderError,
  type Reservation,
  type RunEvent,
  RunId,
  type Spend,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { roughEstimate } from "../../src/context/money/rough-estimate.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { withAgentLedger } from "../../src/tree/ledgers.ts";
import { agent, ask, closed, cut, done, FakeLedger, turns, until, within } from "../support/helpers.ts";

/** A log that keeps what it is told, with the error. */
function keptLog() {
  const said: string[] = [];
  const say = (message: string, fields?: object): void =>
    void said.push(`${message}: ${String(fields && "error" in fields && fields.error)}`);
  return { said, logger: { debug: say, info: say, warn: say, error: say } };
}

function named(name: string): Error {
  return Object.assign(new Error("the server redirects"), { name });
}

function counting(): LLMClient & { paid: number } {
  return {
    id: "m",
    info: { provider: "x", model: "m" },
    paid: 0,
    async generate() {
      this.paid++;
      return {
        message: { role: "assistant", content: "x" },
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5 },
      };
    },
  };
}

describe("money", () => {
  test.each([
    ["English", "All human beings are born free and equal in dignity and rights.", 13],
    ["Chinese", "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。", 34],
    ["Japanese", "すべての人間は、生まれながらにして自由であり、平等である。", 28],
  ])("R18: without a meter no less is set aside than %s takes in an older vocabulary", (_, text, cl100k) => {
    const messages = Array.from({ length: 10 }, () => ({ role: "user" as const, content: text }));
    const { inputTokens } = roughEstimate({ provider: "x", model: "m" }, { messages });
    expect(inputTokens).toBeGreaterThanOrEqual(10 * cl100k);
  });

  test.each([
    { status: 302 },
    // A browser hides the status. Clients wrap what their fetch throws, and providers make a copy of it.
    { cause: new Error("Connection error.", { cause: named("RedirectedRequest") }) },
  ])("R18: a server that only redirects has charged nothing: %o", async (how) => {
    const failing = scriptedModel(() => {
      throw new ProviderError({ kind: "FORMAT_ERROR", message: "the server redirects", ...how });
    });
    const asker = agent("asker", async (ctx) => {
      await ctx.llm(failing, ask("x")).catch(() => {});
      return done("");
    });
    const books = new FakeLedger();
    await new Runtime({ ledger: () => books }).run(asker, "").result;
    expect(books.used).toMatchObject({ tokens: 0, turns: 1 });
  });

  test.each([
    ["ECONNREFUSED", 0],
    ["ENOTFOUND", 0],
    ["EAI_AGAIN", 0],
    ["UND_ERR_CONNECT_TIMEOUT", 0],
    ["SELF_SIGNED_CERT_IN_CHAIN", 0],
    ["CERT_HAS_EXPIRED", 0],
    ["ERR_TLS_CERT_ALTNAME_INVALID", 0],
    ["ERR_INVALID_URL", 0],
    ["ECONNRESET", 1],
    ["ETIMEDOUT", 1],
    ["UND_ERR_SOCKET", 1],
    // The platform's fetch sends nothing there, and gives no code.
    [undefined, 0, "bad port"],
    [undefined, 0, "unknown scheme"],
    [undefined, 1, "connect"],
  ])(
    "R18: a connection that fails with %s has cost %i of what was set aside, and a turn (%s)",
    async (code, part, message = "connect") => {
      const failed = code === undefined ? new Error(message) : Object.assign(new Error(message), { code });
      const cause = new TypeError("fetch failed", { cause: failed });
      const failing = scriptedModel(() => {
        throw new ProviderError({ kind: "SERVER_ERROR", message: "Connection error.", cause });
      });
      const asker = agent("asker", async (ctx) => {
        await ctx.llm(failing, ask("x")).catch(() => {});
        return done("");
      });
      const books = new FakeLedger();
      const estimate = { inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.5 } };
      const meter: Meter = { estimate: () => estimate, price: () => ({ usd: 0.25 }) };
      const journal = new MemoryJournal();
      const { cost } = await new Runtime({ meter, journal, ledger: () => books }).run(asker, "").result;
      expect([cost, books.used]).toEqual([
        part * 0.5,
        { tokens: part * 20, cost: part * 0.5, turns: 1, toolCalls: 0 },
      ]);
    },
  );

  test("R18: a tracker that an agent brought counts for its children also after a resume", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = counting();
    const own = new FakeLedger({ maxTurns: 1 });
    const child = agent("child", async (ctx) => {
      await ctx.waitFor("go");
      await ctx.llm(model, ask("1"));
      await ctx.llm(model, ask("2"));
      return done("");
    });
    const lead: Agent = {
      id: AgentId("lead"),
      defaults: { executionBudget: own },
      async run(ctx) {
        const { status } = await ctx.hire({ agent: child, input: "" });
        return done(status);
      },
    };
    const ledger = () => new FakeLedger();
    const first = new Runtime({ journal, clock, ledger });
    const run = first.run(lead, "", { runId: "t" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, ledger, agents: [lead] });
    const resumed = second.resume("t");
    await second.deliver("t", "go", true);
    await clock.advance(1_000);
    expect((await resumed.result).output).toBe("partial");
    expect(model.paid).toBe(1);
  });

  test("R18: an agent with a tracker of its own has left what both of them have left", async () => {
    const own = new FakeLedger({ maxTurns: 2, maxTokens: 900, maxCostUsd: 3 });
    const run = new FakeLedger({ maxTurns: 9, maxTokens: 500, maxToolCalls: 4 });
    run.charge({ tokens: 40, turns: 1 });
    const payer: Agent = {
      id: AgentId("payer"),
      defaults: { executionBudget: own },
      async run({ budget }) {
        return done(JSON.stringify(budget));
      },
    };
    const { output } = await new Runtime({ ledger: () => run }).run(payer, "").result;
    expect(JSON.parse(output)).toEqual({ tokens: 460, cost: 3, turns: 2, toolCalls: 4 });
    const joint = withAgentLedger(payer, run);
    expect([joint?.used.tokens, joint?.snapshot()]).toEqual([40, {}]);
  });

  test("R18: what a charge crosses in the run's ledger and in the agent's own is told of both", async () => {
    const warned = (scope: string) => {
      const report = { dimension: "turns", used: 1, limit: 1, scope } as const;
      return Object.assign(new FakeLedger(), { charge: () => ({ warnings: [report], exceeded: [report] }) });
    };
    const payer = { ...agent("payer", async () => done("")), defaults: { executionBudget: warned("own") } };
    const settled = await withAgentLedger(payer, warned("run"))?.charge({ turns: 1 });
    const both = [{ scope: "run" }, { scope: "own" }];
    expect(settled).toMatchObject({ warnings: both, exceeded: both });
  });

  test("R18: a resumed agent sees the budget that it saw, before and after its hires have spent", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = counting();
    const helper = agent("helper", async (ctx) => {
      await ctx.llm(model, ask("1"));
      return done("");
    });
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("1"));
      await ctx.hire({ agent: helper, input: "" });
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const seen = [ctx.budget.turns];
      for (let n = 0; n < 2; n++) {
        await ctx.hire({ agent: child, input: "" });
        seen.push(ctx.budget.turns);
      }
      await ctx.llm(model, ask("1"));
      seen.push(ctx.budget.turns);
      await ctx.waitFor("go");
      return done(JSON.stringify([...seen, ctx.budget.turns]));
    });
    const ledger = () => new FakeLedger({ maxTurns: 9 });
    const first = new Runtime({ journal, clock, ledger });
    const run = first.run(lead, "", { runId: "seen" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, ledger, agents: [lead] });
    const resumed = second.resume("seen");
    await second.deliver("seen", "go", true);
    await clock.advance(1_000);
    expect(JSON.parse((await resumed.result).output)).toEqual([9, 7, 5, 4, 4]);
    expect(model.paid).toBe(5);
  });

  test("R18: a limiter is asked for all that a call may take, and told what it took", async () => {
    const asked: unknown[] = [];
    const told: unknown[] = [];
    const limiter: Limiter = {
      acquire: ({ tokens, priority }) => {
        asked.push({ tokens, priority });
        return { release: (actual) => void told.push(actual?.tokens), [Symbol.dispose]() {} };
      },
      slowDown() {},
    };
    const meter: Meter = {
      estimate: () => ({ inputTokens: 30, maxOutputTokens: 70, price: { usd: 0 } }),
      price: () => ({ usd: 0 }),
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(counting(), ask("1"));
      return done("");
    });
    await new Runtime({ limiter, meter }).run(lead, "").result;
    expect([asked, told]).toEqual([[{ tokens: 100, priority: Priority.NORMAL }], [15]]);
  });

  test("R24: in a suspended run, who has ended keeps its status, and who has not is suspended", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    const ended = agent("ended", async () => done(""));
    const waiting = agent("waiting", async (ctx) => {
      await ctx.waitFor("go");
      return done("");
    });
    const deaf = agent("deaf", () => new Promise<never>(() => undefined));
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: ended, input: "" });
      await ctx.spawn(deaf, { input: "" });
      await ctx.hire({ agent: waiting, input: "" });
      return done("");
    });
    const run = runtime.run(lead, "");
    await turns();
    const closing = runtime.close();
    await clock.advance(60_000);
    await closing;
    const { status, agents } = await run.result;
    const statuses = agents?.map((account) => `${account.agentId}: ${account.status}`);
    expect([status, statuses]).toEqual([
      "suspended",
      ["lead: suspended", "ended/1: completed", "deaf/2: suspended", "waiting/3: suspended"],
    ]);
  });

  test("R18: a run's ledger that cannot count does not keep the agent's own from counting", async () => {
    const own = new FakeLedger();
    const down = Object.assign(new FakeLedger(), { charge: () => Promise.reject(new Error("down")) });
    const payer = { ...agent("payer", async () => done("")), defaults: { executionBudget: own } };
    await expect(withAgentLedger(payer, down)?.charge({ toolCalls: 1 })).rejects.toThrow("down");
    expect(own.used.toolCalls).toBe(1);
  });

  test("R18: of two ledgers, the one that refuses is heard; that the other keeps what was set aside is logged", async () => {
    const broken = Object.assign(new FakeLedger(), {
      reserve: (): Reservation => ({
        settle: () => ({ warnings: [], exceeded: [] }),
        cancel: () => Promise.reject(new Error("not cancelled")),
      }),
    });
    const own = new FakeLedger({ maxTurns: 1 });
    const payer = { ...agent("payer", async () => done("")), defaults: { executionBudget: own } };
    const { logger, said } = keptLog();
    const joint = withAgentLedger(payer, broken, { ports: { logger }, runId: RunId("r") });
    await expect(joint?.reserve({ turns: 2 })).rejects.toMatchObject({ code: "BUDGET_EXHAUSTED" });
    expect(said).toEqual(["what was set aside for a refused call could not be given back: not cancelled"]);
  });

  test("R18: if both ledgers of a call fail, both failures are told", async () => {
    const failing = (which: string) =>
      Object.assign(new FakeLedger(), { charge: () => Promise.reject(new Error(which)) });
    const payer = {
      ...agent("payer", async () => done("")),
      defaults: { executionBudget: failing("second") },
    };
    const { logger, said } = keptLog();
    const joint = withAgentLedger(payer, failing("first"), { ports: { logger }, runId: RunId("r") });
    await expect(joint?.charge({ turns: 1 })).rejects.toThrow("second");
    expect(said).toEqual(["both ledgers of a call failed; this is what the first said: first"]);
  });

  test("R18: a tool call that was refused is not charged when the run is resumed", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "ok" });
    const child = agent("child", async (ctx) => {
      for (let n = 0; n < 4; n++)
        await ctx.tool({ id: "c", name: "t", arguments: "{}" }, tool).catch(() => undefined);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "", executionBudget: { maxToolCalls: 1 } });
      await ctx.waitFor("go");
      return done("");
    });
    let ledger = new FakeLedger();
    const first = new Runtime({ journal, clock, ledger: () => (ledger = new FakeLedger()) });
    const run = first.run(lead, "", { runId: "t" });
    await until(() => run.status === "suspended");
    expect(ledger.used.toolCalls).toBe(1);
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [lead], ledger: () => (ledger = new FakeLedger()) });
    const resumed = second.resume("t");
    await second.deliver("t", "go", true);
    await clock.advance(1_000);
    await resumed.result;
    expect(ledger.used.toolCalls).toBe(1);
  });

  test("T4: a tool that goes on after its run was cancelled pays for no further call", async () => {
    const clock = virtualClock();
    const model = counting();
    const go = Promise.withResolvers<void>();
    let executing = false;
    const stubborn = defineTool({
      name: "stubborn",
      description: "",
      input: z.object({}),
      async execute(_, { llm }) {
        executing = true;
        await go.promise;
        await llm(model, ask("once more"));
        return "";
      },
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.tool({ id: "c", name: "stubborn", arguments: "{}" }, stubborn);
      return done("");
    });
    const run = new Runtime({ clock, ledger: () => new FakeLedger() }).run(lead, "");
    await until(() => executing);
    run.cancel("enough");
    await clock.advance(1_000);
    expect((await run.result).status).toBe("cancelled");
    go.resolve();
    await turns();
    expect(model.paid).toBe(0);
  });

  test("T4: a compaction asks no model after the run was cancelled", async () => {
    const clock = virtualClock();
    const model = counting();
    const compaction = {
      async compact(messages: readonly never[], context?: { llm?: (...args: never[]) => Promise<unknown> }) {
        await context?.llm?.(...([model, ask("sum up")] as never[]));
        return messages;
      },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.waitFor("never").catch(() => undefined);
      await ctx.window();
      return done("");
    });
    const run = new Runtime({ clock, compaction: compaction }).run(lead, "");
    await until(() => run.status === "suspended");
    run.cancel("enough");
    await clock.advance(1_000);
    expect((await run.result).status).toBe("cancelled");
    expect(model.paid).toBe(0);
  });

  test("R27: the limiter is told what one attempt took, not what all of them took", async () => {
    const told: unknown[] = [];
    const limiter = {
      acquire: () => ({
        release: (actual?: { tokens?: number | undefined }) => void told.push(actual?.tokens),
        [Symbol.dispose]: () => {},
      }),
      slowDown: () => {},
    };
    const model = counting();
    const twice: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      async run(context, core) {
        await context.call(context.model, context.request);
        await core();
      },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("x"));
      return done("");
    });
    await new Runtime({ limiter, pipelines: { chat: twice } }).run(lead, "").result;
    expect(told).toEqual([15, 15]);
  });

  test("T5: a run that waits for a decision pays for nothing beside it, however often it is resumed", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let asked = 0;
    const slow: LLMClient = {
      id: "slow",
      info: { provider: "x", model: "slow" },
      generate: () => new Promise<ModelResponse>(() => void asked++),
    };
    const tool = defineTool({
      name: "once",
      description: "",
      input: z.object({}),
      execute: () => new Promise(() => {}),
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.batch([
        { kind: "tool", call: { id: "c", name: "once", arguments: "{}" }, tool },
        { kind: "llm", model: slow, request: ask("x") },
      ]);
      return done("");
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "u" });
    await until(() => asked === 1);
    await closed(first, clock);
    for (let n = 0; n < 3; n++) {
      const again = new Runtime({ journal, clock, agents: [lead] }).resume("u");
      await clock.advance(1_000);
      expect(await again.result).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
    }
    expect(asked).toBeLessThanOrEqual(2);
  });

  test("R18: what a judge was paid inside a call is charged, although the call was in flight at the crash", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const judge = counting();
    let hangs = true;
    const main: LLMClient = {
      id: "main",
      info: { provider: "x", model: "main", maxOutputTokens: 100 },
      generate: () =>
        hangs
          ? new Promise<ModelResponse>(() => {})
          : Promise.resolve({
              message: { role: "assistant", content: "x" },
              finishReason: "stop",
              usage: { inputTokens: 1, outputTokens: 1 },
            }),
    };
    const judged: Pipeline<ChatContext> = {
      isNoop: false,
      admit: async () => {},
      async run(context, core) {
        await context.call(judge, ask("is it good?"));
        await core();
      },
    };
    const lead: Agent = {
      id: AgentId("lead"),
      pipelines: { chat: judged },
      async run(ctx) {
        await ctx.llm(main, ask("x"));
        return done("");
      },
    };
    let ledger = new FakeLedger();
    const first = new Runtime({ journal, clock, ledger: () => (ledger = new FakeLedger()) });
    first.run(lead, "", { runId: "j" });
    await until(() => judge.paid === 1);
    await turns();
    expect(ledger.used.turns).toBe(2);
    await closed(first, clock);
    hangs = false;
    const second = new Runtime({ journal, clock, agents: [lead], ledger: () => (ledger = new FakeLedger()) });
    await second.resume("j").result;
    // Two of the first go, of which one is in doubt, and two of the second.
    expect(ledger.used.turns).toBe(4);
  });

  test("R18: what a tool paid a model is charged, although the tool was in flight at the crash", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = counting();
    const tool = defineTool({
      name: "asks",
      description: "",
      input: z.object({}),
      async execute(_, { llm }) {
        await llm(model, ask("x"));
        return new Promise(() => {});
      },
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.tool({ id: "c", name: "asks", arguments: "{}" }, tool);
      return done("");
    });
    let ledger = new FakeLedger();
    const first = new Runtime({ journal, clock, ledger: () => (ledger = new FakeLedger()) });
    first.run(lead, "", { runId: "j" });
    await until(() => model.paid === 1);
    await turns();
    expect(ledger.used.turns).toBe(1);
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [lead], ledger: () => (ledger = new FakeLedger()) });
    const resumed = second.resume("j", { decisions: { "j:tool:asks#1": "skip" } });
    expect((await resumed.result).status).toBe("completed");
    expect(ledger.used.turns).toBe(1);
  });

  test("T5: a journal that failed once takes nothing more, and nothing more is paid for", async () => {
    const memory = new MemoryJournal();
    let fails = false;
    const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
      append(...args: Parameters<MemoryJournal["append"]>) {
        if (fails && args[2][0]?.phase === "end") {
          fails = false;
          throw new JournalFailedError({ what: "append", final: false, cause: "no space left" });
        }
        memory.append(...args);
      },
    });
    const model = counting();
    const lead = agent("lead", async (ctx) => {
      fails = true;
      await ctx.llm(model, ask("1")).catch(() => undefined);
      await ctx.llm(model, ask("2")).catch(() => undefined);
      return done("");
    });
    await within(new Runtime({ journal }).run(lead, "").result.catch(() => undefined));
    expect(model.paid).toBe(1);
  });

  test.each([["at once", false] as const, ["later", true] as const])(
    "T5: what a tool paid is settled, also where its journal refuses %s to write it down",
    async (_, isLate) => {
      const memory = new MemoryJournal();
      const full = new JournalFailedError({ what: "append", final: false, cause: "no space left" });
      const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
        append(...args: Parameters<MemoryJournal["append"]>): Promise<void> | undefined {
          const isPaid = args[2].some(({ key, phase }) => key.startsWith("spend:") && phase === "end");
          if (isPaid && isLate) return Promise.reject(full);
          if (isPaid) throw full;
          memory.append(...args);
          return undefined;
        },
      });
      const meter: Meter = {
        estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
        price: () => ({ usd: 0.15 }),
      };
      const model = counting();
      const thinks = defineTool({
        name: "thinks",
        description: "",
        input: z.object({}),
        execute: async (__, { llm }) => String((await llm(model, ask("x"))).message.content),
      });
      const lead = agent("lead", async (ctx) => {
        const { content } = await ctx.tool({ id: "c", name: "thinks", arguments: "{}" }, thinks);
        return done(String(content));
      });
      const ledger = new FakeLedger();
      const { result } = new Runtime({ journal, meter, ledger: () => ledger }).run(lead, "");
      await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
      expect(model.paid).toBe(1);
      expect(ledger.used).toMatchObject({ cost: 0.15, tokens: 15, turns: 1 });
    },
  );

  test("R18: a tool that ran out of its time is told so, and goes on paying no longer", async () => {
    const clock = virtualClock();
    const model = scriptedModel(() => "x");
    const go = Promise.withResolvers<void>();
    let aborted = false;
    const slow = defineTool({
      name: "slow",
      description: "",
      input: z.object({}),
      timeoutS: 1,
      async execute(_, { llm, signal }) {
        await go.promise;
        aborted = signal.aborted;
        await llm(model, ask("late")).catch(() => undefined);
        return "";
      },
    });
    const lead = agent("lead", async (ctx) => {
      const { isError } = await ctx.tool({ id: "c", name: "slow", arguments: "{}" }, slow);
      go.resolve();
      await ctx.sleepUntil(10_000);
      return done(String(isError));
    });
    const run = new Runtime({ clock, ledger: () => new FakeLedger() }).run(lead, "");
    await clock.advance(20_000);
    expect((await run.result).output).toBe("true");
    expect({ aborted, calls: model.calls.length }).toEqual({ aborted: true, calls: 0 });
  });

  describe("T2: a paid call that cannot be put into the books", () => {
    const ESTIMATE = { inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.5 } };

    /** Asks twice; gives what each came to. */
    const asking = (model: LLMClient, heard: string[]): Agent =>
      agent("lead", async (ctx) => {
        for (const text of ["1", "2"]) {
          const answer = ctx.llm(model, ask(text)).then(() => "answered");
          heard.push(await answer.catch((error: unknown) => String(error)));
        }
        return done("");
      });

    test.each([Number.NaN, Infinity, -1, "0.2"])(
      "a price of %s charges what was set aside, is said, and the journal goes on",
      async (usd) => {
        const journal = new MemoryJournal();
        const ledger = new FakeLedger();
        const model = counting();
        let asked = 0;
        const meter: Meter = {
          estimate: () => ESTIMATE,
          price: () => ({ usd: asked++ === 0 ? (usd as number) : 0.25 }),
        };
        const heard: string[] = [];
        const lead = asking(model, heard);
        const runtime = new Runtime({ journal, meter, ledger: () => ledger });
        const { status, cost } = await runtime.run(lead, "", { runId: "r" }).result;
        expect(heard).toEqual([
          expect.stringMatching(/the price of x:m is .*expected the meter to return/),
          "answered",
        ]);
        expect({ status, cost }).toEqual({ status: "completed", cost: 0.75 });
        expect(ledger.used).toMatchObject({ cost: 0.75, turns: 2 });
        expect(model.paid).toBe(2);
        const again: string[] = [];
        const records = journal.load(RunId("r"));
        const before = cut("r", records.slice(0, -1));
        const second = new Runtime({
          journal: before,
          meter,
          ledger: () => new FakeLedger(),
          agents: [asking(model, again)],
        });
        expect(await second.resume("r").result).toMatchObject({ status: "completed", cost: 0.75 });
        expect(again).toEqual(heard);
        expect(model.paid, "paid once, and not asked again").toBe(2);
      },
    );

    /** Takes no settlement but of all that was set aside. */
    class Narrow extends FakeLedger {
      open = 0;

      override reserve(estimate: Partial<Spend>): Reservation {
        const held = super.reserve(estimate);
        this.open++;
        return {
          settle: (actual) => {
            if (actual.estimated !== true)
              throw new InvalidValueError({ field: "actual", value: actual, expected: "less" });
            this.open--;
            return held.settle(actual);
          },
          cancel: () => void this.open--,
        };
      }
    }

    test.each(["alone", "beside the run's own"])(
      "a ledger that refuses what it took (%s) is left with all that was set aside, and nothing open",
      async (where) => {
        const narrow = new Narrow();
        const wide = new FakeLedger();
        const heard: string[] = [];
        const lead: Agent =
          where === "alone"
            ? asking(counting(), heard)
            : { ...asking(counting(), heard), defaults: { executionBudget: narrow } };
        const meter: Meter = { estimate: () => ESTIMATE, price: () => ({ usd: 0.25 }) };
        const ledger = (): FakeLedger => (where === "alone" ? narrow : wide);
        const { status } = await new Runtime({ meter, ledger }).run(lead, "").result;
        expect(status).toBe("completed");
        expect(heard).toEqual([
          expect.stringMatching(/expected less/),
          expect.stringMatching(/expected less/),
        ]);
        expect(narrow.open).toBe(0);
        expect(narrow.used).toMatchObject({ tokens: 40, cost: 1, turns: 2 });
        if (where !== "alone") expect(wide.used).toMatchObject({ tokens: 30, cost: 0.5, turns: 2 });
      },
    );

    test("what such a ledger warns of when it has counted all that was set aside is told", async () => {
      const near = { dimension: "cost", scope: "lead", used: 0.5, limit: 0.6 } as const;
      class Warning extends Narrow {
        override reserve(estimate: Partial<Spend>): Reservation {
          const held = super.reserve(estimate);
          return {
            settle: async (actual) => ({ ...(await held.settle(actual)), warnings: [near] }),
            cancel: () => held.cancel(),
          };
        }
      }
      const meter: Meter = { estimate: () => ESTIMATE, price: () => ({ usd: 0.25 }) };
      const told: unknown[] = [];
      const onEvent = ({ event }: RunEvent): void => {
        if (event.type === "budgetWarning") told.push(event);
      };
      const runtime = new Runtime({ meter, ledger: () => new Warning() });
      await runtime.run(asking(counting(), []), "", { onEvent }).result;
      expect(told).toEqual([
        { type: "budgetWarning", ...near },
        { type: "budgetWarning", ...near },
      ]);
    });
  });
});
