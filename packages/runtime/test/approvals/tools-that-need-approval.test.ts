import { describe, expect, test } from "vitest";
import { defineTool, HookEvent, RunId, textOf, type Tool } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, cut, done, within } from "../support/helpers.ts";
import * as z from "zod";
import { bareContext } from "@ravi/kernel/loop";

test.each(["tool", "batch"] as const)(
  "R24: what was approved before a crash is approved with its arguments, and with no others (ctx.%s)",
  async (way) => {
    const paid: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      needsApproval: true,
      execute: (args) => void paid.push(args),
    });
    let usd = 10;
    const clerk = agent("clerk", async (ctx) => {
      const call = { id: "c", name: "pay", arguments: JSON.stringify({ usd }) };
      if (way === "tool") return done(textOf(await ctx.tool(call, pay)));
      const [outcome] = await ctx.batch([{ kind: "tool", call, tool: pay }]);
      return done(outcome.status);
    });
    const name = `approval:r:${way === "tool" ? "tool:pay#1" : "tool:0:0"}`;
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, validator: () => [] });
    await first.deliver("r", name, true);
    await first.run(clerk, "", { runId: "r" }).result;
    expect(paid).toEqual([{ usd: 10 }]);

    const records = journal.load(RunId("r"));
    const answered = records.findIndex(({ key }) => key.startsWith("gate:"));
    const resumed = async () => {
      const crashed = cut("r", records.slice(0, answered + 1));
      return new Runtime({ journal: crashed, validator: () => [], agents: [clerk] }).resume("r").result;
    };
    expect(await resumed()).toMatchObject({ status: "completed" });
    expect(paid).toEqual([{ usd: 10 }, { usd: 10 }]);
    usd = 1_000;
    expect(await resumed()).toMatchObject({ status: "suspended", error: { code: "NON_DETERMINISM" } });
    expect(paid).toHaveLength(2);
  },
);

const CALL = { id: "c", name: "pay", arguments: "{}" };

function payment(more: Partial<Tool> = {}) {
  const paid = { times: 0 };
  const tool: Tool = {
    name: "pay",
    description: "",
    input: z.object({}),
    execute: () => {
      paid.times++;
      return "paid";
    },
    ...more,
  };
  return { paid, tool };
}

describe("R24: a tool that needs approval", () => {
  test("R22: hooks hear which call it is about", async () => {
    const { tool } = payment({ needsApproval: true });
    const runtime = new Runtime({
      hooks: {
        has: (event) => event === HookEvent.APPROVAL_REQUESTED,
        dispatch(_, payload) {
          told.push(payload);
          void runtime.deliver("r", "approval:r:tool:pay#1", true, { mustWait: true });
        },
        drain() {},
      },
    });
    const told: object[] = [];
    const lead = agent("lead", async (ctx) => done(String((await ctx.tool(CALL, tool)).content)));
    expect(await runtime.run(lead, "", { runId: "r" }).result).toMatchObject({ output: "paid" });
    expect(told).toMatchObject([{ agentName: "lead", name: "approval:r:tool:pay#1", callId: CALL.id }]);
  });

  test.each([true, "yes", 1, {}, () => true])(
    "R24: is not called unasked where it says %s",
    async (needsApproval) => {
      const { paid, tool } = payment({ needsApproval: needsApproval as boolean });
      const lead = agent("lead", async (ctx) => done(String((await ctx.tool(CALL, tool)).content)));
      const runtime = new Runtime();
      const run = runtime.run(lead, "");
      expect(await within(run.result)).toBe("pending");
      expect(paid.times).toBe(0);
      run.cancel("enough");
      expect(await run.result).toMatchObject({ status: "cancelled" });
    },
  );

  test("R24: is refused where nobody can be asked", async () => {
    const { paid, tool } = payment({ needsApproval: true });
    expect(await bareContext().tool(CALL, tool)).toEqual({
      content:
        "error: pay needs approval, and nobody can be asked for it in a bare context, which is a run without a Runtime",
      isError: true,
    });
    expect(paid.times).toBe(0);
  });
});
