import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, AgentId, type AgentRunContext, defineTool, type Pipeline } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, done, turns, until, within } from "./helpers.ts";

describe("review: batches", () => {
  test("T4: a batch of hires in a bare runtime that is cancelled rejects nowhere unheard", async () => {
    const clock = virtualClock();
    const unheard: unknown[] = [];
    const hear = (error: unknown): void => void unheard.push(error);
    process.on("unhandledRejection", hear);
    try {
      const idle = agent("idle", async (ctx) => done(String(await ctx.waitFor("never"))));
      let rejected: unknown;
      const lead = agent("lead", async (ctx) => {
        try {
          await ctx.batch([
            { kind: "hire", agent: idle, input: "1" },
            { kind: "hire", agent: idle, input: "2" },
          ]);
        } catch (error) {
          rejected = error;
        }
        return done("");
      });
      const run = new Runtime({ clock }).run(lead, "");
      await until(() => run.status === "suspended");
      run.cancel("enough");
      await clock.advance(1_000);
      expect((await run.result).status).toBe("cancelled");
      await turns();
      expect({ unheard, rejected }).toEqual({ unheard: [], rejected: undefined });
    } finally {
      process.off("unhandledRejection", hear);
    }
  });

  test("T4: a leaf of a batch is not begun after the run was cancelled while another waited for its approval", async () => {
    const clock = virtualClock();
    let executed = 0;
    const asks = defineTool({
      name: "asks",
      description: "",
      input: z.object({}),
      needsApproval: true,
      execute: () => "",
    });
    const plain = defineTool({
      name: "plain",
      description: "",
      input: z.object({}),
      execute: () => ++executed,
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.batch([
        { kind: "tool", call: { id: "a", name: "asks", arguments: "{}" }, tool: asks },
        { kind: "tool", call: { id: "b", name: "plain", arguments: "{}" }, tool: plain },
      ]);
      return done("");
    });
    const run = new Runtime({ journal: new MemoryJournal(), clock }).run(lead, "");
    await until(() => run.status === "suspended");
    run.cancel("no");
    await clock.advance(1_000);
    expect((await run.result).status).toBe("cancelled");
    expect(executed).toBe(0);
  });

  test("R24: the waits of a batch are joined: two approvals are asked for at once", async () => {
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const names: string[] = [];
    const hooks = {
      has: (event: string) => event === "approval_requested",
      dispatch: (_: string, payload: { readonly name?: string }) => void names.push(String(payload.name)),
      drain: () => {},
    };
    const asks = defineTool({
      name: "asks",
      description: "",
      input: z.object({}),
      needsApproval: true,
      execute: () => "",
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.batch([
        { kind: "tool", call: { id: "a", name: "asks", arguments: "{}" }, tool: asks },
        { kind: "tool", call: { id: "b", name: "asks", arguments: "{}" }, tool: asks },
      ]);
      return done("");
    });
    const run = new Runtime({ journal, clock, hooks: hooks as never }).run(lead, "", { runId: "r" });
    await until(() => run.status === "suspended");
    await turns();
    expect(names).toEqual(["approval:r:tool:0:0", "approval:r:tool:0:1"]);
    run.cancel("done");
    await clock.advance(1_000);
    await within(run.result);
  });

  test("R23: hires of a batch are numbered in the order asked, whatever their layers wait for", async () => {
    const clock = virtualClock();
    const slowFirst: Pipeline<AgentRunContext> = {
      isNoop: false,
      async admit(context) {
        if (context.input === "first") await turns(3);
      },
      run: async (_, core) => core(),
    };
    const worker: Agent = {
      id: AgentId("worker"),
      pipelines: { agent: slowFirst },
      run: async (ctx, inbox) => done(`${inbox.input} is ${ctx.agentId}`),
    };
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch([
        { kind: "hire", agent: worker, input: "first" },
        { kind: "hire", agent: worker, input: "second" },
      ]);
      return done(outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : "")).join(", "));
    });
    const result = await new Runtime({ journal: new MemoryJournal(), clock }).run(lead, "").result;
    expect(result.output).toBe("first is worker/1, second is worker/2");
  });
});
