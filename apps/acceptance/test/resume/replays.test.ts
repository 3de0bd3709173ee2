import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type JsonValue, ProviderError, RunId, textOf } from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { approval, MiddlewarePipeline, retry } from "@ravi/middleware";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, done, governed, hands, model, PRICED } from "../../src/leading.ts";

describe("R21, R22: what is told again says what it cost then", () => {
  test("also of a call that was tried again, or failed: the sum of all LLM_END is the run's cost", async () => {
    // The connection breaks on the first try at every call, so that each has paid for an attempt in vain.
    const make = (): Agent => {
      const broken = new Set<string>();
      const flaky = scriptedModel(({ messages }) => {
        const text = JSON.stringify(messages);
        const isFirst = !broken.has(text);
        broken.add(text);
        return isFirst ? new ProviderError({ kind: "TIMEOUT", message: "cut", retryable: true }) : "fine";
      }, PRICED);
      const dead = scriptedModel(() => new ProviderError({ kind: "TIMEOUT", message: "dead" }), PRICED);
      return agent("lead", async (ctx) => {
        await ctx.llm(flaky, { messages: [{ role: "user", content: "1" }] });
        const failed = await ctx
          .llm(dead, { messages: [{ role: "user", content: "2" }] })
          .catch(() => "failed");
        return done(String(failed));
      });
    };
    const go = async (journal: MemoryJournal, isNew: boolean) => {
      const hooks = new HookManager();
      const heard = { nanos: 0, tokens: 0 };
      hooks.on(HookEvent.LLM_END, ({ costUsd, usage }) => {
        heard.nanos += Math.round((costUsd ?? 0) * 1e9);
        heard.tokens += usage.inputTokens + usage.outputTokens;
      });
      const lead = make();
      const runtime = governed({
        journal,
        hooks,
        agents: [lead],
        pipelines: { chat: new MiddlewarePipeline([retry({ maxRetries: 1, random: () => 0 })]) },
      });
      const result = await (isNew ? runtime.run(lead, "go", { runId: "r" }) : runtime.resume("r")).result;
      const { cost, usage } = result;
      expect(heard).toEqual({
        nanos: Math.round((cost ?? 0) * 1e9),
        tokens: usage.inputTokens + usage.outputTokens,
      });
      return result;
    };
    const journal = new MemoryJournal();
    const whole = await go(journal, true);
    expect(whole.status).toBe("completed");
    const records = journal.load(RunId("r"));
    // Just before the end, so that everything is told again.
    await go(cutJournal("r", records.slice(0, -1)), false);
  });
});

describe("R24: a changed definition is refused before anything is paid", () => {
  const lead = (script: Parameters<typeof model>[0], more: object = {}): OrchestratorAgent =>
    new OrchestratorAgent({
      name: "lead",
      model: model(script),
      subAgents: [{ agent: agent("a", async () => done("a")) }, { agent: agent("b", async () => done("b")) }],
      ...more,
    });
  const original =
    (): Parameters<typeof model>[0] =>
    ({ messages }) => {
      const told = messages.filter(({ role }) => role === "tool").map((one) => textOf(one));
      return told.length === 0 ? hands(["a", "x"]) : told.join(" ");
    };

  test.each<[string, () => OrchestratorAgent]>([
    ["other instructions", () => lead(original(), { instructions: "Be brief." })],
    ["other settings", () => lead(original(), { settings: { temperature: 1 } })],
    [
      "one helper less",
      () =>
        new OrchestratorAgent({
          name: "lead",
          model: model(original()),
          subAgents: [{ agent: agent("a", async () => done("a")) }],
        }),
    ],
  ])("%s", async (_, changed) => {
    const journal = new MemoryJournal();
    await governed({ journal }).run(lead(original()), "go", { runId: "r" }).result;
    const records = journal.load(RunId("r"));
    const paid: string[] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.LLM_START, ({ key, replayed }) => void (replayed === true ? 0 : paid.push(key)));
    for (let count = 3; count < records.length; count++) {
      if (records[count - 1]?.key.startsWith("run") === true) continue;
      const resumed = governed({
        journal: cutJournal("r", records.slice(0, count)),
        hooks,
        agents: [changed()],
      });
      const result = await resumed.resume("r").result;
      expect({ count, status: result.status, code: result.error?.code }).toEqual({
        count,
        status: "suspended",
        code: "NON_DETERMINISM",
      });
    }
    expect(paid).toEqual([]);
  });
});

