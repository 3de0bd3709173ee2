import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type AbortSignalLike,
  type Agent,
  AgentId,
  cancellationOf,
  type ChatMessage,
  defineTool,
  type HistoryProvider,
  type Lease,
  type LLMClient,
} from "@ravi/kernel";
import { virtualClock, type VirtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done, FakeHeadcount, FakeLedger, turns, until, within } from "./helpers.ts";

async function closed(runtime: Runtime, clock: VirtualClock): Promise<void> {
  const closing = runtime.close();
  await clock.advance(100);
  await closing;
}

describe("review: what the first mendings brought", () => {
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

  test("R24: a result that cannot be written down is the child's failure, not the end of the journal", async () => {
    const journal = new MemoryJournal();
    const child = agent("child", async () => ({ ...done("big"), structured: { n: 1n } }));
    const lead = agent("lead", async (ctx) => {
      const [outcome] = await ctx.batch([{ kind: "hire", agent: child, input: "" }]);
      return done(outcome?.status ?? "");
    });
    const settled = new Runtime({ journal }).run(lead, "").result.catch((error: unknown) => error);
    expect(await settled).toMatchObject({ status: "completed", output: "failed" });
  });

  test("R18: trackers of a grandparent and of a parent both count for a grandchild after a resume", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: async () => ({ message: { role: "assistant", content: "x" }, finishReason: "stop" }),
    };
    const [top, middle] = [new FakeLedger(), new FakeLedger()];
    const grandchild = agent("grandchild", async (ctx) => {
      await ctx.waitFor("go");
      await ctx.llm(model, ask("x"));
      return done("");
    });
    const parent: Agent = {
      id: AgentId("parent"),
      defaults: { executionBudget: middle },
      run: async (ctx) => done((await ctx.hire({ agent: grandchild, input: "" })).status),
    };
    const lead: Agent = {
      id: AgentId("lead"),
      defaults: { executionBudget: top },
      run: async (ctx) => done((await ctx.hire({ agent: parent, input: "" })).status),
    };
    const ledger = () => new FakeLedger();
    const first = new Runtime({ journal, clock, ledger });
    const run = first.run(lead, "", { runId: "g" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, ledger, agents: [lead] });
    const resumed = second.resume("g");
    await second.deliver("g", "go", true);
    await clock.advance(1_000);
    await resumed.result;
    await turns();
    expect({ top: top.used.turns, middle: middle.used.turns }).toEqual({ top: 1, middle: 1 });
  });

  test("T5: a call that closing aborted is made again on resume, whatever error its client threw", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let asked = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "x", model: "m" },
      generate: (_, options) =>
        new Promise((resolve, reject) => {
          if (++asked === 2) resolve({ message: { role: "assistant", content: "x" }, finishReason: "stop" });
          options?.signal?.addEventListener("abort", () => reject(new Error("Request was aborted.")));
        }),
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("x"));
      return done("answered");
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "q" });
    await until(() => asked === 1);
    await closed(first, clock);
    const resumed = new Runtime({ journal, clock, agents: [lead] }).resume("q");
    await clock.advance(1_000);
    expect(await within(resumed.result)).toMatchObject({ status: "completed", output: "answered" });
  });

  test("T5: a tool that closing aborted has not failed: it is in doubt", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let executed = 0;
    const tool = defineTool({
      name: "slow",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: (_, { signal }) =>
        new Promise((resolve, reject) => {
          if (++executed === 2) resolve("done");
          signal.addEventListener("abort", () => reject(new Error("socket closed")));
        }),
    });
    const lead = agent("lead", async (ctx) =>
      done(String((await ctx.tool({ id: "c", name: "slow", arguments: "{}" }, tool)).content)),
    );
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "q" });
    await until(() => executed === 1);
    await closed(first, clock);
    const resumed = new Runtime({ journal, clock, agents: [lead] }).resume("q");
    await clock.advance(1_000);
    expect(await within(resumed.result)).toMatchObject({ status: "completed", output: "done" });
  });

  test("R15: a hire that waits for its seat when the runtime is closed waits for it again on resume", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let queued = false;
    const full = Object.assign(new FakeHeadcount(), {
      acquire: (_: unknown, __: unknown, options?: { readonly signal?: AbortSignalLike | undefined }) =>
        new Promise<Lease>((_resolve, reject) => {
          const { signal } = options ?? {};
          queued = true;
          signal?.addEventListener("abort", () => reject(cancellationOf(signal)));
        }),
    });
    const child = agent("child", async () => done("hired"));
    const lead = agent("lead", async (ctx) =>
      done((await ctx.hire({ agent: child, input: "", onFull: "queue" })).status),
    );
    const first = new Runtime({ journal, clock, headcount: () => full });
    first.run(lead, "", { runId: "q" });
    await until(() => queued);
    await closed(first, clock);
    const second = new Runtime({ journal, clock, agents: [lead], headcount: () => new FakeHeadcount() });
    expect(await within(second.resume("q").result)).toMatchObject({ output: "completed" });
  });

  test("R8: a run with a journal and a history that its deadline cuts off is partial", async () => {
    const clock = virtualClock();
    const history = { load: () => ({ messages: [], head: 0 }), append: () => {}, clear: () => {} };
    const lead = agent("lead", async (ctx) => {
      await ctx.remember({ role: "assistant", content: "so far" });
      await ctx.waitFor("never");
      return done("");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, history });
    const run = runtime.run(lead, "", { executionBudget: { deadlineS: 1 } });
    const settled = run.result.catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await settled).toMatchObject({ status: "partial", output: "so far" });
  });

  test("R4: two runs of one conversation that say the same are two runs", async () => {
    const kept: ChatMessage[] = [];
    const history: HistoryProvider = {
      load: (_, upTo) => ({ messages: kept.slice(0, upTo ?? kept.length), head: kept.length }),
      append: (_, messages) => void kept.push(...messages),
      clear: () => {},
    };
    const runtime = new Runtime({ history });
    const talker = agent("talker", async (ctx, inbox) => {
      await ctx.window();
      await ctx.remember({ role: "user", content: inbox.input });
      await ctx.waitFor("go");
      return done("");
    });
    const one = runtime.run(talker, "hello", { runId: "1", sessionId: "s" });
    const two = runtime.run(talker, "hello", { runId: "2", sessionId: "s" });
    await until(() => one.status === "suspended" && two.status === "suspended");
    await runtime.deliver("1", "go", true);
    await one.result;
    await runtime.deliver("2", "go", true);
    await two.result;
    expect(kept).toHaveLength(2);
  });
});
