import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  defineTool,
  type HookEvent,
  type Hooks,
  type Journal,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  ProviderError,
  RunId,
} from "@ravi/kernel";
import * as z from "zod";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import {
  agent,
  ask,
  closed,
  cut,
  done,
  FakeHeadcount,
  FakeLedger,
  turns,
  until,
  within,
} from "./support/helpers.ts";

test("R21: what is told again on replay has an end for each start, and what it cost", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const told: string[] = [];
  const hooks: Hooks = {
    has: (event) => event.startsWith("llm") || event.startsWith("tool"),
    dispatch: (event: HookEvent, payload: object) => {
      const { replayed, costUsd } = payload as { replayed?: boolean; costUsd?: number | null };
      if (replayed === true) told.push(event === "llm_end" ? `${event} ${String(costUsd)}` : event);
    },
    drain: () => {},
  };
  const good = scriptedModel(() => "ok");
  const bad: LLMClient = {
    id: "bad",
    info: { provider: "x", model: "bad" },
    generate: async () => {
      throw new ProviderError({ message: "no", kind: "AUTH", status: 401 } as never);
    },
  };
  const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "ok" });
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(good, ask("1"));
    await ctx.llm(bad, ask("2")).catch(() => undefined);
    await ctx.tool({ id: "c", name: "t", arguments: "{}" }, tool);
    await ctx.waitFor("go");
    return done("");
  });
  const meter = {
    estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0.5 } }),
    price: () => ({ usd: 0.25 }),
  };
  const first = new Runtime({ journal, clock, hooks, meter });
  const run = first.run(lead, "", { runId: "k" });
  await until(() => run.status === "suspended");
  await closed(first, clock);
  const second = new Runtime({ journal, clock, hooks, meter, agents: [lead] });
  const resumed = second.resume("k");
  await second.deliver("k", "go", true);
  await clock.advance(1_000);
  await resumed.result;
  expect(told).toEqual(["llm_start", "llm_end 0.25", "llm_start", "llm_end 0", "tool_start", "tool_end"]);
});

