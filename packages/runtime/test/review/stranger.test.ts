import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool, type LLMClient, type Tool } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { agent, ask, done, turns, within } from "./helpers.ts";

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

describe("R23: a tool's own time, without rules", () => {
  test("R23: what takes longer is told so, and aborted", async () => {
    const clock = virtualClock();
    let aborted = false;
    const { tool } = payment({
      timeoutS: 1,
      execute: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => (aborted = true));
        }),
    });
    const made = bareContext({ clock }).tool(CALL, tool);
    await turns();
    await clock.advance(1_001);
    expect(await made).toEqual({ content: "error: pay took longer than 1 s", isError: true });
    expect(aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("R23: without timers it is told at its end", async () => {
    let now = 0;
    const { tool } = payment({ timeoutS: 1, execute: async () => ((now = 1_500), "late") });
    expect(await bareContext({ clock: { now: () => now } }).tool(CALL, tool)).toMatchObject({
      isError: true,
    });
  });
});

describe("T11: an operation that nobody awaits", () => {
  const OPERATIONS = [
    ["a model call", (ctx) => ctx.llm(slowModel(), ask("x"))],
    ["a wait", (ctx) => ctx.waitFor("never")],
    ["a sleep", (ctx) => ctx.sleepUntil(Date.now() + 60_000)],
  ] as const satisfies readonly (readonly [
    string,
    (ctx: Parameters<Parameters<typeof agent>[1]>[0]) => Promise<unknown>,
  ])[];

  test.each(OPERATIONS)(
    "T11: %s does not end the process, during the run and after it",
    async (_, operation) => {
      const unhandled: unknown[] = [];
      const hear = (error: unknown): void => void unhandled.push(error);
      process.on("unhandledRejection", hear);
      try {
        let late: (() => void) | undefined;
        const lead = agent("lead", async (ctx) => {
          void operation(ctx);
          late = () => void operation(ctx);
          return done("o");
        });
        expect(await new Runtime().run(lead, "").result).toMatchObject({ status: "completed", output: "o" });
        late?.();
        await turns(50);
        expect(unhandled).toEqual([]);
      } finally {
        process.off("unhandledRejection", hear);
      }
    },
  );
});

function rejecting(reason: unknown): Promise<never> {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- that is what is tested
  return Promise.reject(reason);
}

