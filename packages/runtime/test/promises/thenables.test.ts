import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  defineTool,
  type Hooks,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  type RunContext,
  type RunEvent,
  type Tool,
} from "@ravi/kernel";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done, FakeHeadcount, FakeLedger, turns } from "../support/helpers.ts";

const answer = (content: string): ModelResponse => ({
  message: { role: "assistant", content },
  finishReason: "stop",
  usage: { inputTokens: 1, outputTokens: 1 },
});

function model(generate: (...given: Parameters<LLMClient["generate"]>) => unknown): LLMClient {
  return { id: "m", info: { provider: "x", model: "m" }, generate: generate as LLMClient["generate"] };
}

function tool(execute: () => unknown): Tool {
  return defineTool({ name: "t", description: "", input: z.object({}), idempotent: true, execute });
}

const call = (id: string) => ({ id, name: "t", arguments: "{}" });

/** How many calls are under way where it is called. */
function framesNow(): number {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Infinity;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = limit;
  // What was awaited is no longer on it.
  return stack.split("\n").filter((line) => !line.includes("at async ")).length;
}

/** What an agent that was not compiled may be. */
function untyped(name: string, run: () => unknown, layer?: Pipeline<AgentRunContext>): Agent {
  const pipelines = layer === undefined ? undefined : { agent: layer };
  return { id: AgentId(name), run: run as Agent["run"], pipelines };
}

/** No promise, and its `then` gives nothing back. */
function thenable(value: unknown): unknown {
  const later = (resolve: (value: unknown) => void): void => queueMicrotask(() => resolve(value));
  const name = ["th", "en"].join("");
  return { [name]: later };
}

function fail(message: string): never {
  throw new TypeError(message);
}

const rules: Record<string, () => RuntimeOptions> = {
  "a bare runtime": () => ({}),
  "a ledger": () => ({ ledger: () => new FakeLedger() }),
  "a journal, a ledger and a headcount": () => ({
    journal: new MemoryJournal(),
    ledger: () => new FakeLedger(),
    headcount: () => new FakeHeadcount(),
  }),
};