describe("a replay decides the same", () => {
  test("R23: an ask that nobody answered in time is on record like one that was answered", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const deaf = agent("deaf", async (ctx) => {
      await ctx.sleepUntil(1_000_000);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(deaf, { input: "" });
      const answer = await ctx
        .ask(handle, "hello?", { timeoutS: 1 })
        .catch((error: unknown) => (error as Error).message);
      await ctx.llm(model, ask("x"));
      await ctx.waitFor("go");
      return done(String(answer));
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "a" });
    await clock.advance(2_000);
    expect(model.calls).toHaveLength(1);
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [lead] });
    const resumed = second.resume("a");
    await second.deliver("a", "go", true);
    await clock.advance(2_000);
    expect(await resumed.result).toMatchObject({
      status: "completed",
      output: "deaf/1 did not reply within 1 s",
    });
  });

  test("R24: an agent that waits for a message where it found none is suspended, and goes on as it was written before", async () => {
    const journal = new MemoryJournal();
    const reads = { wait: false };
    const reader = agent("reader", async (ctx, inbox) => {
      const message = reads.wait ? await inbox.receive() : await inbox.take();
      return done(`${String(message?.content)} ${String(await ctx.waitFor("go"))}`);
    });
    const first = new Runtime({ journal });
    const run = first.run(reader, "", { runId: "r" });
    await until(() => journal.load(RunId("r")).some(({ key }) => key === "inbox#1"));
    await first.close();
    expect(await run.result).toMatchObject({ status: "suspended" });
    const resume = (): Runtime => new Runtime({ journal, agents: [reader] });
    reads.wait = true;
    const changed = await resume().resume("r").result;
    expect(changed).toMatchObject({
      status: "suspended",
      error: { code: "NON_DETERMINISM", key: "inbox#1" },
    });
    reads.wait = false;
    await using last = resume();
    await last.deliver("r", "go", "on");
    expect(await last.resume("r").result).toMatchObject({ status: "completed", output: "undefined on" });
  });

  test("R24: a question that was answered leaves no timer", async () => {
    const clock = virtualClock();
    const clerk = agent("clerk", async (_ctx, inbox) => {
      await inbox.reply(await inbox.receive(), "yes");
      return done(String((await inbox.receive()).content));
    });
    let pending: number | undefined;
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(clerk, { input: "" });
      const before = clock.pending;
      const answer = await ctx.ask(handle, "well?", { timeoutS: 60 });
      pending = clock.pending - before;
      handle.cancel("enough");
      return done(String(answer));
    });
    expect(await new Runtime({ clock }).run(lead, "").result).toMatchObject({ output: "yes" });
    expect(pending).toBe(0);
  });

  test("R15: one who is paused when a run is resumed catches up with its record before it gives way", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("1"));
      await ctx.waitFor("more");
      await ctx.llm(model, ask("2"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "", onPreempt: "return" });
      return done("error" in outcome ? outcome.error.message : outcome.status);
    });
    const first = new Runtime({ journal, clock, headcount: () => new FakeHeadcount() });
    const run = first.run(lead, "", { runId: "p" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    // A hire that is on record took its seat while it waited: restored, it is paused from the start.
    const restored = new FakeHeadcount();
    restored.pause("child/1");
    const second = new Runtime({ journal, clock, agents: [lead], headcount: () => restored });
    const resumed = second.resume("p");
    await second.deliver("p", "more", true);
    await clock.advance(1_000);
    expect((await resumed.result).output).toBe("paused");
  });

  test("R15: one who is on record as having given way does so again, though its seat is free by now", async () => {
    const journal = new MemoryJournal();
    const headcount = new FakeHeadcount();
    const model = scriptedModel(() => "ok");
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("1"));
      headcount.pause("child/1");
      await ctx.llm(model, ask("2"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "", onPreempt: "return" });
      return done("error" in outcome ? outcome.error.message : outcome.status);
    });
    const first = new Runtime({ journal, headcount: () => headcount });
    expect((await first.run(lead, "", { runId: "g" }).result).output).toBe("paused");
    const records = journal.load(RunId("g"));
    const gaveWay = records.findIndex(({ key }) => key.startsWith("paused:"));
    const crashed = cut("g", records.slice(0, gaveWay + 1));
    const free = () => new FakeHeadcount();
    const second = new Runtime({ journal: crashed, agents: [lead], headcount: free });
    expect((await second.resume("g").result).output).toBe("paused");
    expect(model.calls).toHaveLength(1);
  });

  test("R17: a crash of the parent that is started again costs its spawned child nothing", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const answer = Promise.withResolvers<ModelResponse>();
    let paid = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: () => {
        paid++;
        return answer.promise;
      },
    };
    const child = agent("child", async (ctx) => {
      await ctx.waitFor("go");
      await ctx.llm(model, ask("x"));
      return done("the child's work");
    });
    let goes = 0;
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      if (goes++ === 0) throw new TypeError("oops");
      const outcome = await ctx.join(handle);
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const restart = { shouldRetry: () => true, delayMs: () => 10, reset: () => {} };
    const runtime = new Runtime({ journal, clock, restart });
    const run = runtime.run(lead, "", { runId: "c" });
    await clock.advance(1_000);
    await runtime.deliver("c", "go", true);
    await clock.advance(1_000);
    answer.resolve({ message: { role: "assistant", content: "x" }, finishReason: "stop" });
    await clock.advance(1_000);
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "the child's work" });
    expect(paid).toBe(1);
  });

  test("T6: a layer that changes the input does not change it again on resume", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const louder: Pipeline<AgentRunContext> = {
      isNoop: false,
      async admit(context) {
        context.input = `${context.input}!`;
      },
      run: async (_, core) => core(),
    };
    const lead: Agent = {
      id: AgentId("lead"),
      pipelines: { agent: louder },
      async run(ctx, inbox) {
        await ctx.llm(model, ask(inbox.input));
        await ctx.waitFor("go");
        return done(inbox.input);
      },
    };
    const first = new Runtime({ journal, clock });
    const run = first.run(lead, "hey", { runId: "i" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [lead] });
    const resumed = second.resume("i");
    await second.deliver("i", "go", true);
    await clock.advance(1_000);
    expect(await resumed.result).toMatchObject({ status: "completed", output: "hey!" });
  });

  test("T6: what is left of the budget is what it was when the agent asked", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const thrifty = agent("thrifty", async (ctx) => {
      for (let step = 1; ; step++) {
        const isLast = ctx.budget.turns === 1;
        await ctx.llm(model, ask(isLast ? "wrap up" : `step ${step}`));
        if (isLast) return done("wrapped up");
        if (step === 2) await ctx.waitFor("go");
      }
    });
    const ledger = () => new FakeLedger({ maxTurns: 3 });
    const first = new Runtime({ journal, clock, ledger });
    const run = first.run(thrifty, "", { runId: "b" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [thrifty], ledger });
    const resumed = second.resume("b");
    await second.deliver("b", "go", true);
    await clock.advance(1_000);
    expect(await resumed.result).toMatchObject({ status: "completed", output: "wrapped up" });
  });

  test("T6: so is what is left of each of its limits, after each step, with what those below it have spent", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const look = defineTool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });
    const leaf = agent("leaf", async (ctx) => {
      await ctx.llm(model, ask("leaf"));
      return done("");
    });
    const worker = agent("worker", async (ctx) => {
      await ctx.llm(model, ask("worker"));
      await ctx.hire({ agent: leaf, input: "" });
      return done("");
    });
    let seen: unknown[] = [];
    const lead = agent("lead", async (ctx) => {
      const note = (): void => {
        const { tokens, cost, turns: turnsLeft, toolCalls } = ctx.budget;
        seen.push({ tokens, cost, turnsLeft, toolCalls });
      };
      note();
      await ctx.llm(model, ask("lead"));
      note();
      await ctx.tool({ id: "1", name: "look", arguments: "{}" }, look);
      note();
      await ctx.hire({ agent: worker, input: "" });
      note();
      await ctx.waitFor("go");
      return done("");
    });
    const ports = {
      journal,
      clock,
      ledger: () => new FakeLedger({ maxTokens: 1_000, maxCostUsd: 5, maxTurns: 9, maxToolCalls: 9 }),
      meter: {
        estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0.5 } }),
        price: () => ({ usd: 0.25 }),
      },
      agents: [lead, worker, leaf],
    };
    const first = new Runtime(ports);
    const run = first.run(lead, "", { runId: "b" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const before = seen;
    expect(before).toMatchObject([
      { tokens: 1_000, cost: 5, turnsLeft: 9, toolCalls: 9 },
      { cost: 4.75, turnsLeft: 8, toolCalls: 9 },
      { cost: 4.75, turnsLeft: 8, toolCalls: 8 },
      { cost: 4.25, turnsLeft: 6, toolCalls: 8 },
    ]);
    seen = [];
    const second = new Runtime(ports);
    const resumed = second.resume("b");
    await second.deliver("b", "go", true);
    await clock.advance(1_000);
    expect((await resumed.result).status).toBe("completed");
    expect(seen).toEqual(before);
  });

  test("T5: what was made twice is still reported after another restart", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let answers = false;
    let asked = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: () => {
        asked++;
        return answers
          ? Promise.resolve({ message: { role: "assistant", content: "x" }, finishReason: "stop" })
          : new Promise(() => {});
      },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("x"));
      await ctx.waitFor("go");
      return done("");
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "d" });
    await until(() => asked === 1);
    await closed(first, clock);
    answers = true;
    const second = new Runtime({ journal, clock, agents: [lead] });
    const again = second.resume("d");
    await until(() => again.status === "suspended");
    await closed(second, clock);
    expect((await again.result).inDoubt).toEqual(["d:llm:m#1"]);
    const third = new Runtime({ journal, clock, agents: [lead] });
    const resumed = third.resume("d");
    await third.deliver("d", "go", true);
    await clock.advance(1_000);
    await turns();
    expect(await resumed.result).toMatchObject({ status: "completed", inDoubt: ["d:llm:m#1"] });
  });
});

