import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type ChatContext,
  isCancellation,
  type Ledger,
  type LLMClient,
  type Logger,
  type Pipeline,
  type Reservation,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, closed, done, FakeLedger, turns, until } from "../support/helpers.ts";

test("R18: trackers of a grandparent and of a parent both count for a grandchild after a resume", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const model: LLMClient = {
    id: "m",
    info: { provider: "x", model: "m" },
    generate: async () => ({ message: { role: "assistant", content: "x" }, finishReason: "stop" }),
  };
  const [top, middle] = [new FakeLedger(), new FakeLedger()];
  const grandchild = agent("grandchild", async (ctx) => {
    await ctx.waitFor("go");
    await ctx.llm(model, ask("x"));
    return done("");
  });
  const parent: Agent = {
    id: AgentId("parent"),
    defaults: { executionBudget: middle },
    run: async (ctx) => done((await ctx.hire({ agent: grandchild, input: "" })).status),
  };
  const lead: Agent = {
    id: AgentId("lead"),
    defaults: { executionBudget: top },
    run: async (ctx) => done((await ctx.hire({ agent: parent, input: "" })).status),
  };
  const ledger = () => new FakeLedger();
  const first = new Runtime({ journal, clock, ledger });
  const run = first.run(lead, "", { runId: "g" });
  await until(() => run.status === "suspended");
  await closed(first, clock);
  const second = new Runtime({ journal, clock, ledger, agents: [lead] });
  const resumed = second.resume("g");
  await second.deliver("g", "go", true);
  await clock.advance(1_000);
  await resumed.result;
  await turns();
  expect({ top: top.used.turns, middle: middle.used.turns }).toEqual({ top: 1, middle: 1 });
});

test.each(["with", "without"])(
  "R18: one tracker of a lead and of those below it is charged once for each call, also after a resume, %s a ledger of the run",
  async (isLimited) => {
    const journal = new MemoryJournal();
    const model = scriptedModel(() => ({ text: "x", usage: { inputTokens: 10, outputTokens: 1 } }));
    const acme = new FakeLedger();
    const withTracker = (name: string, below?: Agent): Agent => ({
      id: AgentId(name),
      defaults: { executionBudget: acme },
      async run(ctx) {
        await ctx.llm(model, ask(name));
        if (below !== undefined) return done((await ctx.hire({ agent: below, input: "" })).status);
        await ctx.waitFor("go");
        await ctx.llm(model, ask("more"));
        return done("");
      },
    });
    const between: Agent = agent("between", async (ctx) => {
      const { status } = await ctx.hire({ agent: withTracker("helper"), input: "" });
      return done(status);
    });
    const lead = withTracker("lead", between);
    const options = { journal, ...(isLimited === "with" && { ledger: () => new FakeLedger() }) };
    const first = new Runtime(options);
    const run = first.run(lead, "", { runId: "g" });
    await until(() => run.status === "suspended");
    expect(acme.used).toMatchObject({ turns: 2, tokens: 22 });
    await first.close();
    const second = new Runtime({ ...options, agents: [lead] });
    await second.deliver("g", "go", true);
    expect((await second.resume("g").result).output).toBe("completed");
    expect(acme.used, "and what was spent before the restart is not charged again").toMatchObject({
      turns: 3,
      tokens: 33,
    });
  },
);

describe.each(["with", "without"])(
  "R18: two trackers, one of them above the other, %s a ledger of the run",
  (isLimited) => {
    const model = scriptedModel(() => ({ text: "x", usage: { inputTokens: 10, outputTokens: 1 } }));
    const withTracker = (name: string, tracker: Ledger, below?: Agent): Agent => ({
      id: AgentId(name),
      defaults: { executionBudget: tracker },
      async run(ctx) {
        await ctx.llm(model, ask(name));
        if (below !== undefined) return done((await ctx.hire({ agent: below, input: "" })).status);
        await ctx.waitFor("go");
        await ctx.llm(model, ask("more"));
        return done("");
      },
    });
    const options = () => ({
      journal: new MemoryJournal(),
      ...(isLimited === "with" && { ledger: () => new FakeLedger() }),
    });

    test.each(["the member's", "the lead's", "the one between's"])(
      "%s is the lower one: a call below both is charged once to each, also after a resume",
      async (lower) => {
        const acme = new FakeLedger({ maxTurns: 4 });
        const web = new FakeLedger({}, acme);
        const given = (whose: string): Ledger => (lower === whose ? web : acme);
        const helper = withTracker("helper", given("the member's"));
        const between = withTracker("between", given("the one between's"), helper);
        const lead = withTracker("lead", given("the lead's"), between);
        const ports = options();
        const first = new Runtime(ports);
        const run = first.run(lead, "", { runId: "g" });
        await until(() => run.status === "suspended");
        expect(acme.used).toMatchObject({ turns: 3, tokens: 33 });
        await first.close();
        const second = new Runtime({ ...ports, agents: [lead] });
        await second.deliver("g", "go", true);
        expect((await second.resume("g").result).status).toBe("completed");
        expect(acme.used).toMatchObject({ turns: 4, tokens: 44 });
        const below = { "the member's": 2, "the one between's": 3, "the lead's": 4 }[lower];
        expect(web.used).toMatchObject({ turns: below });
      },
    );

    test("the limits of both hold, and so does that of a third beside them", async () => {
      const acme = new FakeLedger({ maxTurns: 2 });
      const web = new FakeLedger({ maxTurns: 1 }, acme);
      const day = new FakeLedger({ maxTurns: 2 });
      const tries = async (tracker: Ledger): Promise<number> => {
        let paid = 0;
        const helper: Agent = {
          id: AgentId("helper"),
          defaults: { executionBudget: tracker },
          async run(ctx) {
            for (let n = 0; n < 3; n++) {
              await ctx.llm(model, ask(`${n}`));
              paid++;
            }
            return done("");
          },
        };
        const hires = (name: string, ledger: Ledger, below: Agent): Agent => ({
          id: AgentId(name),
          defaults: { executionBudget: ledger },
          run: async (ctx) => done((await ctx.hire({ agent: below, input: "" })).status),
        });
        await new Runtime(options()).run(hires("lead", acme, hires("between", day, helper)), "").result;
        return paid;
      };
      expect(await tries(web)).toBe(1);
      expect(await tries(acme)).toBe(1);
      expect([acme.used.turns, web.used.turns, day.used.turns]).toEqual([2, 1, 2]);
    });
  },
);

