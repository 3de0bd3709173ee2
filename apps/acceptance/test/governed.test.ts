import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentResult,
  defineTool,
  type ExecutionBudgetOptions,
  isRaviError,
  type LLMClient,
  type Pipelines,
  Priority,
  type RunContext,
  type SpawnBudgetOptions,
  textOf,
} from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { MiddlewarePipeline, piiPipelines, piiRedaction, piiRunRedaction, retry } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { scriptedModel, virtualClock } from "@ravi/testing";

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const ask = (text: string) => ({ messages: [{ role: "user", content: text }], maxOutputTokens: 10 }) as const;
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });

const PRICES = { fixed: { input: 1_000, output: 1_000 } };
const INFO = { info: { provider: "test", model: "fixed" } };

function governed(extra: ConstructorParameters<typeof Runtime>[0] = {}): Runtime {
  return new Runtime({
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    meter: new ModelMeter({ prices: PRICES }),
    ...extra,
  });
}

/** What a greedy agent gets out of its context before the rules stop it. */
async function greed(
  rules: { spawn?: SpawnBudgetOptions; spend?: ExecutionBudgetOptions },
  grab: (ctx: RunContext) => Promise<unknown>,
): Promise<{ got: number; stop: string }> {
  let got = 0;
  let stop = "nothing";
  const greedy = agent("greedy", async (ctx) => {
    for (; got < 200; got++) {
      try {
        await grab(ctx);
      } catch (error) {
        stop = isRaviError(error, "BUDGET_EXHAUSTED") ? error.dimension : String(error);
        break;
      }
    }
    return done("");
  });
  await governed().run(greedy, "", { spawnBudget: rules.spawn, executionBudget: rules.spend }).result;
  return { got, stop };
}

