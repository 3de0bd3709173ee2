import { type Agent, defineTool, type JournalRecord, ProviderError, RunId } from "@ravi/kernel";
import { MiddlewarePipeline, retry } from "@ravi/middleware";
import { FairPool } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, ask, call, codeOf, done, meter, model, tracked } from "../support/priced.ts";

const recordsOf = (journal: MemoryJournal): readonly JournalRecord[] => journal.load(RunId("r"));

const upTo = (records: readonly JournalRecord[], key: string, phase: string): readonly JournalRecord[] =>
  records.slice(0, 1 + records.findIndex((each) => each.key === key && each.phase === phase));

describe("T5: what is late in a batch does not keep the run from going on", () => {
  const slow = agent("slow", async (_, inbox) => {
    await inbox.receive();
    return done();
  });
  const left = { kind: "hire", agent: slow, onTimeout: "leave" } as const;

  it.each([12_000, 61_000, 3_600_000])("two helpers, resumed %i ms after the start", async (after) => {
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch([
        { ...left, input: "a", timeoutS: 60 },
        { ...left, input: "b", timeoutS: 10 },
      ]);
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, clock });
    const run = first.run(lead, "", { runId: "r" });
    await clock.advance(11_000);
    const crashed = cutJournal("r", recordsOf(journal));
    run.cancel("this process is no more");
    const later = virtualClock({ now: 1_000_000 + after });
    const resumed = new Runtime({ journal: crashed, clock: later, agents: [lead, slow] }).resume("r");
    await later.advance(100_000);
    expect(await resumed.result).toMatchObject({ status: "completed", output: "timedOut timedOut" });
    await run.result;
  });

  it.each(["with a ledger", "without one"])(
    "a call that waited for its next try when the runtime was closed, %s; it is not doubted",
    async (how) => {
      const refusal = { kind: "RATE_LIMIT", message: "429", status: 429, retryAfterMs: 30_000 } as const;
      const flaky = model("flaky", () => {
        if (flaky.sent === 1) throw new ProviderError(refusal);
      });
      const lead = agent("lead", async (ctx) => {
        const outcomes = await ctx.batch([
          { kind: "llm", model: flaky, request: ask("q") },
          { ...left, input: "", timeoutS: 10 },
        ]);
        return done(outcomes.map(({ status }) => status).join(" "));
      });
      const clock = virtualClock({ now: 1_000_000 });
      const options: RuntimeOptions = {
        journal: new MemoryJournal(),
        clock,
        agents: [lead],
        pipelines: { chat: new MiddlewarePipeline([retry()]) },
        ...(how === "with a ledger" && { meter, ledger: tracked().ledger }),
      };
      const first = new Runtime(options);
      const run = first.run(lead, "", { runId: "r" });
      await clock.advance(15_000);
      const closing = first.close();
      await clock.advance(1_000);
      await closing;
      expect((await run.result).status).toBe("suspended");
      const resumed = new Runtime(options).resume("r");
      await clock.advance(100_000);
      expect(await resumed.result).toMatchObject({ output: "completed timedOut", inDoubt: [] });
      expect(flaky.sent).toBe(2);
    },
  );
});

it.each(["now", "record", "take"] as const)(
  "T5: a helper whose time was up while nobody ran is not taken for another program when it asks for %s",
  async (what) => {
    const helper = agent("helper", async (ctx, inbox) => {
      const answer = await ctx.llm(model("m"), ask("q")).catch(() => undefined);
      if (what === "now") await ctx.now();
      if (what === "record") await ctx.record("x", () => 1);
      if (what === "take") await inbox.take();
      await inbox.receive();
      return done(String(answer));
    });
    const lead = agent("lead", async (ctx) =>
      done((await ctx.hire({ agent: helper, input: "", timeoutS: 60 })).status),
    );
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal();
    const run = new Runtime({ journal, clock }).run(lead, "", { runId: "r" });
    await clock.advance(61_000);
    const undisturbed = await run.result;
    const crashed = cutJournal("r", upTo(recordsOf(journal), "llm:m#1", "end"));
    const resumed = new Runtime({ journal: crashed, clock, agents: [lead] }).resume("r");
    await clock.advance(100_000);
    expect(await resumed.result).toMatchObject({ status: "completed", output: undisturbed.output });
  },
);

it("T4: calls that only waited in the limiter's line at a crash are neither charged nor doubted", async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const slow = model("m", () => held);
  const lead = agent("lead", async (ctx) => {
    const leaf = (n: number) => ({ kind: "llm", model: slow, request: ask(String(n)) }) as const;
    const outcomes = await ctx.batch(Array.from({ length: 4 }, (_, n) => leaf(n)));
    return done(outcomes.map(({ status }) => status).join(" "));
  });
  const ports = (): RuntimeOptions => ({
    meter,
    limiter: new FairPool({ concurrency: 1 }),
    ledger: tracked().ledger,
    agents: [lead],
  });
  const journal = new MemoryJournal();
  const executionBudget = { maxCostUsd: 1 };
  const run = new Runtime({ journal, ...ports() }).run(lead, "", { runId: "r", executionBudget });
  await expect.poll(() => slow.sent).toBe(1);
  const crashed = cutJournal("r", recordsOf(journal));
  letGo();
  const output = "completed completed completed completed";
  expect(await run.result).toMatchObject({ output, cost: 0.4 });
  const resumed = await new Runtime({ journal: crashed, ...ports() }).resume("r").result;
  // The first may have been paid for twice.
  expect(resumed).toMatchObject({ output, cost: 0.5, inDoubt: ["r:llm:m#1"] });
});

