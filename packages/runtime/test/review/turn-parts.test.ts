import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  type ChatMessage,
  defineTool,
  HookEvent,
  type Hooks,
  type Meter,
  type Pipeline,
  type RunId,
  type ToolLeaf,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import * as z from "zod";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { everything } from "../cost/everything.ts";
import { agent, ask, done } from "./helpers.ts";

// The parts of a turn, where they wait: what is usual is done at once, and takes another way.

function tool(name: string, execute: () => string = () => name) {
  return defineTool({ name, description: name, input: z.object({}), idempotent: true, execute });
}

function leaf(name: string): ToolLeaf {
  return { kind: "tool", call: { id: name, name, arguments: "{}" }, tool: tool(name) };
}

const run = "r" as RunId;

describe("a batch whose permissions take their time", () => {
  test("R23: begins its leaves in the order asked, each at its own place", async () => {
    const journal = new MemoryJournal();
    const asked: string[] = [];
    const permissions = {
      isNoop: false,
      check: async ({ target }: { readonly target: string }) => {
        asked.push(target);
        await Promise.resolve();
        return target === "b" ? ({ allow: false, reason: "no" } as const) : ({ allow: true } as const);
      },
    };
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch([leaf("a"), leaf("b"), leaf("c")]);
      return done(outcomes.map((one) => ("result" in one ? one.result?.content : one.status)).join());
    });
    const result = await new Runtime({ journal, permissions }).run(lead, "", { runId: run }).result;
    expect(result.output).toBe("a,error: b is not permitted: no,c");
    expect(asked).toEqual(["a", "b", "c"]);
    const keys = journal.load(run).map(({ key, phase }) => `${key} ${phase}`);
    expect(keys.filter((key) => key.startsWith("tool:"))).toEqual([
      "tool:0:0 begin",
      "tool:0:0 end",
      "tool:0:2 begin",
      "tool:0:2 end",
    ]);
  });
});

describe("a model call that is estimated", () => {
  const meterOf = (estimates: number[]): Meter => ({
    estimate: async () => {
      estimates.push(estimates.length + 1);
      return { inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.001 } };
    },
    price: () => ({ usd: 0.0005 }),
  });

  test("R18: is estimated anew for a second try, and not for the first", async () => {
    const estimates: number[] = [];
    const twice: Pipeline<ChatContext> = {
      isNoop: false,
      hasAdmits: false,
      admit() {},
      run: async (_, core) => {
        await core();
        await core();
      },
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(scriptedModel(["one", "two"]), ask("?"));
      return done("");
    });
    const options = {
      ...everything(new MemoryJournal()),
      meter: meterOf(estimates),
      pipelines: { chat: twice },
    };
    const { status, cost } = await new Runtime(options).run(lead, "").result;
    expect(estimates).toEqual([1, 2]);
    expect({ status, cost }).toEqual({ status: "completed", cost: 0.001 });
  });

  test("R24: is recorded with as many messages as it was asked with", async () => {
    const journal = new MemoryJournal();
    const lead = agent("lead", async (ctx) => {
      const messages: ChatMessage[] = [{ role: "user", content: "one" }];
      const asked = ctx.llm(scriptedModel(["one"]), { messages });
      messages.push({ role: "user", content: "two" });
      await asked;
      return done("");
    });
    await new Runtime({ ...everything(journal), meter: meterOf([]) }).run(lead, "", { runId: run }).result;
    const begin = journal.load(run).find(({ phase }) => phase === "begin");
    expect(begin?.body).toMatchObject({ messages: 1, reserve: { tokens: 20 } });
  });
});

test("R22: a call whose price nobody knows is told, and recorded, without one: not as free", async () => {
  const journal = new MemoryJournal();
  const told: unknown[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.LLM_END,
    dispatch: (_, payload) => void told.push("costUsd" in payload ? payload.costUsd : undefined),
    drain() {},
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(scriptedModel(["one"]), ask("?"));
    return done("");
  });
  const { cost } = await new Runtime({ journal, hooks }).run(lead, "", { runId: run }).result;
  const end = journal.load(run).find(({ phase }) => phase === "end");
  expect([cost, ...told, end?.body["costUsd"]]).toEqual([null, null, null]);
});

test("R21: the entry of an end says the time that was told of it", async () => {
  const journal = new MemoryJournal();
  let now = 0;
  const clock = { now: () => ++now };
  const told: number[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.LLM_END || event === HookEvent.TOOL_END,
    dispatch: (_, { at }) => void told.push(at),
    drain() {},
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(scriptedModel(["one"]), ask("?"));
    await ctx.batch([leaf("a")]);
    const refusing = { ...scriptedModel([]), generate: () => Promise.reject(new Error("no")) };
    await ctx.llm(refusing, ask("?")).catch(() => {});
    return done("");
  });
  await new Runtime({ journal, hooks, clock }).run(lead, "", { runId: run }).result;
  const ends = journal.load(run).filter(({ phase }) => phase === "end");
  expect(ends.map(({ at }) => at)).toEqual(told);
  expect(told).toHaveLength(3);
});
