import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  type ChatMessage,
  defineTool,
  type HistoryProvider,
  type HookEvent,
  type Hooks,
  type LLMClient,
  type ModelResponse,
  type Permissions,
  type Pipeline,
  ProviderError,
  RunId,
} from "@ravi/kernel";
import * as z from "zod";
import { scriptedModel, virtualClock, type VirtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, cut, done, FakeHeadcount, until } from "./helpers.ts";

async function closed(runtime: Runtime, clock: VirtualClock): Promise<void> {
  const closing = runtime.close();
  await clock.advance(100);
  await closing;
}

/** A provider whose client throws an error of its own when it is aborted, as most do. */
const abortable = (asked: () => void): LLMClient => ({
  id: "abortable",
  info: { provider: "x", model: "abortable" },
  generate: (_, options) =>
    new Promise<ModelResponse>((_resolve, reject) => {
      asked();
      options?.signal?.addEventListener("abort", () => reject(new Error("Request was aborted.")));
    }),
});

class FakeHistory implements HistoryProvider {
  readonly kept = new Map<string, ChatMessage[]>();
  load: HistoryProvider["load"] = (key, upTo) => {
    const all = this.kept.get(key.agentName) ?? [];
    return { messages: all.slice(0, upTo ?? all.length), head: all.length };
  };
  append: HistoryProvider["append"] = (key, messages) => {
    this.kept.set(key.agentName, [...(this.kept.get(key.agentName) ?? []), ...messages]);
  };
  clear(): void {}
  texts(name: string): unknown[] {
    return (this.kept.get(name) ?? []).map(({ content }) => content);
  }
}

