import {
  type Agent,
  AgentId,
  defineTool,
  type FunctionContext,
  type Hooks,
  type Journal,
  type Pipeline,
  type RunEvent,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, it, test } from "vitest";
import { agent, ask, done, turns, until, within } from "../support/helpers.ts";
import * as z from "zod";

it("R24: a signal that comes while the journal is being looked at is read, at whichever moment", async () => {
  const waiter = agent("waiter", async (ctx) =>
    done(`${String(await ctx.waitFor("a"))}${String(await ctx.waitFor("b"))}`),
  );
  for (let moment = 0; moment < 24; moment++) {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, clock: virtualClock() });
    const run = runtime.run(waiter, "", { runId: "r" });
    await until(() => run.status === "suspended");
    journal.post(RunId("r"), { id: "1", kind: "signal", name: "a", value: 1, at: 0 });
    for (let tick = 0; tick < moment; tick++) await Promise.resolve();
    journal.post(RunId("r"), { id: "2", kind: "signal", name: "b", value: 2, at: 0 });
    expect(await within(run.result), `after ${moment} ticks`).toMatchObject({ output: "12" });
  }
});

describe("answers from outside", () => {
  test("R24: a run whose journal passes on a watch without its awaits looks by itself, by a timer", async () => {
    const inner = new MemoryJournal();
    const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, {
      watch: () => ({ coversAll: true, stop() {} }),
    });
    const clock = virtualClock();
    const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("answer"))));
    const run = new Runtime({ journal, clock }).run(waits, "", { runId: "w" });
    await until(() => run.status === "suspended");
    inner.post(RunId("w"), { id: "1", kind: "signal", name: "answer", value: "yes", at: 1 });
    await clock.advance(1_000);
    expect(await within(run.result)).toMatchObject({ output: "yes" });
  });

  test.each(["an answer to a run that waits", "the cancellation of a run at work"])(
    "R24: %s is read also if the journal cannot be read for a while, and that is logged once",
    async (what) => {
      const inner = new MemoryJournal();
      const broken = { isSo: false };
      const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, {
        items(runId: RunId, after: number) {
          if (broken.isSo) throw new Error("EIO");
          return inner.items(runId, after);
        },
      });
      const [clock, logged] = [virtualClock(), [] as string[]];
      const [ignore, error] = [() => {}, (message: string) => void logged.push(message)];
      const logger = { debug: ignore, info: ignore, warn: ignore, error };
      const isWaiting = what.startsWith("an answer");
      const work = Promise.withResolvers<string>();
      const busy = agent("busy", async (ctx) => {
        if (isWaiting) return done(String(await ctx.waitFor("answer")));
        ctx.signal.addEventListener("abort", () => work.resolve("stopped"));
        return done(await work.promise);
      });
      const runtime = new Runtime({ journal, clock, logger });
      const run = runtime.run(busy, "", { runId: "w" });
      await until(() => run.status === (isWaiting ? "suspended" : "running"));
      broken.isSo = true;
      const item = isWaiting
        ? ({ kind: "signal", name: "answer", value: "yes" } as const)
        : ({ kind: "cancel", name: "", value: "enough" } as const);
      inner.post(RunId("w"), { id: "1", at: 1, ...item });
      await clock.advance(2_000);
      broken.isSo = false;
      await clock.advance(1_000);
      expect(await within(run.result)).toMatchObject(isWaiting ? { output: "yes" } : { status: "cancelled" });
      expect(logged).toEqual([expect.stringContaining("the journal cannot be read")]);
      expect(clock.pending).toBe(0);
    },
  );

  test("R24: an answer goes to one who still waits, and not to one who has given up before", async () => {
    const clerk = agent("clerk", async (ctx) => done(String(await ctx.waitFor("word"))));
    const lead = agent("lead", async (ctx) => {
      const [first, second] = [
        await ctx.spawn(clerk, { input: "1" }),
        await ctx.spawn(clerk, { input: "2" }),
      ];
      await ctx.waitFor("next");
      first.cancel("enough");
      await ctx.join(first);
      const outcome = await ctx.join(second);
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const runtime = new Runtime();
    const run = runtime.run(lead, "", { runId: "w" });
    await until(() => run.status === "suspended");
    await runtime.deliver("w", "next", true);
    await turns(20);
    await runtime.deliver("w", "word", "yes");
    expect(await within(run.result)).toMatchObject({ output: "yes" });
  });

  test("R24: an answer that was read before a restart is not read again after it", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const twice = agent("twice", async (ctx) => {
      const one = await ctx.waitFor("answer");
      await ctx.waitFor("go");
      const two = await ctx.waitFor("answer");
      return done(`${String(one)} ${String(two)}`);
    });
    const first = new Runtime({ journal, clock });
    const run = first.run(twice, "", { runId: "w" });
    await first.deliver("w", "answer", "one");
    await until(() => run.status === "suspended");
    const closing = first.close();
    await clock.advance(100);
    await closing;

    const second = new Runtime({ journal, clock, agents: [twice] });
    const resumed = second.resume("w");
    await second.deliver("w", "go", true);
    await clock.advance(1_000);
    await second.deliver("w", "answer", "two");
    await clock.advance(1_000);
    expect((await resumed.result).output).toBe("one two");
  });

  test.each(["with a journal", "without one"])(
    "R24: an answer that is said twice under one id does not answer the next question (%s)",
    async (how) => {
      const clock = virtualClock();
      const runtime = new Runtime({
        clock,
        ...(how === "with a journal" && { journal: new MemoryJournal() }),
      });
      const raised = agent("raised", async (ctx) => {
        const one = await ctx.waitFor("raise");
        const two = await ctx.waitFor("raise");
        return done(`${String(one)} ${String(two)}`);
      });
      const run = runtime.run(raised, "", { runId: "w" });
      await runtime.deliver("w", "raise", 5, { id: "click-1" });
      await runtime.deliver("w", "raise", 5, { id: "click-1" });
      await runtime.deliver("w", "raise", 1, { id: "click-2" });
      expect(await within(run.result)).toMatchObject({ output: "5 1" });
    },
  );

  test("R24: a layer and the context that ask for one call under the same name are answered once", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const pay = defineTool({
      name: "pay",
      description: "",
      input: z.object({}),
      needsApproval: true,
      execute: () => "paid",
    });
    // What the Approval layer of @ravi/middleware does.
    const approval: Pipeline<FunctionContext> = {
      isNoop: false,
      async admit(context, gate) {
        await gate.require(`approval:${context.meta.execId}:${String(context.key)}`, {});
      },
      run: async (_, core) => core(),
    };
    const buyer: Agent = {
      id: AgentId("buyer"),
      pipelines: { function: approval },
      run: async (ctx) =>
        done(String((await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay)).content)),
    };
    const runtime = new Runtime({ journal, clock });
    const run = runtime.run(buyer, "", { runId: "b" });
    await until(() => run.status === "suspended");
    await runtime.deliver("b", "approval:b:tool:pay#1", true);
    await clock.advance(1_000);
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "paid" });
  });

  test("R21: whoever listens hears of an approval, also where a layer that does not ask stands around the tool", async () => {
    const clock = virtualClock();
    const heard: string[] = [];
    const hooks: Hooks = {
      has: () => true,
      dispatch: (event) => void heard.push(event),
      drain: () => {},
    };
    const pay = defineTool({
      name: "pay",
      description: "",
      input: z.object({}),
      needsApproval: true,
      execute: () => "paid",
    });
    const audit: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: async () => {},
      run: async (_, core) => core(),
    };
    const buyer = agent("buyer", async (ctx) => {
      await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
      return done("");
    });
    const run = new Runtime({ clock, hooks, pipelines: { function: audit } }).run(buyer, "");
    await until(() => run.status === "suspended");
    run.cancel("seen");
    await clock.advance(1_000);
    await run.result;
    expect(heard).toContain("approval_requested");
  });

  test("R24: what an agent does while it is unwound leaves nothing on record that its resumed run never asks for", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model = scriptedModel(() => "ok");
    const careful = agent("careful", async (ctx) => {
      let answer: unknown;
      try {
        answer = await ctx.waitFor("go");
      } catch (error) {
        await ctx.now();
        throw error;
      }
      await ctx.llm(model, ask("x"));
      return done(String(answer));
    });
    const first = new Runtime({ journal, clock });
    const run = first.run(careful, "", { runId: "c" });
    await until(() => run.status === "suspended");
    const closing = first.close();
    await clock.advance(100);
    await closing;
    const second = new Runtime({ journal, clock, agents: [careful] });
    const resumed = second.resume("c");
    await second.deliver("c", "go", "yes");
    await clock.advance(1_000);
    expect(await resumed.result).toMatchObject({ status: "completed", output: "yes" });
  });
});

