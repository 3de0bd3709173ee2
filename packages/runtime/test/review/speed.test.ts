import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentResult,
  type AgentRunContext,
  type CallOptions,
  defineTool,
  type ChatMessage,
  type HistoryProvider,
  HistoryRetention,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  type RunContext,
  type Tool,
  type ToolContext,
} from "@ravi/kernel";
import * as z from "zod";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done, FakeHeadcount, FakeLedger, turns, until, within } from "./helpers.ts";

const answer = (content: string): ModelResponse => ({
  message: { role: "assistant", content },
  finishReason: "stop",
  usage: { inputTokens: 1, outputTokens: 1 },
});

function model(generate: LLMClient["generate"]): LLMClient {
  return { id: "m", info: { provider: "x", model: "m" }, generate };
}

function tool(execute: (args: object, ctx: ToolContext) => unknown): Tool {
  return defineTool({ name: "t", description: "", input: z.object({}), idempotent: true, execute });
}
const call = (id = "c") => ({ id, name: "t", arguments: "{}" });

/** No native promise, and its `then` gives nothing back. */
function thenable<T>(value: T): PromiseLike<T> {
  return { then: (resolve: (value: T) => void) => void queueMicrotask(() => resolve(value)) } as PromiseLike<T>;
}

const hosts = {
  bare: () => new Runtime(),
  metered: () => new Runtime({ ledger: () => new FakeLedger() }),
  durable: () => new Runtime({ journal: new MemoryJournal(), ledger: () => new FakeLedger(), headcount: () => new FakeHeadcount() }),
};

describe.each(Object.entries(hosts))("review: speed, %s", (_, make) => {
  test("an agent without a promise behind a layer", async () => {
    const layer: Pipeline<AgentRunContext> = { isNoop: false, admit: () => {}, run: async (_c, core) => core() };
    const plain = { id: AgentId("plain"), run: () => done("at once"), pipelines: { agent: layer } } as unknown as Agent;
    expect(await make().run(plain, "").result).toMatchObject({ status: "completed", output: "at once" });
    const throwing = { id: AgentId("plain"), run: () => { throw new TypeError("x"); }, pipelines: { agent: layer } } as unknown as Agent;
    expect(await make().run(throwing, "").result).toMatchObject({ status: "failed" });
  });

  test("a tool that gives a thenable", async () => {
    const lead = agent("lead", async (ctx) => {
      const one = await ctx.tool(call(), tool(() => thenable("fine")));
      const [two] = await ctx.batch([{ kind: "tool", call: call(), tool: tool(() => thenable("fine")) }]);
      return done(`${String(one.content)} ${JSON.stringify(two)}`);
    });
    expect(await make().run(lead, "").result).toMatchObject({ status: "completed", output: expect.stringContaining("fine {\"status\":\"completed\"") });
  });

  test("a model that gives a thenable, throws at once, or gives a plain answer", async () => {
    const lead = agent("lead", async (ctx) => {
      const a = await ctx.llm(model(() => thenable(answer("a")) as Promise<ModelResponse>), ask("x"));
      const b = await ctx.llm(model(() => answer("b") as unknown as Promise<ModelResponse>), ask("x"));
      const c = await ctx.llm(model(() => { throw new TypeError("c"); }), ask("x")).catch((e: Error) => e.message);
      const d = await ctx.batch([
        { kind: "llm", model: model(() => { throw new TypeError("d"); }), request: ask("x") },
        { kind: "llm", model: model(async () => answer("e")), request: ask("x") },
      ]);
      return done(`${String(a.message.content)} ${String(b.message.content)} ${String(c)} ${d.map(({ status }) => status).join()}`);
    });
    expect(await make().run(lead, "").result).toMatchObject({ status: "completed", output: "a b c failed,completed" });
  });

  test("a tool and a provider see what a spread of their context holds", async () => {
    const seen: unknown[] = [];
    const look = (given: CallOptions | ToolContext | undefined): void => {
      const copy = { ...given };
      seen.push(copy.signal !== undefined, copy.idempotencyKey !== undefined, "llm" in copy);
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model(async (_r, o) => { look(o); return answer(""); }), ask("x"));
      await ctx.tool(call(), tool((_a, c) => { look(c); return ""; }));
      return done("");
    });
    await make().run(lead, "").result;
    expect(seen).toEqual([true, true, false, true, true, true]);
  });

  test("a deep chain of hires", async () => {
    const deep: Agent = agent("deep", async (ctx, inbox) => {
      const left = Number(inbox.input);
      if (left === 0) return done("bottom");
      const outcome = await ctx.hire({ agent: deep, input: String(left - 1) });
      return "result" in outcome ? outcome.result : done(String((outcome as {error?: Error}).error?.message ?? outcome.status));
    });
    expect(await make().run(deep, "250").result).toMatchObject({ status: "completed", output: "bottom" });
  });

  test("onEvent: asynchronous failure, order, reentrancy", async () => {
    let inner: RunContext | undefined;
    const seen: number[] = [];
    const lead = agent("lead", async (ctx) => {
      inner = ctx;
      ctx.emit({ type: "progress", name: "a", data: null });
      return done("");
    });
    const run = make().run(lead, "", {
      onEvent: async ({ event }) => {
        if (event.type === "progress" && event.name === "a") inner?.emit({ type: "progress", name: "b", data: null });
        throw new Error("late");
      },
    });
    const reading = (async () => { for await (const { seq } of run.events()) seen.push(seq); })();
    await run.result;
    await reading;
    await turns();
    expect(seen).toEqual([...seen].toSorted((a, b) => a - b));
  });

  test("two at once are a lane violation", async () => {
    const lead = agent("lead", async (ctx) => {
      const m = model(async () => answer(""));
      const all = await Promise.allSettled([ctx.llm(m, ask("a")), ctx.llm(m, ask("b")), ctx.batch([{ kind: "tool", call: call(), tool: tool(() => "") }]), ctx.tool(call(), tool(() => "")), ctx.hire({ agent: lead, input: "" })]);
      return done(all.map((one) => (one.status === "fulfilled" ? "ok" : (one.reason as { code: string }).code)).join());
    });
    const { output } = await make().run(lead, "").result;
    expect(output).toBe(["ok", ...Array.from({ length: 4 }, () => "LANE_VIOLATION")].join());
  });

  test("a tool closes its own runtime, cancels its own run", async () => {
    const runtime = make();
    const lead = agent("lead", async (ctx) => {
      await ctx.tool(call(), tool(async () => { await runtime.close(); return ""; }));
      return done("");
    });
    const result = await runtime.run(lead, "").result;
    expect(["cancelled", "suspended"]).toContain(result.status);
    const other = make();
    const self: Agent = agent("self", async (ctx) => {
      await ctx.tool(call(), tool(() => { run.cancel("me"); return ""; }));
      await ctx.tool(call("d"), tool(() => ""));
      return done("");
    });
    const run = other.run(self, "");
    expect(await run.result).toMatchObject({ status: "cancelled" });
  });
});