describe("review: ends", () => {
  test("R9: a run that is cancelled in a call is cancelled, whatever error the provider's client throws", async () => {
    const clock = virtualClock();
    let asked = false;
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(
        abortable(() => (asked = true)),
        ask("x"),
      );
      return done("");
    });
    const run = new Runtime({ clock }).run(lead, "");
    await until(() => asked);
    run.cancel("enough");
    await clock.advance(1_000);
    expect((await run.result).status).toBe("cancelled");
  });

  test("R8: a deadline lands as partial, whatever error the provider's client throws", async () => {
    const clock = virtualClock();
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(
        abortable(() => {}),
        ask("x"),
      );
      return done("");
    });
    const run = new Runtime({ clock }).run(lead, "", { executionBudget: { deadlineS: 1 } });
    await clock.advance(5_000);
    expect(await run.result).toMatchObject({ status: "partial", stopReason: "deadline" });
  });

  test("R4: two runs of one conversation that overlap both keep what was said", async () => {
    const history = new FakeHistory();
    const runtime = new Runtime({ history });
    const talker = agent("talker", async (ctx, inbox) => {
      await ctx.window();
      await ctx.remember({ role: "user", content: inbox.input });
      await ctx.waitFor("go");
      return done("");
    });
    const one = runtime.run(talker, "one", { runId: "1", sessionId: "s" });
    const two = runtime.run(talker, "two", { runId: "2", sessionId: "s" });
    await until(() => one.status === "suspended" && two.status === "suspended");
    await runtime.deliver("1", "go", true);
    await one.result;
    await runtime.deliver("2", "go", true);
    await two.result;
    expect(history.texts("talker")).toEqual(["one", "two"]);
  });

  test("R10: a history that could not be read once is read the next time", async () => {
    const history = new FakeHistory();
    history.kept.set("talker", [{ role: "user", content: "before" }]);
    const { load } = history;
    let broken = true;
    history.load = (key, upTo) => {
      if (!broken) return load(key, upTo);
      broken = false;
      throw new Error("busy");
    };
    const talker = agent("talker", async (ctx) => {
      await Promise.resolve(ctx.window()).catch(() => undefined);
      return done(String((await ctx.window()).length));
    });
    expect((await new Runtime({ history }).run(talker, "").result).output).toBe("1");
  });

  test("R15: a hire that was begun before a crash and is not permitted leaves no seat taken", async () => {
    const journal = new MemoryJournal();
    const child = agent("child", async () => done("hired"));
    const other = agent("other", async () => done("hired too"));
    const lead = agent("lead", async (ctx) => {
      const one = await ctx.hire({ agent: child, input: "" });
      const two = await ctx.hire({ agent: other, input: "" });
      return done(`${one.status} ${two.status}`);
    });
    const permissions: Permissions = {
      isNoop: false,
      check: ({ target }) => (target.startsWith("child") ? { allow: false, reason: "no" } : { allow: true }),
    };
    const headcount = () => new FakeHeadcount(1);
    const whole = await new Runtime({ journal, permissions, headcount }).run(lead, "", { runId: "h" }).result;
    expect(whole.output).toBe("denied completed");
    const records = journal.load(RunId("h"));
    const begun = records.findIndex(({ phase }) => phase === "begin") + 1;
    const again = new Runtime({
      journal: cut("h", records.slice(0, begun)),
      permissions,
      headcount,
      agents: [lead],
    });
    expect((await again.resume("h").result).output).toBe("denied completed");
  });

  test("R12: a child whose layer answers for it can be spawned and joined like any other", async () => {
    const answers: Pipeline<AgentRunContext> = {
      isNoop: false,
      async admit(context) {
        context.result = done("from the layer");
      },
      run: async (_, core) => core(),
    };
    const child: Agent = {
      id: AgentId("child"),
      pipelines: { agent: answers },
      run: async () => done("never"),
    };
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.join(await ctx.spawn(child, { input: "" }));
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    expect(await new Runtime().run(lead, "").result).toMatchObject({
      status: "completed",
      output: "from the layer",
    });
  });

  test("R16: a hire with a time limit that is none starts nobody", async () => {
    let started = false;
    const child = agent("child", async () => {
      started = true;
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "", timeoutS: 0 });
      return done("");
    });
    expect((await new Runtime().run(lead, "").result).status).toBe("failed");
    expect(started).toBe(false);
  });

  test("R21: a child's own listeners are waited for too", async () => {
    let heard = false;
    const hooks: Hooks = {
      has: (event) => event === "run_end",
      dispatch: () => {},
      async drain() {
        await Promise.resolve();
        heard = true;
      },
    };
    const child: Agent = { id: AgentId("child"), hooks, run: async () => done("") };
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "" });
      return done("");
    });
    await new Runtime().run(lead, "").result;
    expect(heard).toBe(true);
  });

  test("R21: what is told again on replay has an end for each start, and what it cost", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const told: string[] = [];
    const hooks: Hooks = {
      has: (event) => event.startsWith("llm") || event.startsWith("tool"),
      dispatch: (event: HookEvent, payload: object) => {
        const { replayed, costUsd } = payload as { replayed?: boolean; costUsd?: number | null };
        if (replayed === true) told.push(event === "llm_end" ? `${event} ${String(costUsd)}` : event);
      },
      drain: () => {},
    };
    const good = scriptedModel(() => "ok");
    const bad: LLMClient = {
      id: "bad",
      info: { provider: "x", model: "bad" },
      generate: async () => {
        throw new ProviderError({ message: "no", kind: "AUTH", status: 401 } as never);
      },
    };
    const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "ok" });
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(good, ask("1"));
      await ctx.llm(bad, ask("2")).catch(() => undefined);
      await ctx.tool({ id: "c", name: "t", arguments: "{}" }, tool);
      await ctx.waitFor("go");
      return done("");
    });
    const meter = {
      estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0.5 } }),
      price: () => ({ usd: 0.25 }),
    };
    const first = new Runtime({ journal, clock, hooks, meter });
    const run = first.run(lead, "", { runId: "k" });
    await until(() => run.status === "suspended");
    await closed(first, clock);
    const second = new Runtime({ journal, clock, hooks, meter, agents: [lead] });
    const resumed = second.resume("k");
    await second.deliver("k", "go", true);
    await clock.advance(1_000);
    await resumed.result;
    expect(told).toEqual(["llm_start", "llm_end 0.25", "llm_start", "llm_end 0", "tool_start", "tool_end"]);
  });
});

