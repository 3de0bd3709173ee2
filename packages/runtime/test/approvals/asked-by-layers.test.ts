import {
  type AgentRunContext,
  defineTool,
  type FunctionContext,
  type JournalEntry,
  type Pipeline,
  type RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agent, closed, done, turns, until, within } from "../support/helpers.ts";

const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "ok" });

const call = { id: "c", name: "t", arguments: "{}" };

/** Layers whose admits run one after the other, as those of a pipeline do. */
function gated(...names: readonly string[]): Pipeline<FunctionContext> {
  return {
    isNoop: false,
    async admit(_, gate) {
      for (const name of names) await gate.require(name, null);
    },
    run: async (_, core) => core(),
  };
}

describe("R21: what layers ask for before a call", () => {
  it.each([
    ["another after one that was asked for twice", ["a", "a", "b"], ["a", "b"]],
    ["the same after another", ["a", "b", "a", "c"], ["a", "b", "c"]],
  ])("%s is asked for and answered", async (_, names, expected) => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const asked: string[] = [];
    const caller = {
      ...agent("caller", async (ctx) => {
        const [outcome] = await ctx.batch([{ kind: "tool", call, tool }]);
        return done(outcome.status);
      }),
      pipelines: { function: gated(...names) },
    };
    const run = runtime.run(caller, "", {
      runId: "r",
      onEvent: ({ event }) => {
        if (event.type !== "progress") return;
        const { name } = event.data as { name: string };
        asked.push(name);
        void runtime.deliver("r", name, true);
      },
    });
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "completed" });
    expect(asked).toEqual(expected);
  });

  it("R24: an answer to one call is not taken for the next that is asked about by the same name, also after a restart", async () => {
    const [journal, clock] = [new MemoryJournal(), virtualClock()];
    const deployed: string[] = [];
    const input = z.object({ to: z.string() });
    const deploy = defineTool({
      name: "deploy",
      description: "",
      input,
      execute: ({ to }) => deployed.push(to),
    });
    const caller = {
      ...agent("caller", async (ctx) => {
        for (const to of ["test", "production"])
          await ctx.tool({ id: to, name: "deploy", arguments: JSON.stringify({ to }) }, deploy);
        return done("deployed");
      }),
      pipelines: { function: gated("approval:deploy") },
    };
    const first = new Runtime({ journal, clock });
    const run = first.run(caller, "", { runId: "r" });
    await until(() => run.status === "suspended");
    await first.deliver("r", "approval:deploy", true);
    await until(() => deployed.length === 1 && run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [caller] });
    const { result } = second.resume("r");
    expect(await within(result)).toBe("pending");
    expect(deployed).toEqual(["test"]);
    await second.deliver("r", "approval:deploy", true);
    expect(await within(result)).toMatchObject({ status: "completed" });
    expect(deployed).toEqual(["test", "production"]);
  });

  it("R11: a name alone is asked for with no question, and told as plain JSON", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const asking: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: async (_, gate) => void (await gate.require("approval:deploy")),
      run: async (_, core) => core(),
    };
    const caller = {
      ...agent("caller", async (ctx) => done(String((await ctx.tool(call, tool)).content))),
      pipelines: { function: asking },
    };
    const told: unknown[] = [];
    const run = runtime.run(caller, "", {
      runId: "r",
      onEvent: ({ event }) => {
        if (event.type === "progress") told.push(event.data);
      },
    });
    await until(() => run.status === "suspended");
    await runtime.deliver("r", "approval:deploy", true);
    expect(await within(run.result)).toMatchObject({ output: "ok" });
    expect(told).toStrictEqual([{ name: "approval:deploy", question: null }]);
  });

  it("two at once, and one more while the first are waited for", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const { promise: later, resolve: goOn } = Promise.withResolvers<void>();
    const asking: Pipeline<FunctionContext> = {
      isNoop: false,
      async admit(context, gate) {
        const first = gate.require("first", null);
        await later;
        await Promise.all([first, gate.require("second", null)]);
        context.result = { content: "answered", isError: false };
      },
      run: async (_, core) => core(),
    };
    const caller = {
      ...agent("caller", async (ctx) => done(String((await ctx.tool(call, tool)).content))),
      pipelines: { function: asking },
    };
    const run = runtime.run(caller, "", { runId: "r" });
    await until(() => run.status === "suspended");
    goOn();
    await turns();
    await runtime.deliver("r", "first", 1);
    await turns();
    await runtime.deliver("r", "second", 2);
    expect(await within(run.result)).toMatchObject({ output: "answered" });
  });
});

it("R24: what a layer has refused stays refused when the process dies before the result is on record", async () => {
  class Dying extends MemoryJournal {
    appends = 0;
    override append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): void {
      if (++this.appends === 2) throw new Error("killed");
      super.append(runId, epoch, entries);
    }
  }
  const guard: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit(context) {
      context.result = {
        status: "completed",
        output: "no",
        structured: { why: "evil" },
        stopReason: "refused",
      };
    },
    run: async (_, core) => core(),
  };
  let ran = 0;
  const worker = {
    ...agent("worker", async () => {
      ran++;
      return done("did it");
    }),
    pipelines: { agent: guard },
  };
  const journal = new Dying();
  await expect(new Runtime({ journal }).run(worker, "x", { runId: "r" }).result).rejects.toThrow("killed");
  const resumed = await new Runtime({ journal, agents: [worker] }).resume("r").result;
  expect(resumed).toMatchObject({
    status: "partial",
    stopReason: "refused",
    output: "no",
    structured: { why: "evil" },
  });
  expect(ran).toBe(0);
  const { agents } = await new Runtime({}).run(worker, "x").result;
  expect(agents).toEqual([]);
  expect(resumed.agents).toEqual(agents);
});