describe("the rules are in the context: an agent of ten lines cannot get around them", () => {
  const cheap = (): LLMClient =>
    scriptedModel(() => ({ text: "x", usage: { inputTokens: 5, outputTokens: 5 } }), {
      record: false,
      ...INFO,
    });
  const nothing = defineTool({ name: "nothing", description: "", input: z.object({}), execute: () => "" });
  const idle = agent("idle", async () => done(""));

  test("R18: of maxTurns 20, nineteen are for work and the twentieth is the wrap-up", async () => {
    const model = cheap();
    expect(await greed({ spend: { maxTurns: 20 } }, (ctx) => ctx.llm(model, ask("more")))).toEqual({
      got: 19,
      stop: "turns",
    });
  });

  test("R18: the wrap-up turn is there when it is asked for, once", async () => {
    const model = cheap();
    const lands = agent("lands", async (ctx) => {
      for (;;) {
        try {
          await ctx.llm(model, ask("more"));
        } catch {
          await ctx.llm(model, ask("last"), { wrapUp: true });
          const again = await ctx.llm(model, ask("again"), { wrapUp: true }).catch((error: unknown) => error);
          return done(isRaviError(again, "BUDGET_EXHAUSTED") ? "landed" : "flew on");
        }
      }
    });
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: lands, input: "", executionBudget: { maxTurns: 4 } });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    expect((await governed().run(lands, "", { executionBudget: { maxTurns: 4 } }).result).output).toBe(
      "landed",
    );
    expect((await governed().run(lead, "").result).output).toBe("landed");
    expect(
      (await governed().run({ ...lands, defaults: { executionBudget: { maxTurns: 4 } } }, "").result).output,
    ).toBe("landed");
  });

  test("R18: a tracker that a user passes in spans runs and is reserved from in addition", async () => {
    const model = cheap();
    const tab = new ExecutionTracker({ maxTurns: 3 }, { reserve: false });
    const once: Agent = {
      ...agent("once", async (ctx) => {
        await ctx.llm(model, ask("x"));
        return done("paid");
      }),
      defaults: { executionBudget: tab },
    };
    const statuses: string[] = [];
    for (let run = 0; run < 4; run++) statuses.push((await governed().run(once, "").result).status);
    expect(statuses).toEqual(["completed", "completed", "completed", "partial"]);
    expect(tab.used.turns).toBe(3);
  });

  test("R18: tokens, dollars and tool calls", async () => {
    const model = cheap();
    const tokens = await greed({ spend: { maxTokens: 200 } }, (ctx) => ctx.llm(model, ask("more")));
    expect(tokens.stop).toBe("tokens");
    expect(tokens.got * 10).toBeLessThanOrEqual(200);
    const dollars = await greed({ spend: { maxCostUsd: 0.2 } }, (ctx) => ctx.llm(model, ask("more")));
    expect(dollars.stop).toBe("cost");
    expect(dollars.got * 0.01).toBeLessThanOrEqual(0.2);
    const call = { id: "c", name: "nothing", arguments: "{}" };
    expect(await greed({ spend: { maxToolCalls: 3 } }, (ctx) => ctx.tool(call, nothing))).toEqual({
      got: 3,
      stop: "toolCalls",
    });
  });

  test("R14: seats, lifetime hires and depth; the root counts", async () => {
    const spawned = (ctx: RunContext): Promise<unknown> =>
      ctx.spawn(
        agent("forever", async (child) => done(String(await child.waitFor("x")))),
        { input: "" },
      );
    const lead = agent("lead", async (ctx) => {
      for (let hired = 0; ; hired++) {
        try {
          await spawned(ctx);
        } catch (error) {
          return done(`${hired} ${isRaviError(error, "BUDGET_EXHAUSTED") ? error.dimension : String(error)}`);
        }
      }
    });
    const runtime = governed();
    const handle = runtime.run(lead, "", { spawnBudget: { maxAgents: 4 } });
    expect((await handle.result).output).toBe("3 agents");
    await runtime.close();
    const lifetime = await greed({ spawn: { maxTotal: 6 } }, async (ctx) => {
      const outcome = await ctx.hire({ agent: idle, input: "" });
      if ("error" in outcome) throw outcome.error;
    });
    expect(lifetime).toEqual({ got: 5, stop: "totalAgents" });
  });

  test("R18: a whole tree shares one ledger: fifty calls at once never pass $5", async () => {
    const hungry = agent("hungry", async (ctx) => {
      await ctx.llm(cheap(), ask("x".repeat(40)));
      return done("fed");
    });
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(
        Array.from({ length: 50 }, () => ({ kind: "hire", agent: hungry, input: "" }) as const),
      );
      return done(String(outcomes.filter(({ status }) => status === "completed").length));
    });
    const result = await governed().run(lead, "", {
      spawnBudget: { maxAgents: 60 },
      executionBudget: { maxCostUsd: 0.25 },
    }).result;
    expect(result.cost).toBeLessThanOrEqual(0.25);
    expect(Number(result.output)).toBeGreaterThan(0);
    expect(Number(result.output)).toBeLessThan(50);
  });

  test("R18: a model without a price is refused under a limit in dollars, before it is called", async () => {
    const unpriced = scriptedModel(["never"], { info: { provider: "test", model: "mystery" } });
    const result = await governed().run(
      agent("a", async (ctx) => {
        await ctx.llm(unpriced, ask("x"));
        return done("");
      }),
      "",
      { executionBudget: { maxCostUsd: 1 } },
    ).result;
    expect(result).toMatchObject({ status: "failed", error: { code: "INVALID_VALUE" } });
    expect(result.error?.message).toContain("test:mystery");
    expect(unpriced.calls).toEqual([]);
  });

  test("R24: a budget's landing is partial, a guardrail's stop is failed", async () => {
    const spender = agent("spender", async (ctx) => {
      await ctx.remember({ role: "assistant", content: "so far" });
      for (;;) await ctx.llm(cheap(), ask("x"));
    });
    expect(await governed().run(spender, "", { executionBudget: { maxTurns: 3 } }).result).toMatchObject({
      status: "partial",
      output: "so far",
      stopReason: "budget",
    });
  });
});