describe("R24: who was asked once is not asked again", () => {
  test.each([
    ["by a layer", false],
    ["by a layer, about a tool that wants it itself", true],
  ])("%s: a resumed run has the answer on record, and a yes in words is one for both", async (_, needs) => {
    let paid = 0;
    const pay = defineTool({
      name: "pay",
      description: "",
      input: z.object({}),
      needsApproval: needs,
      execute: () => ++paid,
    });
    const asked: string[] = [];
    const go = (journal: MemoryJournal) => {
      const hooks = new HookManager();
      hooks.on(HookEvent.APPROVAL_REQUESTED, ({ name }) => void asked.push(name));
      const buyer = agent("buyer", async (ctx) => {
        const { content } = await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
        return done(String(content));
      });
      const pipelines = { function: new MiddlewarePipeline([approval()]) };
      return { buyer, runtime: governed({ journal, hooks, agents: [buyer], pipelines }) };
    };
    const journal = new MemoryJournal();
    const { buyer, runtime } = go(journal);
    const handle = runtime.run(buyer, "go", { runId: "r" });
    for await (const { event } of handle.events())
      if (event.type === "progress" && event.name === "approvalRequested") break;
    await runtime.deliver("r", "approval:r:tool:pay#1", "yes");
    expect((await handle.result).output).toBe("1");
    expect(asked).toEqual(["approval:r:tool:pay#1"]);
    const resumed = go(cutJournal("r", journal.load(RunId("r")).slice(0, -1))).runtime.resume("r");
    expect((await resumed.result).output).toBe("1");
    expect([paid, asked.length]).toEqual([1, 1]);
  });
});

describe("R18: asking for more", () => {
  const worker = (): Agent =>
    agent("worker", async (ctx) => {
      for (let n = 0; ; n++) {
        try {
          await ctx.llm(model(["x"]), { messages: [{ role: "user", content: `${n}` }] });
        } catch (error) {
          const refusal = error as Parameters<NonNullable<typeof ctx.requestBudget>>[0];
          if (!(await ctx.requestBudget?.(refusal))) return done(`${n} calls`);
          n--;
        }
      }
    });

  test("a run that is cancelled while it waits for an answer is cancelled, and a later answer grants nothing", async () => {
    let books: ExecutionTracker | undefined;
    const runtime = governed({
      journal: new MemoryJournal(),
      ledger: (root) => (books = new ExecutionTracker(root.executionBudget)),
    });
    const handle = runtime.run(worker(), "go", { runId: "r", executionBudget: { maxTurns: 2 } });
    for await (const { event } of handle.events())
      if (event.type === "progress" && event.name === "approvalRequested") break;
    handle.cancel("no");
    expect((await handle.result).status).toBe("cancelled");
    await runtime.deliver("r", "approval:budget:r", { turns: 100 }).catch(() => {});
    expect(books?.budget.maxTurns).toBe(2);
  });

  test.each<[string, JsonValue[], string]>([
    ["grants add up", [{ turns: 1 }, { turns: 2 }, false], "5 calls"],
    [
      "a grant in another dimension does not help, and is asked about again",
      [{ tokens: 5 }, false],
      "2 calls",
    ],
  ])("%s", async (_, answers, output) => {
    const runtime = governed({ journal: new MemoryJournal() });
    const handle = runtime.run(worker(), "go", {
      runId: "r",
      executionBudget: { maxTurns: 2 },
    });
    for (const answer of answers) await runtime.deliver("r", "approval:budget:r", answer);
    const result = await handle.result;
    // Of several turns one is held back for the last, which this worker does not take.
    expect(result.output.replace(/^\d+/, (n) => String(Number(n) + 1))).toBe(output);
  });

  test("a tracker of the user's own is not raised by it, and still refuses", async () => {
    const own = new ExecutionTracker({ maxTurns: 2 }, { reserve: false });
    const stubborn: Agent = { ...worker(), id: worker().id, defaults: { executionBudget: own } };
    const runtime = governed({ journal: new MemoryJournal() });
    const handle = runtime.run(stubborn, "go", { runId: "r", executionBudget: { maxTurns: 10 } });
    await runtime.deliver("r", "approval:budget:r", { turns: 5 });
    await runtime.deliver("r", "approval:budget:r", false);
    expect((await handle.result).output).toBe("2 calls");
    expect(own.budget.maxTurns).toBe(2);
  });
});