test("R24: what was answered while a run was suspended is not asked for again when it goes on", async () => {
  const asked: string[] = [];
  const onEvent = ({ event }: RunEvent): void => {
    if (event.type === "progress") asked.push(event.name);
  };
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    needsApproval: true,
    execute: () => "paid",
  });
  const payer = agent("payer", async (ctx) => {
    const { content } = await ctx.tool({ id: "1", name: "pay", arguments: "{}" }, pay);
    return done(String(content));
  });
  const journal = new MemoryJournal();
  const first = new Runtime({ journal });
  const { result } = first.run(payer, "", { runId: "r", onEvent });
  await until(() => asked.length === 1);
  await first.close();
  await result;
  const second = new Runtime({ journal, agents: [payer] });
  await second.deliver("r", "approval:r:tool:pay#1", true);
  expect((await second.resume("r", { onEvent }).result).output).toBe("paid");
  expect(asked).toEqual(["approvalRequested"]);
});

const RUN = RunId("r1");

test("R24: words of one name that come before anybody waits for them are all kept, in their order", async () => {
  const waiting = agent("waiting", async (ctx) => {
    const first = String(await ctx.waitFor("go"));
    const rest = [await ctx.waitFor("word"), await ctx.waitFor("word"), await ctx.waitFor("word")];
    return done([first, ...rest].join());
  });
  for (const journal of [undefined, new MemoryJournal()]) {
    const runtime = new Runtime({ journal });
    const handle = runtime.run(waiting, "", { runId: RUN });
    for (const word of ["a", "b", "c"]) await runtime.deliver(RUN, "word", word);
    await runtime.deliver(RUN, "go", "now");
    expect((await handle.result).output).toBe("now,a,b,c");
  }
});