describe("review: speed", () => {
  test("a run whose ids are not unique", async () => {
    const runtime = new Runtime({ ids: { uuid: () => "same" } });
    const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("x"))));
    const run = runtime.run(waits, "");
    expect(() => runtime.run(waits, "")).toThrow(/under way/);
    await runtime.deliver("same", "x", "y");
    expect((await run.result).output).toBe("y");
  });

  test("a window that is read twice at once has its history once", async () => {
    const history: HistoryProvider = {
      load: async () => { await turns(2); return { messages: [{ role: "user", content: "before" }], head: 1 }; },
      append: async () => {},
      clear: async () => {},
    } as unknown as HistoryProvider;
    const lead = agent("lead", async (ctx) => {
      const first = ctx.window();
      await turns(3);
      const second = ctx.window();
      await first;
      await second;
      const messages = (await ctx.window()) as ChatMessage[];
      return done(String(messages.length));
    });
    const { output } = await new Runtime({ history }).run(lead, "", { retention: HistoryRetention.PERMANENT }).result;
    expect(output).toBe("1");
  });

  test("what fails before the agent begins closes the tree", async () => {
    const journal = new MemoryJournal();
    let watched = 0;
    const watch = journal.watch.bind(journal);
    journal.watch = (runId, listener) => { watched++; const w = watch(runId, listener); return { ...w, coversAll: w.coversAll, stop: () => { watched--; w.stop(); } }; };
    const broken: Agent = { id: AgentId("broken"), run: async () => done(""), get defaults(): never { if (armed) throw new TypeError("no"); return undefined as never; } };
    let armed = false;
    const runtime = new Runtime({ journal });
    const run = runtime.run(broken, "");
    armed = true;
    await expect(run.result).rejects.toThrow("no");
    expect(watched).toBe(0);
  });
});