test("R23: a child that had read a question at the crash may answer and end before it is asked again", async () => {
  const clock = virtualClock({ now: 0 });
  const child = agent("child", async (_ctx, inbox) => {
    const message = await inbox.receive();
    await inbox.reply(message, `${String(message.content)}!`);
    return done("ended");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(child, { input: "" });
    for (let n = 0; n < 20; n++) await ctx.now();
    return done(String(await ctx.ask(handle, "question")));
  });
  const journal = new MemoryJournal();
  const runtime = new Runtime({ journal, clock });
  expect((await runtime.run(lead, "", { runId: "r" }).result).output).toBe("question!");
  const records = journal.load(RunId("r"));
  for (let n = 1; n < records.length; n++) {
    const resumed = new Runtime({ journal: cut("r", records.slice(0, n)), clock, agents: [lead] });
    const { output } = await resumed.resume("r").result;
    expect({ n, output }).toEqual({ n, output: "question!" });
  }
});

test("T6: a child that ends while it is recorded that it was late has been late, now and in a replay", async () => {
  const clock = virtualClock({ now: 0 });
  const inner = new MemoryJournal();
  const confirm = { end: Promise.withResolvers<void>(), late: Promise.withResolvers<void>() };
  const issued = new Set<string>();
  /** Takes everything, and confirms the end of the hire before the note that it was late. */
  const append: Journal["append"] = (runId, epoch, entries) => {
    inner.append(runId, epoch, entries);
    const isOf = (prefix: string, phase: string): boolean =>
      entries.some((entry) => entry.key.startsWith(prefix) && entry.phase === phase);
    const slow = isOf("hire:", "end") ? "end" : isOf("late:", "note") ? "late" : undefined;
    if (slow === undefined) return undefined;
    issued.add(slow);
    return confirm[slow].promise;
  };
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("go"))));
  const told: string[] = [];
  const lead = agent("lead", async (ctx) => {
    const hired = { agent: child, input: "", timeoutS: 5, onTimeout: "leave" } as const;
    told.push((await ctx.hire(hired)).status);
    await ctx.waitFor("more");
    return done("");
  });
  const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, { append });
  const first = new Runtime({ journal, clock });
  first.run(lead, "", { runId: "r" });
  await until(() => inner.load(RunId("r")).some(({ key }) => key.startsWith("run:waits")));
  await first.deliver("r", "go", "now");
  await until(() => issued.has("end"));
  await clock.advance(5_000);
  expect(issued).toContain("late");
  confirm.end.resolve();
  await turns();
  confirm.late.resolve();
  await until(() => told.length === 1);
  const second = new Runtime({ journal: cut("r", inner.load(RunId("r"))), clock, agents: [lead] });
  second.resume("r");
  await until(() => told.length === 2);
  expect(told).toEqual(["timedOut", "timedOut"]);
});