describe("R14, R15: preemption, end to end", () => {
  /** A worker of three calls that waits for its second until it is let go on. */
  function slowWorker(model: LLMClient, gate: Promise<void>): Agent {
    return agent("slow", async (ctx) => {
      await ctx.llm(model, ask("one"));
      await gate;
      await ctx.check();
      await ctx.llm(model, ask("two"));
      return done("slow is done");
    });
  }

  test("R15: a paused agent waits at its next step, gets its slot back, and pays for nothing twice", async () => {
    const model = scriptedModel(() => "ok");
    const urgentModel = scriptedModel(() => "now");
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const order: string[] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.PREEMPTED, ({ agentName }) => void order.push(`${agentName} preempted`));
    hooks.on(HookEvent.RESUMED, ({ agentName }) => void order.push(`${agentName} resumed`));
    const urgent = agent("urgent", async (ctx) => {
      open();
      await new Promise((resolve) => setImmediate(resolve));
      await ctx.llm(urgentModel, ask("fast"));
      order.push("urgent is done");
      return done("urgent is done");
    });
    const lead = agent("lead", async (ctx) => {
      const slow = await ctx.spawn(slowWorker(model, gate), { input: "", priority: Priority.LOW });
      const fast = await ctx.hire({ agent: urgent, input: "", priority: Priority.HIGH });
      const rest = await ctx.join(slow);
      return done(
        [fast, rest]
          .map((outcome) => ("result" in outcome ? outcome.result.output : outcome.status))
          .join("; "),
      );
    });
    const result = await governed({ hooks }).run(lead, "", { spawnBudget: { maxAgents: 2 } }).result;
    expect(result.output).toBe("urgent is done; slow is done");
    expect(order).toEqual(["slow preempted", "urgent is done", "slow resumed"]);
    expect(model.calls).toHaveLength(2);
  });

  test("R15: the call that a preempted agent has in flight is draining, and ends as usual", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
    const called = Promise.withResolvers<void>();
    const model = scriptedModel(() => {
      called.resolve();
      return answered;
    });
    let tracker: SpawnTracker | undefined;
    const drained: string[] = [];
    const look = (): number =>
      drained.push(`${tracker?.paused.length} paused, ${tracker?.draining.length} draining`);
    const slow = agent("slow", async (ctx) => {
      const { message } = await ctx.llm(model, ask("one"));
      await ctx.check();
      return done(textOf(message));
    });
    const hooks = new HookManager();
    const stopped = Promise.withResolvers<void>();
    hooks.on(HookEvent.PREEMPTED, () => stopped.resolve());
    const urgent = agent("urgent", async () => {
      await called.promise;
      look();
      answer("it was paid for");
      await stopped.promise;
      await new Promise((resolve) => setImmediate(resolve));
      look();
      return done("urgent");
    });
    const lead = agent("lead", async (ctx) => {
      const child = await ctx.spawn(slow, { input: "", priority: Priority.LOW });
      await called.promise;
      await ctx.hire({ agent: urgent, input: "", priority: Priority.HIGH });
      const outcome = await ctx.join(child);
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const runtime = governed({
      hooks,
      headcount: (root) => (tracker = new SpawnTracker(root.spawnBudget, { rootId: root.rootId })),
    });
    const result = await runtime.run(lead, "", { spawnBudget: { maxAgents: 2 } }).result;
    expect(result.output).toBe("it was paid for");
    expect(drained).toEqual(["1 paused, 1 draining", "1 paused, 0 draining"]);
    look();
    expect(drained.at(-1)).toBe("0 paused, 0 draining");
  });

  test("R15: with onPreempt: return it gives what it has, as paused", async () => {
    const model = scriptedModel(() => "ok");
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const urgent = agent("urgent", async () => {
      open();
      await new Promise((resolve) => setImmediate(resolve));
      return done("urgent");
    });
    const lead = agent("lead", async (ctx) => {
      const slow = await ctx.spawn(slowWorker(model, gate), {
        input: "",
        priority: Priority.LOW,
        onPreempt: "return",
      });
      await ctx.hire({ agent: urgent, input: "", priority: Priority.CRITICAL });
      return done((await ctx.join(slow)).status);
    });
    const result = await governed().run(lead, "", { spawnBudget: { maxAgents: 2 } }).result;
    expect(result.output).toBe("paused");
    expect(model.calls).toHaveLength(1);
  });

  test("R14: queued hires all get their turn, and never more than the cap hold a seat at once", async () => {
    let [now, most] = [0, 0];
    const helper = agent("helper", async (ctx) => {
      most = Math.max(most, ++now);
      await ctx.llm(scriptedModel(["ok"]), ask("x"));
      now--;
      return done("ok");
    });
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(
        Array.from(
          { length: 10 },
          () => ({ kind: "hire", agent: helper, input: "", onFull: "queue" }) as const,
        ),
      );
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const result = await governed().run(lead, "", { spawnBudget: { maxAgents: 3 } }).result;
    expect(result.output).toBe(Array.from({ length: 10 }, () => "completed").join(" "));
    expect(most).toBe(2);
  });
});