describe("T4: a limit in tool calls holds over a crash", () => {
  let ran = 0;
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    execute: () => `done ${++ran}`,
  });
  const payThrice: Agent["run"] = async (ctx) => {
    const said: string[] = [];
    for (let n = 0; n < 3; n++)
      said.push(await ctx.tool(call("pay"), pay).then(({ content }) => String(content), codeOf));
    return done(said.join());
  };
  const executionBudget = { maxToolCalls: 2 };

  it.each(["skip", "fail"] as const)("where a tool in doubt was decided on: %s", async (decision) => {
    const lead = agent("lead", payThrice);
    const { ledger, tracker } = tracked();
    const journal = new MemoryJournal();
    await new Runtime({ journal, ledger }).run(lead, "", { runId: "r", executionBudget }).result;
    const crashed = cutJournal("r", upTo(recordsOf(journal), "tool:pay#1", "begin"));
    const options = { journal: crashed, ledger, agents: [lead] };
    ran = 1;
    const resumed = new Runtime(options).resume("r", { decisions: { "tool:pay#1": decision } });
    const { agents, output } = await resumed.result;
    expect(output.split(",").slice(-2)).toEqual(["done 2", "BUDGET_EXHAUSTED"]);
    expect([ran, tracker().used.toolCalls, agents?.[0]?.toolCalls]).toEqual([2, 2, 2]);
  });

  it("where a helper was cancelled in a tool before", async () => {
    const { promise: isBusy, resolve: busy } = Promise.withResolvers<void>();
    const deaf = defineTool({
      name: "deaf",
      description: "",
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          busy();
          signal.addEventListener("abort", () => reject(new Error("stop")));
        }),
    });
    const helper = agent("helper", async (ctx) => {
      await ctx.tool(call("deaf"), deaf);
      return done();
    });
    const lead = agent("lead", async (ctx, inbox) => {
      const handle = await ctx.spawn(helper, { input: "" });
      await isBusy;
      handle.cancel("enough");
      await ctx.join(handle);
      await ctx.now();
      return payThrice(ctx, inbox);
    });
    const { ledger, tracker } = tracked();
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, ledger }).run(lead, "", { runId: "r", executionBudget });
    const { output } = await first.result;
    const crashed = cutJournal("r", upTo(recordsOf(journal), "now:clock#1", "note"));
    ran = Number(output.at(5)) - 1;
    const resumed = await new Runtime({ journal: crashed, ledger, agents: [lead] }).resume("r").result;
    expect(resumed.output).toBe(output);
    expect(tracker().used.toolCalls).toBe(2);
  });
});

it("T3: a seat that a resumed run brought along is free when its employer is stopped before it is asked for again", async () => {
  let isSecond = false;
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: answer, resolve: goOn } = Promise.withResolvers<void>();
  const lookUp = {
    level: "agent",
    name: "session",
    async admit() {
      if (!isSecond) return;
      isAsked();
      await answer;
    },
  } as const;
  const worker: Agent = {
    ...agent("worker", async (ctx) => {
      await ctx.waitFor("x");
      return done();
    }),
    pipelines: { agent: new MiddlewarePipeline([lookUp]) },
  };
  const middle = agent("middle", async (ctx) => {
    await ctx.hire({ agent: worker, input: "" });
    return done();
  });
  const other = agent("other", async (ctx) => {
    await ctx.waitFor("x");
    return done();
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(middle, { input: "" });
    await (isSecond ? asked : ctx.waitFor("go"));
    handle.cancel("not needed");
    goOn();
    await ctx.join(handle);
    const said: string[] = [];
    for (let n = 0; n < 2; n++) said.push(await ctx.spawn(other, { input: "" }).then(() => "hired", codeOf));
    return done(said.join());
  });
  let seats: SpawnTracker | undefined;
  const headcount: RuntimeOptions["headcount"] = ({ spawnBudget, rootId }) =>
    (seats = new SpawnTracker(spawnBudget, { rootId }));
  const journal = new MemoryJournal();
  const first = new Runtime({ journal, headcount });
  const run = first.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 3 } });
  await expect.poll(() => recordsOf(journal).filter(({ key }) => key.startsWith("hire:")).length).toBe(2);
  const crashed = cutJournal("r", recordsOf(journal));
  run.cancel("this process is no more");
  await run.result;
  isSecond = true;
  const resumed = await new Runtime({ journal: crashed, headcount, agents: [lead] }).resume("r").result;
  expect(resumed.output).toBe("hired,hired");
  expect(seats?.held).toBe(1);
});

it("T4: a call that was left behind is in doubt after a resume, too", async () => {
  const never = new Promise<void>(() => {});
  const deaf = model("deaf", () => never);
  const fire = defineTool({
    name: "fire",
    description: "",
    input: z.object({}),
    execute(_, { llm }) {
      llm(deaf, ask("q")).catch(() => {});
      return "x";
    },
  });
  const helper = agent("helper", async (ctx) => {
    await ctx.tool(call("fire"), fire);
    return done();
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: helper, input: "" });
    await ctx.waitFor("go");
    return done();
  });
  const options = { journal: new MemoryJournal(), meter, agents: [lead], ledger: tracked().ledger };
  const first = new Runtime(options);
  const run = first.run(lead, "", { runId: "r" });
  await expect.poll(() => run.status).toBe("suspended");
  await first.close();
  const expected = { cost: 0.1, inDoubt: ["r/hire:helper#1:tool:fire#1"] };
  expect(await run.result).toMatchObject({ status: "suspended", ...expected });
  const second = new Runtime(options);
  const resumed = second.resume("r");
  await second.deliver("r", "go", 1);
  expect(await resumed.result).toMatchObject({ status: "completed", ...expected });
});
