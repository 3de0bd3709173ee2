import { describe, expect, test } from "vitest";
import {
  defineTool,
  type FunctionContext,
  HookEvent,
  type Pipeline,
  RunId,
  textOf,
  type Tool,
} from "@ravi/kernel";
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

function fail(): never {
  throw new Error("no");
}

function asUsd(args: unknown): number {
  return z.object({ usd: z.number() }).parse(args).usd;
}

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

  test.each(["tool", "batch"] as const)(
    "R24: may say for which arguments, as its schema has read them (ctx.%s)",
    async (way) => {
      const paid: number[] = [];
      const pay = defineTool({
        name: "pay",
        description: "Pays.",
        input: z.object({ usd: z.number().default(5) }),
        needsApproval: ({ usd }) => usd > 100,
        execute: ({ usd }) => void paid.push(usd),
      });
      const clerk = agent("clerk", async (ctx) => {
        for (const args of ["{}", '{"usd":100}', '{"usd":101}', '{"usd":"1"}']) {
          const call = { id: "c", name: "pay", arguments: args };
          if (way === "tool") await ctx.tool(call, pay);
          else await ctx.batch([{ kind: "tool", call, tool: pay }]);
        }
        return done("");
      });
      const journal = new MemoryJournal();
      const run = new Runtime({ journal }).run(clerk, "", { runId: "r" });
      expect(await within(run.result)).toBe("pending");
      expect(paid).toEqual([5, 100]);
      const [waiting] = journal.list();
      const [wait] = waiting?.waitingFor ?? [];
      expect(wait).toMatchObject({ kind: "approval", question: { arguments: '{"usd":101}' } });
      await new Runtime({ journal }).deliver("r", wait?.name ?? "", true);
      expect(await run.result).toMatchObject({ status: "completed" });
      expect(paid).toEqual([5, 100, 101]);
    },
  );

  test.each<[string, () => unknown]>([
    ["throws", () => fail()],
    ["says nothing", () => undefined],
    ["says so later", async () => false],
    ["rejects", async () => fail()],
  ])("R24: is not called unasked if its function %s", async (_, needsApproval) => {
    const { paid, tool } = payment({ needsApproval: needsApproval as () => boolean });
    const lead = agent("lead", async (ctx) => done(String((await ctx.tool(CALL, tool)).content)));
    const run = new Runtime().run(lead, "");
    expect(await within(run.result)).toBe("pending");
    expect(paid.times).toBe(0);
    run.cancel("enough");
    await run.result;
  });

  test("R24: judges the arguments that the layers have left, and is asked as a method of its object", async () => {
    class Payment {
      readonly limit = 10;
      readonly paid: number[] = [];
      readonly name = "pay";
      readonly description = "";
      readonly input = z.object({ usd: z.number() });
      needsApproval({ usd }: { usd: number }): boolean {
        return usd > this.limit;
      }
      execute({ usd }: { usd: number }): void {
        this.paid.push(usd);
      }
    }
    const payments = new Payment();
    const raising: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: (context) => {
        context.arguments = { usd: 11 };
      },
      run: (_, core) => core(),
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.tool({ id: "c", name: "pay", arguments: '{"usd":1}' }, defineTool(payments));
      return done("");
    });
    const run = new Runtime({ pipelines: { function: raising } }).run(lead, "");
    expect(await within(run.result)).toBe("pending");
    run.cancel("enough");
    await run.result;
    expect(payments.paid).toEqual([]);
    expect(await new Runtime().run(lead, "").result).toMatchObject({ status: "completed" });
    expect(payments.paid).toEqual([1]);
  });

  test("R24: is called with what its function was asked about, though that changes what it is given", async () => {
    const paid: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ usd: z.array(z.number()), to: z.array(z.object({ name: z.string() })) }),
      needsApproval(args) {
        for (const each of args.to) each.name = "somebody else";
        return (args.usd.pop() ?? 0) > 100;
      },
      execute: (args) => void paid.push(args),
    });
    const args = { usd: [3, 1, 2], to: [{ name: "Ada" }] };
    const call = { ...CALL, arguments: JSON.stringify(args) };
    const lead = agent("lead", async (ctx) => done(String((await ctx.tool(call, pay)).isError)));
    expect(await new Runtime().run(lead, "").result).toMatchObject({ output: "false" });
    await bareContext().tool(call, pay);
    expect(paid).toEqual([args, args]);
  });

  test.each<[string, (context: FunctionContext) => void]>([
    ["with others", (context) => void (context.arguments = { usd: 101 })],
    ["that it has changed", (context) => void Object.assign(context.arguments ?? {}, { usd: 101 })],
  ])("R24: is not called unasked by a layer that goes on with arguments %s", async (_, change) => {
    const paid: number[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ usd: z.number() }),
      needsApproval: ({ usd }) => usd > 100,
      execute: ({ usd }) => void paid.push(usd),
    });
    const raising: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: () => {},
      run: (context, core) => {
        change(context);
        return core();
      },
    };
    const lead = agent("lead", async (ctx) => {
      const results = [];
      for (const usd of [1, 102])
        results.push(await ctx.tool({ ...CALL, arguments: JSON.stringify({ usd }) }, pay));
      return done(results.map(({ content }) => String(content)).join("; "));
    });
    const runtime = new Runtime({ pipelines: { function: raising } });
    const run = runtime.run(lead, "", { runId: "r" });
    // Of the second call a person knows that it is made.
    await runtime.deliver("r", "approval:r:tool:pay#2", true);
    const { output } = await run.result;
    expect(output).toContain("needs approval");
    expect(paid).toEqual([101]);
  });

  test("R24: in a bare context only the calls that need it are refused", async () => {
    const { paid, tool } = payment({
      input: z.object({ usd: z.number() }),
      needsApproval: (args) => asUsd(args) > 1,
    });
    const ctx = bareContext();
    const pay = (usd: number) => ctx.tool({ ...CALL, arguments: JSON.stringify({ usd }) }, tool);
    expect(await pay(1)).toMatchObject({ content: "paid" });
    expect(await pay(2)).toMatchObject({ isError: true });
    expect(paid.times).toBe(1);
  });

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