function slowModel(): LLMClient {
  return {
    id: "slow",
    info: { provider: "x", model: "slow" },
    generate: (_, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  };
}

describe("T11: what is of the wrong kind", () => {
  test.each([new AbortController(), 5, null, {}])("T11: a signal that is %s is refused by name", (signal) => {
    const lead = agent("lead", async () => done(""));
    const options = { signal: signal as AbortSignal };
    expect(() => new Runtime().run(lead, "", options)).toThrow(/signal is .*; expected an AbortSignal/);
    expect(() => bareContext(options)).toThrow(/signal is .*; expected an AbortSignal/);
  });

  test.each([undefined, null, "", 5])("T11: to wait for %s is refused", async (name) => {
    const lead = agent("lead", async (ctx) => done(String(await ctx.waitFor(name as string))));
    expect(await within(new Runtime().run(lead, "").result)).toMatchObject({
      status: "failed",
      error: { code: "INVALID_VALUE", field: "waitFor" },
    });
  });

  test("T11: a reason to end that nobody knows is the provider's failure", async () => {
    const model = scriptedModel(["half an ans"]);
    const odd: LLMClient = {
      ...model,
      generate: async (request, options) => ({
        ...(await model.generate(request, options)),
        finishReason: "max_tokens" as "length",
      }),
    };
    const lead = agent("lead", async (ctx) => done(String((await ctx.llm(odd, ask("x"))).message.content)));
    expect(await new Runtime().run(lead, "").result).toMatchObject({
      status: "failed",
      error: {
        code: "PROVIDER_ERROR",
        kind: "FORMAT_ERROR",
        message: expect.stringContaining('finishReason is "max_tokens"'),
      },
    });
  });

  test.each([
    [{ needsApproval: "yes" }, "needsApproval"],
    [{ idempotent: "no" }, "idempotent"],
    [{ description: 5 }, "description"],
    [{ execute: 5 }, "execute"],
  ])("T11: a tool with %o is refused by name", (more, field) => {
    const { tool } = payment();
    expect(() => Reflect.apply(defineTool, undefined, [{ ...tool, ...more }])).toThrow(`tool pay: ${field}`);
  });

  test.each([
    [new Error("no such vendor"), "error: no such vendor", true],
    [new Map([["price", 5]]), /a Map, which JSON cannot represent/, true],
    [new Set([1]), /a Set, which JSON cannot represent/, true],
    [Number.NaN, "NaN", false],
    [{}, "{}", false],
    [new Date(0), '"1970-01-01T00:00:00.000Z"', false],
  ])("T11: a tool that returns %s", async (value, content, isError) => {
    const { tool } = payment({ execute: () => value });
    const result = await bareContext().tool(CALL, tool);
    expect(result.isError).toBe(isError);
    expect(result.content).toEqual(typeof content === "string" ? content : expect.stringMatching(content));
  });

  test("T11: what a tool throws is told, also where it is no error", async () => {
    const thrown: unknown = { a: 1 };
    const { tool } = payment({ execute: () => rejecting(thrown) });
    expect((await bareContext().tool(CALL, tool)).content).toBe('error: {"a":1}');
  });
});

describe("R17: a limit that nothing keeps", () => {
  const lead = agent("lead", async () => done(""));

  test.each([
    [
      { executionBudget: { maxTurns: 1 } },
      /run\.executionBudget is .*; expected no limits but deadlineS, .* use a runtime with a ledger/,
    ],
    [{ executionBudget: { maxCostUsd: 1 } }, /a runtime with a ledger/],
    [
      { spawnBudget: { maxAgents: 2 } },
      /spawnBudget is .*; expected no limits but maxDepth, .* use a runtime with a headcount/,
    ],
    [{ spawnBudget: { maxTotal: 2 } }, /a runtime with a headcount/],
  ])("R17: %o is refused", (options, why) => {
    expect(() => new Runtime().run(lead, "", options)).toThrow(why);
  });

  test("R17: an agent's own is refused too, and so is a hire's", async () => {
    const own = { ...lead, defaults: { executionBudget: { maxTurns: 0 } } };
    expect(() => new Runtime().run(own, "")).toThrow(/a runtime with a ledger/);
    const boss = agent("boss", async (ctx) => {
      await ctx.hire({ agent: lead, input: "", executionBudget: { maxTurns: 1 } });
      return done("");
    });
    expect(await new Runtime().run(boss, "").result).toMatchObject({
      status: "failed",
      error: { code: "INVALID_VALUE", field: "hire.executionBudget" },
    });
  });

  test("R17: what is kept without them is not", async () => {
    const options = { executionBudget: { deadlineS: 5, maxTurns: null }, spawnBudget: { maxDepth: 1 } };
    expect(await new Runtime().run(lead, "", options).result).toMatchObject({ status: "completed" });
  });
});

describe("T11: a port that cannot serve", () => {
  test.each([
    "journal",
    "blobs",
    "headcount",
    "ledger",
    "meter",
    "limiter",
    "hooks",
    "history",
    "compaction",
    "memory",
    "permissions",
    "telemetry",
    "auditLog",
    "restart",
    "validator",
    "clock",
    "ids",
    "logger",
  ])("T11: %s is refused by name", (name) => {
    for (const value of [{}, null, 5]) {
      const make = (): Runtime => Reflect.construct(Runtime, [{ [name]: value }]);
      expect(make).toThrow(new RegExp(`runtime options\\.${name} is .*; expected`));
    }
  });

  test("T11: a layer that is no pipeline is refused by its level", () => {
    const make = (): Runtime => Reflect.construct(Runtime, [{ pipelines: { chat: {} } }]);
    expect(make).toThrow(/runtime options\.pipelines\.chat is .*; expected an object with the methods run/);
  });
});
