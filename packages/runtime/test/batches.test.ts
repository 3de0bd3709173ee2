import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  type ChatContext,
  defineTool,
  type Outcome,
  type Pipeline,
  type RunContext,
  RunId,
  type Tool,
  type ToolLeaf,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { agent, ask, closed, done, FakeHeadcount, turns, until, within } from "./support/helpers.ts";

test("R24: approvals of a batch may be answered in any order, with a restart in between", async () => {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({ n: z.number() }),
    needsApproval: true,
    execute: ({ n }) => n,
  });
  const lead = agent("lead", async (ctx) => {
    const outcomes = await ctx.batch([
      { kind: "tool", call: { id: "a", name: "pay", arguments: '{"n":1}' }, tool: pay },
      { kind: "tool", call: { id: "b", name: "pay", arguments: '{"n":2}' }, tool: pay },
    ]);
    return done(
      outcomes.map((one) => ("result" in one ? String(one.result.content) : one.error.message)).join(" "),
    );
  });
  const first = new Runtime({ journal, clock });
  const run = first.run(lead, "", { runId: "o" });
  await until(() => run.status === "suspended");
  await first.deliver("o", "approval:o:tool:0:1", true);
  await clock.advance(1_000);
  await closed(first, clock);
  const second = new Runtime({ journal, clock, agents: [lead] });
  const resumed = second.resume("o");
  await second.deliver("o", "approval:o:tool:0:0", true);
  await clock.advance(1_000);
  expect(await within(resumed.result)).toMatchObject({ status: "completed", output: "1 2" });
});

const pays = (made: () => void): Tool =>
  defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    needsApproval: true,
    execute: () => made(),
  });
const order = { id: "a", name: "pay", arguments: "{}" };

/** A run of a helper that makes one call, after somebody was asked. */
function asking(runtime: Runtime, helper: Agent) {
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: helper, input: "" })).status));
  return runtime.run(lead, "", { runId: "o" });
}

test.each<[string, string, (made: () => void) => Agent]>([
  [
    "a batch",
    "approval:o/hire:helper#1:tool:0:0",
    (made) =>
      agent("helper", async (ctx) => {
        await ctx.batch([{ kind: "tool", call: order, tool: pays(made) }]);
        return done("");
      }),
  ],
  [
    "a tool call",
    "approval:o/hire:helper#1:tool:pay#1",
    (made) =>
      agent("helper", async (ctx) => {
        await ctx.tool(order, pays(made));
        return done("");
      }),
  ],
  [
    "a model call",
    "may it?",
    (made) => {
      const model = scriptedModel(() => {
        made();
        return "x";
      });
      const chat: Pipeline<ChatContext> = {
        isNoop: false,
        admit: async (_context, gate) => void (await gate.require("may it?")),
        run: async (_context, core) => core(),
      };
      const helper = agent("helper", async (ctx) => {
        await ctx.llm(model, ask("x"));
        return done("");
      });
      return { ...helper, pipelines: { chat } };
    },
  ],
])(
  "R15: %s whose agent loses its seat while somebody is asked is not made before it has one again",
  async (_, question, helper) => {
    const headcount = new FakeHeadcount();
    const runtime = new Runtime({ headcount: () => headcount });
    let made = 0;
    const run = asking(
      runtime,
      helper(() => made++),
    );
    await until(() => run.status === "suspended");
    headcount.pause("helper/1");
    await runtime.deliver("o", question, true);
    await turns();
    expect(made).toBe(0);
    headcount.unpause("helper/1");
    expect((await run.result).output).toBe("completed");
    expect(made).toBe(1);
  },
);

const search = (made: () => void): Tool =>
  defineTool({ name: "search", description: "", input: z.object({}), execute: () => made() });
const searches = { id: "a", name: "search", arguments: "{}" };
const hired = (made: () => void): Agent =>
  agent("hired", async () => {
    made();
    return done("");
  });
const told = (made: () => void) =>
  scriptedModel(() => {
    made();
    return "x";
  });

test.each<[string, (ctx: RunContext, made: () => void) => Promise<unknown>]>([
  ["model call", (ctx, made) => ctx.llm(told(made), ask("x"))],
  ["tool call", (ctx, made) => ctx.tool(searches, search(made))],
  ["batch", (ctx, made) => ctx.batch([{ kind: "tool", call: searches, tool: search(made) }])],
  ["hire", (ctx, made) => ctx.hire({ agent: hired(made), input: "" })],
  ["spawn", async (ctx, made) => ctx.join(await ctx.spawn(hired(made), { input: "" }))],
])("R15: an agent that has lost its seat begins no %s before it has one again", async (_, begin) => {
  const headcount = new FakeHeadcount();
  let made = 0;
  const helper = agent("helper", async (ctx) => {
    headcount.pause("helper/1");
    await begin(ctx, () => made++);
    return done("");
  });
  const run = asking(new Runtime({ headcount: () => headcount }), helper);
  await turns();
  expect(made).toBe(0);
  headcount.unpause("helper/1");
  expect((await run.result).output).toBe("completed");
  expect(made).toBe(1);
});

test("R23: a batch that is cancelled while somebody is asked does not reject: its calls were cancelled", async () => {
  const seen: string[] = [];
  const payer = agent("payer", async (ctx) => {
    const tool = pays(() => seen.push("made"));
    const outcomes = await ctx.batch([{ kind: "tool", call: order, tool }]);
    seen.push(...outcomes.map(({ status }) => status));
    return done("");
  });
  const run = asking(new Runtime(), payer);
  await until(() => run.status === "suspended");
  run.cancel("enough");
  expect((await run.result).status).toBe("cancelled");
  expect(seen).toEqual(["cancelled"]);
});

const RUN = RunId("r1");

/** A tool that goes on until it is cut off. */
function slow(onBegin: () => void): Tool {
  return defineTool({
    name: "slow",
    description: "until it is cut off",
    input: z.object({}),
    idempotent: true,
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("cut off")), { once: true });
        onBegin();
      }),
  });
}

const call = { id: "c", name: "slow", arguments: "{}" };

test.each([1, 2])("R24: what unwinds a run is no outcome of its batch of %i", async (size) => {
  const begun = Promise.withResolvers<void>();
  const tool = slow(begun.resolve);
  const seen: (readonly Outcome[])[] = [];
  const calling = agent("calling", async (ctx) => {
    seen.push(await ctx.batch(Array.from({ length: size }, () => ({ kind: "tool", tool, call }) as const)));
    return done("");
  });
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const handle = runtime.run(calling, "", { runId: RUN });
  await begun.promise;
  await runtime.close();
  expect((await handle.result).status).toBe("suspended");
  expect(seen).toEqual([]);
});

describe("batches", () => {
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

function leaf(name: string): ToolLeaf {
  const tool = defineTool({
    name,
    description: name,
    input: z.object({}),
    idempotent: true,
    execute: () => name,
  });
  return { kind: "tool", call: { id: name, name, arguments: "{}" }, tool };
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
