import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  defineTool,
  type FunctionContext,
  type Journal,
  JournalFailedError,
  type Meter,
  MiddlewareError,
  type Pipeline,
  type RunContext,
  systemClock,
  type Tool,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done, FakeLedger, turns, until, within } from "../support/helpers.ts";

/** A journal whose appends wait, from `hold` to `answer`. */
function heldJournal() {
  const memory = new MemoryJournal();
  let gate: PromiseWithResolvers<void> | undefined;
  const append: Journal["append"] = async (...asked) => {
    await gate?.promise;
    memory.append(...asked);
  };
  const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, { append });
  return {
    journal,
    hold: () => void (gate = Promise.withResolvers()),
    answer: () => gate?.resolve(),
    fail: () => gate?.reject(new JournalFailedError({ what: "the disk", final: true, cause: undefined })),
  };
}

/** A tool whose calls end when the test says so. */
function slow(name: string): { readonly tool: Tool; readonly calls: PromiseWithResolvers<string>[] } {
  const calls: PromiseWithResolvers<string>[] = [];
  const execute = () => {
    const call = Promise.withResolvers<string>();
    calls.push(call);
    return call.promise;
  };
  return { tool: defineTool({ name, description: "", input: z.object({}), execute }), calls };
}

const call = (ctx: RunContext, tool: Tool) => ctx.tool({ id: "c", name: tool.name, arguments: "{}" }, tool);