test("R18: a ledger with a field `extra` of its own is not taken for two when its run is resumed", async () => {
  class Ledgers extends FakeLedger {
    readonly extra = "for the holidays";
  }
  const journal = new MemoryJournal();
  const model = scriptedModel(() => "ok");
  const helper = agent("helper", async (ctx) => {
    const word = String(await ctx.waitFor("go"));
    await ctx.llm(model, ask("?"));
    return done(word);
  });
  const lead = agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: helper, input: "" });
    return done(outcome.status === "completed" ? outcome.result.output : outcome.status);
  });
  const ledger = () => new Ledgers();
  const first = new Runtime({ journal, ledger });
  const run = first.run(lead, "", { runId: "r" });
  await until(() => run.status === "suspended");
  await first.close();
  const second = new Runtime({ journal, ledger, agents: [lead] });
  await second.deliver("r", "go", "gone");
  expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "gone" });
});

test("R18: a ledger that cannot take back what came too late does not hide why it was too late, and is heard of", async () => {
  const logged: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message, fields) => void logged.push(`${message}: ${String(fields?.["error"])}`),
  };
  const granted = Promise.withResolvers<void>();
  const fake = new FakeLedger();
  const ledger = Object.assign(Object.create(fake) as Ledger, {
    async reserve(): Promise<Reservation> {
      await granted.promise;
      return {
        settle: () => ({ warnings: [], exceeded: [] }),
        cancel: () => Promise.reject(new Error("no bank")),
      };
    },
  });
  const seen: unknown[] = [];
  const impatient: Pipeline<ChatContext> = {
    isNoop: false,
    hasAdmits: false,
    admit() {},
    async run(context, core) {
      const patience = new AbortController();
      context.signal = patience.signal;
      const asking = core();
      patience.abort("too slow");
      granted.resolve();
      await asking.catch((error: unknown) => seen.push(isCancellation(error) ? error.reason : error));
      context.result = { message: { role: "assistant", content: "my own" }, finishReason: "stop" };
    },
  };
  const model = scriptedModel(() => "theirs");
  const asks = agent("asks", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content)));
  const runtime = new Runtime({ ledger: () => ledger, logger, pipelines: { chat: impatient } });
  expect(await runtime.run(asks, "").result).toMatchObject({ status: "completed", output: "my own" });
  expect({ seen, logged, calls: model.calls.length }).toEqual({
    seen: ["too slow"],
    logged: ["could not cancel a reservation of asks; its amount stays reserved: no bank"],
    calls: 0,
  });
});

test("R18: what a user's own tracker has set aside comes back also where the run's ledger takes nothing back", async () => {
  const granted = Promise.withResolvers<void>();
  const [tracker, fake] = [new FakeLedger(), new FakeLedger()];
  let isAsked = false;
  const ledger = Object.assign(Object.create(fake) as Ledger, {
    async reserve(): Promise<Reservation> {
      isAsked = true;
      await granted.promise;
      const cancel = (): Promise<void> => Promise.reject(new Error("no bank"));
      return { settle: () => ({ warnings: [], exceeded: [] }), cancel };
    },
  });
  const model = scriptedModel(() => "theirs");
  const asks: Agent = {
    ...agent("asks", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content))),
    defaults: { executionBudget: tracker },
  };
  const handle = new Runtime({ ledger: () => ledger }).run(asks, "");
  await until(() => isAsked);
  handle.cancel("enough");
  granted.resolve();
  expect(await handle.result).toMatchObject({ status: "cancelled", error: { reason: "enough" } });
  expect({ used: tracker.used.tokens, calls: model.calls.length }).toEqual({ used: 0, calls: 0 });
  expect(tracker.reserved, "it was asked").toBe(1);
});