describe("ReActAgent under the rules", () => {
  const square = defineTool({
    name: "square",
    description: "n squared",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: ({ n }) => n * n,
  });

  test("R19: after a breach no further model call is made but the wrap-up, and the result is partial", async () => {
    let calls = 0;
    const model = scriptedModel(
      ({ tools }) => {
        calls++;
        return tools === undefined
          ? "as far as I got"
          : { toolCalls: [{ name: "square", arguments: { n: calls } }] };
      },
      { record: false, ...INFO },
    );
    const researcher = new ReActAgent({
      name: "researcher",
      model,
      tools: [square],
      executionBudget: { maxTurns: 5 },
    });
    const result = await governed().run(researcher, "square on").result;
    expect(result).toMatchObject({ status: "partial", output: "as far as I got", stopReason: "budget" });
    expect(calls).toBe(5);
  });

  test("R16: a child that landed softly is never a success to its parent", async () => {
    const spent = scriptedModel(
      ({ tools }) =>
        tools === undefined ? "half of it" : { toolCalls: [{ name: "square", arguments: { n: 2 } }] },
      { record: false, ...INFO },
    );
    const helper = new ReActAgent({
      name: "helper",
      model: spent,
      tools: [square],
      executionBudget: { maxTurns: 2 },
    });
    const told: string[] = [];
    const boss = scriptedModel(
      ({ messages }) => {
        const result = messages.findLast(({ role }) => role === "tool");
        if (result === undefined)
          return { toolCalls: [{ name: "handoff_helper", arguments: { task: "all of it" } }] };
        told.push(String(result.content));
        return "understood";
      },
      { record: false, ...INFO },
    );
    const lead = new ReActAgent({
      name: "lead",
      model: boss,
      tools: [helper.asDelegate({ name: "handoff_helper" })],
    });
    expect(await governed().run(lead, "go").result).toMatchObject({
      status: "completed",
      output: "understood",
    });
    expect(told).toEqual(["error: only a partial result (budget): half of it"]);
  });
});