describe("a time of grace", () => {
  test("ends before the delay of a restart after a crash meanwhile", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool);
      throw new RangeError("no");
    });
    const clock = virtualClock();
    const restart = { shouldRetry: () => true, delayMs: () => 600_000, reset: () => {} };
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [payer], restart });
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    calls[0]?.resolve("paid");
    await clock.advance(20_100);
    expect(await within(closing)).toBeUndefined();
    expect((await result).status).toBe("suspended");
    expect(clock.pending).toBe(0);
  });

  test("of more than a timer can wait is not over at once", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const before = new Runtime({ journal: new MemoryJournal(), agents: [payer] });
    const { result } = before.run(payer, "");
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: Number.MAX_SAFE_INTEGER });
    await turns(50);
    calls[0]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("completed");
  });

  test("ends before the delay of a restart after a crash beside a call that does not stop", async () => {
    const [{ tool, calls }, hanging] = [slow("pay"), slow("hang")];
    const worker = agent("worker", async (ctx) => done(String((await call(ctx, hanging.tool)).content)));
    const payer = agent("payer", async (ctx) => {
      await ctx.spawn(worker, { input: "" });
      await call(ctx, tool);
      throw new RangeError("no");
    });
    const clock = virtualClock();
    const restart = { shouldRetry: () => true, delayMs: () => 600_000, reset: () => {} };
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [payer, worker], restart });
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1 && hanging.calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    calls[0]?.resolve("paid");
    await clock.advance(20_100);
    expect(await within(closing)).toBeUndefined();
    expect((await result).status).toBe("suspended");
    expect(clock.pending).toBe(0);
  });

  test("is over if the run is cancelled meanwhile, which then is not suspended", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const clock = virtualClock();
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [payer] });
    const handle = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    const cancelling = before.cancel("r", "enough");
    await clock.advance(2_000);
    await closing;
    await cancelling;
    expect((await handle.result).status).toBe("cancelled");
    expect(clock.pending).toBe(0);
  });

  test("needs a clock with timers: without one nothing is closed", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: systemClock, agents: [payer] });
    const { result } = runtime.run(payer, "");
    await until(() => calls.length === 1);
    await expect(runtime.close({ graceMs: 1 })).rejects.toMatchObject({ field: "clock.setTimer" });
    await runtime.run(
      agent("other", async () => done("still open")),
      "",
    ).result;
    calls[0]?.resolve("paid");
    expect((await result).status).toBe("completed");
  });

  test("does not repeat a call that fails meanwhile: the resumed run does", async () => {
    const answers: PromiseWithResolvers<string>[] = [];
    const model = scriptedModel(() => {
      const each = Promise.withResolvers<string>();
      answers.push(each);
      return each.promise;
    });
    const writer = agent("writer", async (ctx) => {
      for (let n = 0; n < 3; n++) {
        try {
          await ctx.llm(model, ask("write"));
          return done("written");
        } catch {}
      }
      return done("never");
    });
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const before = new Runtime({ journal, clock, agents: [writer] });
    const { result } = before.run(writer, "", { runId: "r" });
    await until(() => answers.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    answers[0]?.reject(new Error("no"));
    await clock.advance(2_000);
    await closing;
    expect((await result).status).toBe("suspended");
    const resumed = new Runtime({ journal, clock, agents: [writer] }).resume("r");
    await until(() => answers.length === 2);
    answers[1]?.resolve("yes");
    expect(await resumed.result).toMatchObject({ status: "completed", output: "written", inDoubt: [] });
  });

  test("lasts until what a call came to is written, however slow the journal is", async () => {
    const { journal, hold, answer } = heldJournal();
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const clock = virtualClock();
    const before = new Runtime({ journal, clock, agents: [payer] });
    const { result } = before.run(payer, "", { runId: "r" });
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000 });
    hold();
    calls[0]?.resolve("paid");
    await clock.advance(10_000);
    expect(await within(closing)).toBe("pending");
    answer();
    await closing;
    expect(await result).toMatchObject({ status: "completed", output: "paid" });
  });

  test("is over when a call fails whose beginning could not be written", async () => {
    const { journal, hold, fail } = heldJournal();
    const { tool, calls } = slow("pay");
    const ready = Promise.withResolvers<void>();
    const payer = agent("payer", async (ctx) => {
      await ready.promise;
      return done(String((await call(ctx, tool)).content));
    });
    const clock = virtualClock();
    const before = new Runtime({ journal, clock, agents: [payer] });
    const { result } = before.run(payer, "", { runId: "r" });
    await turns();
    hold();
    ready.resolve();
    await turns();
    const closing = before.close({ graceMs: 20_000 });
    fail();
    expect(await within(closing)).toBeUndefined();
    await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    expect([calls.length, clock.pending]).toEqual([0, 0]);
  });

  test("is over when a call ends with an answer that is none", async () => {
    const asked = Promise.withResolvers<void>();
    const mute: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: () => asked.promise };
    const model = scriptedModel(["never said"]);
    const writer = agent("writer", async (ctx) => {
      await ctx.llm(model, ask("write")).catch(() => undefined);
      await ctx.llm(model, ask("write"));
      return done("never");
    });
    const clock = virtualClock();
    const pipelines = { chat: mute };
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [writer], pipelines });
    const { result } = before.run(writer, "");
    await turns();
    const closing = before.close({ graceMs: 20_000 });
    asked.resolve();
    await turns();
    await clock.advance(1_000);
    expect(await within(closing)).toBeUndefined();
    expect((await result).status).toBe("suspended");
  });

  test("lets no call begin that was only being estimated", async () => {
    const { tool, calls } = slow("pay");
    const estimated = Promise.withResolvers<void>();
    const meter: Meter = {
      async estimate() {
        await estimated.promise;
        return { inputTokens: 1, maxOutputTokens: 1, price: { usd: 0 } };
      },
      price: () => ({ usd: 0 }),
    };
    const model = scriptedModel(["never said"]);
    const writer = agent("writer", async (ctx) =>
      done(String((await ctx.llm(model, ask("?"))).message.content)),
    );
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(writer, { input: "" });
      await call(ctx, tool);
      return done(String((await call(ctx, tool)).content));
    });
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const ledger = () => new FakeLedger();
    const before = new Runtime({ journal, clock, agents: [lead, writer], meter, ledger });
    const { result } = before.run(lead, "", { runId: "r" });
    await until(() => calls.length === 1);
    await turns();
    const closing = before.close({ graceMs: 20_000 });
    estimated.resolve();
    await turns();
    expect(model.calls).toEqual([]);
    calls[0]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
  });

  test("tells an agent whose call did not begin that its run is suspended", async () => {
    const [{ tool, calls }, other] = [slow("pay"), slow("other")];
    const errors: unknown[] = [];
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool);
      await call(ctx, other.tool).catch((error: unknown) => errors.push(error));
      return done("caught");
    });
    const before = new Runtime({ journal: new MemoryJournal(), agents: [payer] });
    const { result } = before.run(payer, "");
    await until(() => calls.length === 1);
    const closing = before.close({ graceMs: 20_000, reason: "a deployment" });
    calls[0]?.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
    expect(errors).toMatchObject([{ code: "SUSPENDED", message: "suspended: a deployment" }]);
  });

  test("is as long as the last call of close says", async () => {
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => done(String((await call(ctx, tool)).content)));
    const clock = virtualClock();
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [payer] });
    const { result } = before.run(payer, "");
    await until(() => calls.length === 1);
    const closing = [before.close({ graceMs: 1_000 }), before.close({ graceMs: 20_000 })];
    await clock.advance(10_000);
    calls[0]?.resolve("paid");
    await Promise.all(closing);
    expect((await result).status).toBe("completed");
    expect(clock.pending).toBe(0);
  });

  test("is over when a layer around a tool fails", async () => {
    const asked = Promise.withResolvers<void>();
    const broken: Pipeline<FunctionContext> = { isNoop: false, admit() {}, run: () => asked.promise };
    const { tool, calls } = slow("pay");
    const payer = agent("payer", async (ctx) => {
      await call(ctx, tool).catch(() => undefined);
      return done(String((await call(ctx, tool)).content));
    });
    const clock = virtualClock();
    const pipelines = { function: broken };
    const before = new Runtime({ journal: new MemoryJournal(), clock, agents: [payer], pipelines });
    const { result } = before.run(payer, "");
    await turns();
    const closing = before.close({ graceMs: 20_000 });
    asked.reject(new MiddlewareError({ layer: "function", problem: "it broke" }));
    await turns();
    await clock.advance(1_000);
    expect(await within(closing)).toBeUndefined();
    expect([(await result).status, calls.length]).toEqual(["suspended", 0]);
  });
});