describe.each(Object.entries(rules))("at once, by a promise or by a thenable, with %s", (_, options) => {
  test("R12: an agent behind a layer may return its result without a promise, or throw at once", async () => {
    const layer: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: () => {},
      run: async (_context, core) => core(),
    };
    const plain = await new Runtime(options()).run(
      untyped("plain", () => done("at once"), layer),
      "",
    ).result;
    expect(plain).toMatchObject({ status: "completed", output: "at once" });
    const broken = await new Runtime(options()).run(
      untyped("broken", () => fail("oops"), layer),
      "",
    ).result;
    expect(broken).toMatchObject({ status: "failed" });
  });

  test("R12: children that throw at once, or give a result or a thenable instead of a promise, are hired like others", async () => {
    const children = [
      untyped("a", () => fail("now")),
      untyped("b", () => done("plain")),
      untyped("c", () => thenable(done("thenable"))),
      untyped("d", () => undefined),
    ];
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch(children.map((child) => ({ kind: "hire", agent: child, input: "" })));
      for (const child of children) outcomes.push(await ctx.join(await ctx.spawn(child, { input: "" })));
      return done(outcomes.map((one) => ("result" in one ? one.result.output : one.status)).join());
    });
    const { output } = await new Runtime(options()).run(lead, "").result;
    expect(output).toBe("failed,plain,thenable,failed,failed,plain,thenable,failed");
  });

  test("R23: a tool may give a thenable that is no promise, alone and in a batch", async () => {
    const slow = tool(() => thenable("fine"));
    const lead = agent("lead", async (ctx) => {
      const alone = await ctx.tool(call("1"), slow);
      const [other] = await ctx.batch([{ kind: "tool", call: call("2"), tool: slow }]);
      return done(
        `${String(alone.content)} ${other?.status === "completed" ? String(other.result.content) : ""}`,
      );
    });
    const { status, output } = await new Runtime(options()).run(lead, "").result;
    expect({ status, output }).toEqual({ status: "completed", output: "fine fine" });
  });

  test("R23: a model may give a thenable or a plain answer, or throw at once, alone and in a batch", async () => {
    const lead = agent("lead", async (ctx) => {
      const a = await ctx.llm(
        model(() => thenable(answer("a"))),
        ask("x"),
      );
      const b = await ctx.llm(
        model(() => answer("b")),
        ask("x"),
      );
      const c = await ctx
        .llm(
          model(() => fail("c")),
          ask("x"),
        )
        .catch(String);
      const batch = await ctx.batch([
        { kind: "llm", model: model(() => fail("d")), request: ask("x") },
        { kind: "llm", model: model(async () => answer("e")), request: ask("x") },
      ]);
      const said = [a.message.content, b.message.content, c, ...batch.map(({ status }) => status)];
      return done(said.join());
    });
    const { output } = await new Runtime(options()).run(lead, "").result;
    expect(output).toBe("a,b,TypeError: c,failed,completed");
  });

  test("R23: a listener port that throws fails the call that it is told of, and the others of the batch end too", async () => {
    let running = 0;
    const slow = tool(async () => {
      running++;
      await turns(3);
      running--;
      return "";
    });
    let told = 0;
    // Whoever takes what is theirs is trusted not to throw: others are guarded, and fail nothing.
    const dispatch = (): undefined => (++told === 2 ? fail("the listener") : undefined);
    const hooks: Hooks = {
      has: (event) => event === "tool_start",
      dispatch,
      dispatchOwn: dispatch,
      drain: () => {},
    };
    const lead = agent("lead", async (ctx) => {
      const outcomes = await ctx.batch([
        { kind: "tool", call: call("1"), tool: slow },
        { kind: "tool", call: call("2"), tool: slow },
      ]);
      return done([...outcomes.map(({ status }) => status), running].join());
    });
    const { output } = await new Runtime({ ...options(), hooks }).run(lead, "").result;
    expect(output).toBe("completed,failed,0");
  });

  test("R23: two operations at once are refused, whatever they are", async () => {
    const lead: Agent = agent("lead", async (ctx) => {
      const quick = model(async () => answer(""));
      const all = await Promise.allSettled([
        ctx.llm(quick, ask("a")),
        ctx.llm(quick, ask("b")),
        ctx.batch([{ kind: "tool", call: call("1"), tool: tool(() => "") }]),
        ctx.tool(
          call("2"),
          tool(() => ""),
        ),
        ctx.hire({ agent: lead, input: "" }),
      ]);
      return done(all.map((one) => (one.status === "fulfilled" ? "ok" : String(one.reason.code))).join());
    });
    const { output } = await new Runtime(options()).run(lead, "").result;
    expect(output).toBe("ok,LANE_VIOLATION,LANE_VIOLATION,LANE_VIOLATION,LANE_VIOLATION");
  });

  test("R16: hires that begin in the tick of their parent may be as deep as their ids can say", async () => {
    const deep: Agent = agent("deep", async (ctx, { input }) => {
      if (input === "0") return done("bottom");
      const outcome = await ctx.hire({ agent: deep, input: String(Number(input) - 1) });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    expect(await new Runtime(options()).run(deep, "250").result).toMatchObject({ output: "bottom" });
  });

  test("R16: hires inside hires do not fill the stack, which is smaller on some machines", async () => {
    const frames: number[] = [];
    const deep: Agent = agent("deep", async (ctx, { input }) => {
      frames.push(framesNow());
      if (input !== "0") await ctx.hire({ agent: deep, input: String(Number(input) - 1) });
      return done("");
    });
    await new Runtime(options()).run(deep, "64").result;
    expect(frames).toHaveLength(65);
    const most = (to: number): number => Math.max(...frames.slice(0, to));
    expect(most(65)).toBe(most(32));
  });

  test.each([14, 15, 16])(
    "R9: whoever cancels its run right after it has hired is told so, %i levels down",
    async (depth) => {
      let told = "";
      let [begun, paid] = [0, 0];
      const quick = model(async () => {
        paid++;
        return answer("");
      });
      const last = agent("last", async (ctx) => {
        begun++;
        await Promise.resolve();
        await ctx.llm(quick, ask(""));
        return done("");
      });
      const deep: Agent = agent("deep", async (ctx, { input }) => {
        if (input !== "0") {
          await ctx.hire({ agent: deep, input: String(Number(input) - 1) });
          return done("");
        }
        const hired = ctx.hire({ agent: last, input: "" });
        run.cancel("enough");
        told = await hired.then(
          ({ status }) => status,
          (error: unknown) => (error instanceof Error ? error.name : ""),
        );
        return done("");
      });
      const run = new Runtime(options()).run(deep, String(depth));
      expect((await run.result).status).toBe("cancelled");
      await turns();
      // With a headcount the seat is waited for, and nobody has begun yet.
      expect(told).toBe(options().headcount === undefined ? "CancellationError" : "cancelled");
      expect(paid).toBe(0);
      expect(begun).toBeLessThanOrEqual(1);
    },
  );

  test("R9: a child that cancels its run in its first tick pays for nothing, nor does its sibling", async () => {
    let paid = 0;
    const child = agent("child", async (ctx) => {
      run.cancel("enough");
      await ctx.llm(
        model(() => {
          paid++;
          return answer("");
        }),
        ask(""),
      );
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.batch([1, 2].map((n) => ({ kind: "hire", agent: child, input: String(n) })));
      return done("");
    });
    const run = new Runtime(options()).run(lead, "");
    expect((await run.result).status).toBe("cancelled");
    await turns();
    expect(paid).toBe(0);
  });

  test("T4: a tool may close the runtime that it runs in and wait for it", async () => {
    const runtime = new Runtime(options());
    const closing = tool(() => runtime.close());
    const lead = agent("lead", async (ctx) => {
      await ctx.tool(call("1"), closing);
      return done("");
    });
    const { status } = await runtime.run(lead, "").result;
    expect(["cancelled", "suspended"]).toContain(status);
  });

  test("J3: what onEvent does at once comes after the event for whoever reads, and what it rejects with is its own affair", async () => {
    let inner: RunContext | undefined;
    const complaints: string[] = [];
    const log = (message: string): void => void complaints.push(message);
    const logger = { debug: log, info: log, warn: log, error: log };
    const lead = agent("lead", async (ctx) => {
      inner = ctx;
      ctx.emit({ type: "progress", name: "a", data: null });
      return done("");
    });
    // A function may be asynchronous where its result does not matter, and the compiler takes it.
    const onEvent: (event: RunEvent) => unknown = async ({ event }) => {
      if (event.type !== "progress" || event.name !== "a") return;
      inner?.emit({ type: "progress", name: "b", data: null });
      fail("late");
    };
    const run = new Runtime({ ...options(), logger }).run(lead, "", { onEvent });
    const read = Array.fromAsync(run.events(), ({ seq }) => seq);
    expect((await run.result).status).toBe("completed");
    expect(await read).toEqual([1, 2, 3, 4]);
    expect(complaints).toEqual(["onEvent threw an error; the run continues"]);
  });
});
