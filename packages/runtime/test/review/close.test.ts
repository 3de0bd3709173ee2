import { describe, expect, test } from "vitest";
import type { LLMClient, ModelResponse } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done, FakeHeadcount, turns, until, within } from "./helpers.ts";

describe("review: closing", () => {
  const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("never"))));

  test("T4: a runtime that is closed right after run() does not wait for it for ever", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    const run = runtime.run(waits, "");
    const closing = runtime.close();
    await clock.advance(1_000);
    expect(await within(closing)).toBeUndefined();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
  });

  test("T4: a runtime that is closed while a crashed run waits for its next go suspends it", async () => {
    const clock = virtualClock();
    let goes = 0;
    const shaky = agent("shaky", async (ctx) => {
      if (goes++ === 0) throw new TypeError("oops");
      return done(String(await ctx.waitFor("never")));
    });
    const restart = { shouldRetry: () => true, delayMs: () => 1_000, reset: () => {} };
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, restart });
    const run = runtime.run(shaky, "");
    await until(() => goes === 1);
    await turns();
    const closing = runtime.close();
    await clock.advance(5_000);
    expect(await within(closing)).toBeUndefined();
    expect(await within(run.result)).toMatchObject({ status: "suspended" });
  });

  test("T4: a run whose journal takes nothing more is not started again: every go would end at its first entry", async () => {
    const journal = new MemoryJournal();
    const fault = new Error("the disk is full");
    let goes = 0;
    const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
    const lead = agent("lead", async (ctx) => {
      goes++;
      journal.append = () => {
        throw fault;
      };
      await ctx.now();
      return done("");
    });
    const run = new Runtime({ journal, restart }).run(lead, "");
    await expect(within(run.result)).rejects.toBe(fault);
    expect(goes).toBe(1);
  });

  test("T4: closing leaves no model call under way: it is waited for, or aborted", async () => {
    const clock = virtualClock();
    let aborted = false;
    let asked = false;
    const slow: LLMClient = {
      id: "slow",
      info: { provider: "x", model: "slow" },
      generate: (_, options) =>
        new Promise<ModelResponse>((_resolve, reject) => {
          asked = true;
          options?.signal?.addEventListener("abort", () => {
            aborted = true;
            reject(options.signal?.reason as Error);
          });
        }),
    };
    const caller = agent("caller", async (ctx) => {
      await ctx.llm(slow, ask("x"));
      return done("");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock });
    runtime.run(caller, "");
    await until(() => asked);
    const closing = runtime.close();
    await clock.advance(100);
    await closing;
    expect(aborted).toBe(true);
  });

  test("R15: one who is parked and gets a seat while the run is being suspended pays for nothing more", async () => {
    const clock = virtualClock();
    const headcount = new FakeHeadcount();
    let paid = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: async () => {
        paid++;
        return { message: { role: "assistant", content: "x" }, finishReason: "stop" };
      },
    };
    const child = agent("child", async (ctx) => {
      await ctx.llm(model, ask("1"));
      headcount.pause(ctx.agentId);
      await ctx.llm(model, ask("2"));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "" });
      return done("");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, headcount: () => headcount });
    runtime.run(lead, "");
    await until(() => headcount.paused.size === 1);
    await turns();
    const closing = runtime.close();
    // As when a sister that is unwound gives her seat back.
    headcount.unpause("child/1");
    await clock.advance(100);
    await closing;
    expect(paid).toBe(1);
  });
});