describe("layers and hooks around a run", () => {
  test("R11, R27: a redactor keeps an address from the model, and a retry is a new reserved attempt", async () => {
    let tries = 0;
    const model = scriptedModel(
      () => (++tries === 1 ? { fault: { type: "status", status: 503 } } : "write to bob@example.com"),
      INFO,
    );
    const clock = virtualClock();
    const pipelines = { chat: new MiddlewarePipeline([retry(), piiRedaction()]) };
    const runtime = governed({ clock, pipelines, journal: new MemoryJournal() });
    const asker = agent("asker", async (ctx) => {
      const { message } = await ctx.llm(model, ask("I am ada@example.com"));
      return done(String(message.content));
    });
    const handle = runtime.run(asker, "", { executionBudget: { maxTurns: 5, maxCostUsd: 100 } });
    await clock.advance(60_000);
    const result = await handle.result;
    expect(result.output).toBe("write to [EMAIL]");
    expect(JSON.stringify(model.calls)).not.toContain("ada@example.com");
    expect(tries).toBe(2);
  });

  test("T9: a run's input is redacted before its journal entry, and so is that of a hire", async () => {
    const journal = new MemoryJournal();
    const pipelines = { agent: new MiddlewarePipeline([piiRunRedaction()]) };
    const child = agent("child", async (_ctx, inbox) => done(`child got ${inbox.input}`));
    const lead = agent("lead", async (ctx, inbox) => {
      const hired = await ctx.hire({ agent: child, input: `${inbox.input} and bob@example.com` });
      return done("result" in hired ? hired.result.output : hired.status);
    });
    const runtime = new Runtime({ journal, pipelines });
    const { output, runId } = await runtime.run(lead, "I am ada@example.com").result;
    expect(output).toBe("child got I am [EMAIL] and [EMAIL]");
    expect(JSON.stringify(journal.load(runId))).not.toMatch(/ada@|bob@/);
  });

  test("T9: piiPipelines leave nothing raw in a journal: of inputs, answers, calls, results and hires", async () => {
    const raw = /(?:ada|bob|cyd|dan)@example\.com/g;
    const written = async (pipelines: Pipelines) => {
      const journal = new MemoryJournal();
      const lookUp = defineTool({
        name: "look_up",
        description: "",
        input: z.object({ who: z.string() }),
        execute: () => "cyd@example.com",
      });
      const child = new ReActAgent({ name: "child", model: scriptedModel(["ask dan@example.com"]) });
      const model = scriptedModel([
        { toolCalls: [{ name: "look_up", arguments: { who: "bob@example.com" } }] },
        "done",
      ]);
      const worker = new ReActAgent({ name: "worker", model, tools: [lookUp] });
      const lead = agent("lead", async (ctx, inbox) => {
        await ctx.hire({ agent: worker, input: inbox.input });
        const hired = await ctx.hire({ agent: child, input: inbox.input });
        return done("result" in hired ? hired.result.output : hired.status);
      });
      const { output, runId } = await new Runtime({ journal, pipelines }).run(lead, "I am ada@example.com")
        .result;
      const found = JSON.stringify(journal.load(runId)).match(raw) ?? [];
      return { output, found: [...new Set(found)].toSorted() };
    };
    const all = piiPipelines();
    expect(await written(all)).toEqual({ output: "ask [EMAIL]", found: [] });
    // What each leaves by itself, as the README says.
    const [ada, bob, cyd, dan] = ["ada", "bob", "cyd", "dan"].map((name) => `${name}@example.com`);
    expect((await written({ agent: all.agent })).found).toEqual([bob, cyd, dan]);
    expect((await written({ chat: all.chat })).found).toEqual([ada, cyd]);
    expect((await written({ function: all.function })).found).toEqual([ada, bob, dan]);
    expect(() => piiPipelines({ kind: ["email"] } as never)).toThrow(/piiPipelines.kind/);
  });

  test("R21: every event of a run in its place, for the agent that listens", async () => {
    const seen: string[] = [];
    const hooks = new HookManager();
    hooks.onAny((event, payload) => void seen.push(`${event} ${payload.agentName}`));
    const child = agent("child", async (ctx) => {
      await ctx.llm(scriptedModel(["x"]), ask("x"));
      return done("");
    });
    const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "" });
    const lead: Agent = {
      ...agent("lead", async (ctx) => {
        await ctx.tool({ id: "c", name: "t", arguments: "{}" }, tool);
        await ctx.hire({ agent: child, input: "" });
        return done("");
      }),
      hooks,
    };
    await governed().run(lead, "").result;
    expect(seen).toEqual(["run_start lead", "tool_start lead", "tool_end lead", "run_end lead"]);
  });
});
