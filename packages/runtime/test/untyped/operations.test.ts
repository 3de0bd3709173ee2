import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool, type LLMClient, type Tool } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { agent, ask, done, turns, within } from "../support/helpers.ts";

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