test("R17: whom a root had hired that crashed and is not started again was cancelled with it", async () => {
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new Error("a bug");
  });
  const restart = { shouldRetry: () => false, delayMs: () => 0, reset() {} };
  const { result } = new Runtime({ journal: new MemoryJournal(), restart }).run(lead, "");
  const { status, agents } = await result;
  expect(status).toBe("failed");
  expect(agents?.map((each) => each.status)).toEqual(["failed", "cancelled"]);
});

test("R24: the result of a run that was suspended by a close says why, as one that waits for a decision does", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const { result } = runtime.run(waiting, "");
  await runtime.close();
  expect(await result).toMatchObject({
    status: "suspended",
    error: { code: "SUSPENDED", message: "suspended: the runtime was closed" },
  });
});

test("R24: whoever closes a runtime can say why, and the results of its runs repeat it", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  for (const journal of [new MemoryJournal(), undefined]) {
    const runtime = new Runtime({ journal });
    const { result } = runtime.run(waiting, "");
    await runtime.close({ reason: "the machine is being updated" });
    expect((await result).error?.message).toMatch(/^(suspended|cancelled): the machine is being updated$/);
  }
});

test("R21: after a crash that is not restarted, the agents below have ended: it is told, and on record", async () => {
  const told: string[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, { agentName }) => void told.push(`${event} ${agentName}`),
  };
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("never"))));
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const restart = { shouldRetry: () => false, delayMs: () => 0, reset() {} };
  const journal = new MemoryJournal();
  const ends: string[] = [];
  const result = await new Runtime({ journal, restart, hooks }).run(lead, "", {
    runId: "r",
    onEvent: ({ agentId, event }) => void (event.type === "error" && ends.push(agentId)),
  }).result;
  expect(result).toMatchObject({ status: "failed", agents: [{}, { status: "cancelled" }] });
  expect(told).toEqual(["run_start lead", "run_start child", "run_end child", "run_end lead"]);
  expect(ends).toEqual(["child/1", "lead"]);
  const [end] = journal
    .load(RunId("r"))
    .filter(({ phase, key }) => phase === "end" && key.startsWith("hire:"));
  expect(end?.body).toMatchObject({ status: "cancelled" });
});

test("R21: a runtime that is closed while a crashed root's agents are being stopped suspends none of them", async () => {
  const told: string[] = [];
  const closing: Promise<void>[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, { agentName }) => void told.push(`${event} ${agentName}`),
  };
  const child = agent("child", async (ctx) => {
    ctx.signal.addEventListener("abort", () => void closing.push(runtime.close()));
    return done(String(await ctx.waitFor("never")));
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const runtime = new Runtime({ journal: new MemoryJournal(), hooks });
  const { status, agents } = await runtime.run(lead, "").result;
  await Promise.all(closing);
  expect([status, agents?.map((one) => one.status)]).toEqual(["failed", ["failed", "cancelled"]]);
  expect(told).toEqual(["run_start lead", "run_start child", "run_end child", "run_end lead"]);
});

test("R21: a crashed root whose journal is lost while its agents are stopped is not restarted, though the policy has agreed", async () => {
  const inner = new MemoryJournal();
  const lost = Promise.withResolvers<void>();
  const journal = Object.assign(Object.create(inner) as MemoryJournal, {
    append(...given: Parameters<MemoryJournal["append"]>) {
      return given[2].some(({ key }) => key.startsWith("record:x")) ? lost.promise : inner.append(...given);
    },
  });
  let [starts, asked] = [0, 0];
  const child = agent("child", async (ctx) => done(String(await ctx.record("x", () => 1))));
  const lead = agent("lead", async (ctx) => {
    starts++;
    await ctx.spawn(child, { input: "" });
    throw new TypeError("a bug");
  });
  const shouldRetry = (): boolean => {
    asked++;
    lost.reject(new Error("the disk is full"));
    return true;
  };
  const runtime = new Runtime({ journal, restart: { shouldRetry, delayMs: () => 0, reset() {} } });
  const outcome = await runtime.run(lead, "").result.then(
    ({ status }) => status,
    (error: unknown) => String(error),
  );
  expect([starts, asked, outcome]).toEqual([1, 1, expect.stringContaining("the disk is full")]);
});
