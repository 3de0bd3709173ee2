import { HookManager } from "@ravi/hooks";
import { defineTool, type FunctionContext, type ToolContext } from "@ravi/kernel";
import { MiddlewarePipeline } from "@ravi/middleware";
import { FairPool } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agent, ask, call, codeOf, done, meter, model, tracked } from "./support/priced.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("T4: a tool that goes on after its agent's end pays for nothing more", () => {
  const options = { runId: "r", executionBudget: { maxCostUsd: 1 } };

  it("from the limiter's line", async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const loose = model("loose");
    let later: Promise<unknown> | undefined;
    const fire = defineTool({
      name: "fire",
      description: "",
      input: z.object({}),
      execute(_, { llm }) {
        later = llm(loose, ask("loose")).catch(codeOf);
        return "x";
      },
    });
    const helper = agent("helper", async (ctx) => {
      await ctx.tool(call("fire"), fire);
      return done();
    });
    const lead = agent("lead", async (ctx) => {
      const [own] = await Promise.all([
        ctx.batch([
          { kind: "llm", model: model("own", () => held), request: ask("own") },
          { kind: "hire", agent: helper, input: "" },
        ]),
        tick().then(tick).then(letGo),
      ]);
      return done(own.map(({ status }) => status).join(" "));
    });
    const { ledger, tracker } = tracked();
    const limiter = new FairPool({ concurrency: 1 });
    const runtime = new Runtime({ journal: new MemoryJournal(), meter, ledger, limiter });
    const result = await runtime.run(lead, "", options).result;
    expect(await later).toBe("CANCELLED");
    expect(result).toMatchObject({ output: "completed completed", cost: 0.1, inDoubt: [] });
    expect([loose.sent, tracker().used.cost, tracker().open]).toEqual([0, 0.1, 0]);
  });

  it.each(["with a journal", "without one"])("after the run is over, %s", async (how) => {
    const loose = model("loose");
    let kept: ToolContext | undefined;
    const keep = defineTool({
      name: "keep",
      description: "",
      input: z.object({}),
      execute: (_, context) => void (kept = context),
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.tool(call("keep"), keep);
      return done();
    });
    const { ledger, tracker } = tracked();
    const journal = how === "without one" ? undefined : new MemoryJournal();
    const runtime = new Runtime({ journal, meter, ledger });
    await runtime.run(lead, "", options).result;
    await runtime.close();
    await expect(kept?.llm(loose, ask("x"))).rejects.toMatchObject({ code: "CANCELLED" });
    expect([loose.sent, tracker().used.cost, tracker().open]).toEqual([0, 0, 0]);
  });
});

it.each(["has ended", "was cancelled"])(
  "R24: closing while a run %s leaves nobody without an end",
  async (how) => {
    const { promise: isUp, resolve: stop } = Promise.withResolvers<void>();
    // It does not hear that it is to stop.
    const helper = agent("helper", async () => {
      await isUp;
      return done();
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(helper, { input: "" });
      if (how === "was cancelled") await ctx.waitFor("x");
      return done("done");
    });
    const told: string[] = [];
    const hooks = new HookManager();
    hooks.on("run_start", ({ agentId }) => void told.push(`start ${agentId}`));
    hooks.on("run_end", ({ agentId }) => void told.push(`end ${agentId}`));
    const runtime = new Runtime({ journal: new MemoryJournal(), hooks });
    const run = runtime.run(lead, "", { runId: "r" });
    await expect.poll(() => told.length).toBe(2);
    if (how === "was cancelled") run.cancel("enough");
    await tick();
    const closing = runtime.close();
    stop();
    await closing;
    const { status, agents } = await run.result;
    expect(status).toBe(how === "has ended" ? "completed" : "cancelled");
    expect(agents?.map(({ status: each }) => each)).toEqual([status, "cancelled"]);
    expect(told).toEqual(["start lead", "start helper/1", "end helper/1", "end lead"]);
  },
);

it.each(["hires somebody", "has a call in flight"])(
  "R24: closing while a crashed root that %s waits for its restart does not wait with it",
  async (how) => {
    const clock = virtualClock();
    const helper = agent("helper", async () => done());
    const lead = agent("lead", async (ctx) => {
      if (how === "hires somebody") await ctx.hire({ agent: helper, input: "" });
      else
        ctx
          .llm(
            model("m", () => new Promise(() => {})),
            ask("x"),
          )
          .catch(() => {});
      throw new Error("boom");
    });
    const restart = { shouldRetry: () => true, delayMs: () => 60_000, reset() {} };
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, restart });
    const run = runtime.run(lead, "", { runId: "r" });
    await clock.advance(1_000);
    const closing = runtime.close();
    await clock.advance(1_000);
    await closing;
    expect((await run.result).status).toBe("suspended");
    expect(clock.now()).toBe(2_000);
  },
);

it("a layer that gives up on a tool does not take its time limit with it", async () => {
  const clock = virtualClock();
  const controller = new AbortController();
  const deaf = defineTool({
    name: "deaf",
    description: "",
    input: z.object({}),
    timeoutS: 1,
    execute: () => {
      setImmediate(() => controller.abort());
      return new Promise<string>(() => {});
    },
  });
  const lead = agent("lead", async (ctx) =>
    done(await ctx.tool(call("deaf"), deaf).then(({ content }) => String(content), codeOf)),
  );
  const layers = new MiddlewarePipeline<FunctionContext>(
    [
      async (context, next) => {
        context.signal = controller.signal;
        await next();
      },
    ],
    { level: "function" },
  );
  const run = new Runtime({ clock, pipelines: { function: layers } }).run(lead, "");
  await clock.advance(2_000);
  expect((await run.result).status).toBe("completed");
});
