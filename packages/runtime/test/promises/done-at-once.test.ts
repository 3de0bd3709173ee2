import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  deepFreeze,
  defineTool,
  type FunctionContext,
  type Hooks,
  LaneViolationError,
  type MaybePromise,
  type ModelResponse,
  type Pipeline,
  type RunContext,
  type RunEvent,
  RunId,
  textOf,
  type Tool,
  type ToolLeaf,
  type Usage,
} from "@ravi/kernel";
import { planLoop, toolLoop, toolTurn } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { Requests } from "../../src/context/requests.ts";
import { agent, ask, cut, done, FakeLedger } from "../support/helpers.ts";
import { said } from "../support/open-house.ts";

const RUN = RunId("r1");

function tool(name: string, execute: () => unknown): Tool {
  return defineTool({ name, description: "", input: z.object({}), idempotent: true, execute });
}

const echo = tool("echo", () => "echo");
const leaf = (asked: Tool): ToolLeaf => ({
  kind: "tool",
  call: { id: asked.name, name: asked.name, arguments: "{}" },
  tool: asked,
});
const usage = { inputTokens: 3, outputTokens: 2 };
const model = {
  id: "m",
  info: { provider: "x", model: "m" },
  generate: async () => ({ ...said("fine"), usage }),
};

describe("the lane of what is done at once", () => {
  const call = (id: string) => ({ id, name: "echo", arguments: "{}" });
  const pairs: [string, (ctx: RunContext) => Promise<unknown>[]][] = [
    ["two tools", (ctx) => [ctx.tool(call("1"), echo), ctx.tool(call("2"), echo)]],
    ["two batches", (ctx) => [ctx.batch([leaf(echo)]), ctx.batch([leaf(echo)])]],
    ["a tool and a model", (ctx) => [ctx.tool(call("1"), echo), ctx.llm(model, ask(""))]],
  ];

  test.each(pairs)(
    "R24: %s at once are refused however fast the first is, and after a crash",
    async (_, both) => {
      const lead = agent("lead", async (ctx) => {
        const ends = await Promise.allSettled(both(ctx));
        await ctx.tool(call("3"), echo);
        return done(ends.map((end) => ("value" in end ? "made" : String(end.reason))).join());
      });
      const journal = new MemoryJournal();
      const first = await new Runtime({ journal }).run(lead, "", { runId: RUN }).result;
      expect(first.output).toMatch(/^made,LaneViolationError/);
      const records = journal.load(RUN);
      for (let at = 1; at < records.length; at++) {
        const left = cut(RUN, records.slice(0, at));
        const again = await new Runtime({ journal: left, agents: [lead] }).resume(RUN).result;
        expect({ at, output: again.output }).toEqual({ at, output: first.output });
      }
    },
  );
});

describe("the turns of a loop", () => {
  const calls = [{ id: "1", name: "echo", arguments: "{}" }];
  const asked: ModelResponse = {
    message: { role: "assistant", content: "", toolCalls: calls },
    finishReason: "toolCalls",
  };
  const plan = (tools: readonly Tool[]) => {
    let asks = 0;
    const generate = async (): Promise<ModelResponse> => (asks++ === 0 ? asked : said("fine"));
    return planLoop("lead", { name: "lead", model: { ...model, generate }, tools });
  };

  test("R24: two turns at once are refused, also where their tools are done at once", async () => {
    const lead = agent("lead", async (ctx) => {
      const turns = await Promise.all([toolTurn(ctx, asked, [echo]), toolTurn(ctx, asked, [echo])]);
      return done(turns.map(({ stop }) => stop?.code ?? "made").join());
    });
    for (const options of [{}, { journal: new MemoryJournal() }]) {
      const { output } = await new Runtime(options).run(lead, "").result;
      expect(output).toBe("made,LANE_VIOLATION");
    }
  });

  type Method = "batch" | "llm";
  const contexts: [string, (ctx: RunContext, name: Method, told: string[]) => RunContext][] = [
    [
      "through a proxy",
      (ctx, _, told) =>
        new Proxy(ctx, {
          get(target, key): unknown {
            const value: unknown = Reflect.get(target, key, target);
            if (typeof value !== "function") return value;
            return (...args: unknown[]): unknown => {
              told.push(String(key));
              return Reflect.apply(value, target, args);
            };
          },
        }),
    ],
    [
      "with a proxy of its method",
      (ctx, name, told) => {
        const apply = (method: RunContext[Method], self: RunContext, args: unknown[]): unknown => {
          told.push(name);
          return Reflect.apply(method, self, args);
        };
        return Object.assign(ctx, { [name]: new Proxy(ctx[name], { apply }) });
      },
    ],
    [
      "with a spy on its method, which has all the fields of it",
      (ctx, name, told) => {
        const method = ctx[name];
        const spy = (...args: unknown[]): unknown => {
          told.push(name);
          return Reflect.apply(method, ctx, args);
        };
        Object.defineProperties(spy, Object.getOwnPropertyDescriptors(method));
        return Object.assign(ctx, { [name]: spy });
      },
    ],
    [
      "on top of it",
      (ctx, name, told) => {
        const value = (...args: unknown[]): unknown => {
          told.push(name);
          return Reflect.apply(ctx[name], ctx, args);
        };
        return Object.create(ctx, { [name]: { value } }) as RunContext;
      },
    ],
  ];

  test.each(contexts)("R19: a context of somebody's own, %s, is asked itself", async (_, wrap) => {
    for (const [name, times] of [
      ["batch", 1],
      ["llm", 2],
    ] as const) {
      const told: string[] = [];
      const lead = agent("lead", (ctx) => toolLoop(plan([echo]), wrap(ctx, name, told), ""));
      const { output } = await new Runtime().run(lead, "").result;
      expect(output).toBe("fine");
      expect(told.filter((each) => each === name)).toHaveLength(times);
    }
  });

  const misfits: [string, () => unknown][] = [
    ["gives nothing", () => undefined],
    ["gives a promise of nothing", async () => undefined],
    ["gives what is no answer", () => ({ message: { role: "user" } })],
    [
      "throws at once",
      () => {
        throw new Error("no network");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("no network"))],
  ];

  test.each(misfits)("R24: a model that %s is asked once, and leaves the lane free", async (_, answer) => {
    let asks = 0;
    const generate = (): Promise<ModelResponse> => {
      asks++;
      return answer() as Promise<ModelResponse>;
    };
    const broken = planLoop("lead", { name: "lead", model: { ...model, generate } });
    const lead = agent("lead", async (ctx) => {
      const failure: unknown = await toolLoop(broken, ctx, "").catch((error: unknown) => error);
      const { message } = await ctx.llm(model, ask(""));
      return done(`${String(failure)}, then ${textOf(message)}`);
    });
    for (const options of [{}, { journal: new MemoryJournal() }]) {
      asks = 0;
      const { output, usage: used } = await new Runtime(options).run(lead, "").result;
      expect(output).toMatch(/^(ProviderError: m returned|Error: no network).*, then fine$/);
      expect(used).toEqual(usage);
      expect(asks).toBe(1);
    }
  });

  test("R24: a tool of a turn finds the lane taken, and the next turn finds it free", async () => {
    const refused: unknown[] = [];
    let context: RunContext | undefined;
    const nosy = tool("echo", () => {
      void context?.batch([leaf(echo)]).catch((error: unknown) => refused.push(error));
      return "echo";
    });
    const lead = agent("lead", async (ctx) => {
      context = ctx;
      await toolLoop(plan([nosy]), ctx, "");
      return done((await ctx.batch([leaf(echo)])).map(({ status }) => status).join());
    });
    for (const options of [{}, { journal: new MemoryJournal() }]) {
      const { output } = await new Runtime(options).run(lead, "").result;
      expect(output).toBe("completed");
    }
    expect(refused).toEqual([expect.any(LaneViolationError), expect.any(LaneViolationError)]);
  });

  test("R24: a turn that is refused leaves its lane: the run ends", async () => {
    const generate = async (): Promise<ModelResponse> => {
      handle.cancel("enough");
      return asked;
    };
    const cancelled = planLoop("lead", { name: "lead", model: { ...model, generate }, tools: [echo] });
    const lead = agent("lead", (ctx) => toolLoop(cancelled, ctx, ""));
    const handle = new Runtime({ journal: new MemoryJournal() }).run(lead, "");
    expect(await handle.result).toMatchObject({ status: "cancelled" });
  });
});

describe("a batch of tools that are done at once, after a crash", () => {
  const names = ["one", "two", "three"];

  function crew(): { readonly lead: Agent; readonly made: string[] } {
    const made: string[] = [];
    const tools = names.map((name) =>
      defineTool({ name, description: "", input: z.object({}), execute: () => void made.push(name) }),
    );
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask(""));
      const outcomes = await ctx.batch(tools.map((each) => leaf(each)));
      return done(outcomes.map(({ status }) => status).join());
    });
    return { lead, made };
  }

  test("R24: at any entry, what has ended is not made again, what had begun is asked about, and the rest is made", async () => {
    const journal = new MemoryJournal();
    const first = await new Runtime({ journal }).run(crew().lead, "", { runId: RUN }).result;
    const records = journal.load(RUN);
    const keyOf = (name: string): string => `tool:1:${names.indexOf(name)}`;
    for (let at = 1; at < records.length; at++) {
      const known = records.slice(0, at);
      const has = (name: string, phase: string): boolean =>
        known.some((record) => record.key === keyOf(name) && record.phase === phase);
      const doubts = names.filter((name) => has(name, "begin") && !has(name, "end"));
      expect(doubts.length).toBeLessThanOrEqual(1);
      for (const decision of ["retry", "skip", "fail"] as const) {
        const { lead, made } = crew();
        const ledger = new FakeLedger();
        const options = { journal: cut(RUN, known), agents: [lead], ledger: () => ledger };
        const decisions = Object.fromEntries(doubts.map((name) => [`${RUN}:${keyOf(name)}`, decision]));
        const { status, output } = await new Runtime(options).resume(RUN, { decisions }).result;
        expect({ at, status }).toEqual({ at, status: "completed" });
        if (doubts.length === 0 || decision !== "fail") expect(output).toBe(first.output);
        const isMade = (name: string): boolean =>
          !has(name, "end") && (!doubts.includes(name) || decision === "retry");
        expect({ at, made }).toEqual({ at, made: names.filter(isMade) });
      }
    }
  });
});

describe("what is told is frozen, and nothing else", () => {
  const lead = agent("lead", async (ctx) => {
    const response = await ctx.llm(model, ask(""));
    await ctx.tool({ id: "1", name: "echo", arguments: "{}" }, echo);
    if (Object.isFrozen(response)) throw new Error("the answer is frozen");
    return done("");
  });

  /** Takes what was made for an event, and freezes it, as hooks may. */
  function freezing(told: unknown[]): Hooks {
    const dispatchOwn: Hooks["dispatch"] = (_event, payload) => void told.push(deepFreeze(payload));
    return { has: () => true, dispatch: () => {}, dispatchOwn, drain: () => {} };
  }

  test("R20: not the usage of the provider, of an event or of the result", async () => {
    const told: { usage?: Usage }[] = [];
    const usages: Usage[] = [usage];
    const onEvent = ({ event }: RunEvent): void => {
      if (event.type === "usage") usages.push(event.usage);
    };
    const run = new Runtime({ hooks: freezing(told) }).run(lead, "", { onEvent });
    usages.push((await run.result).usage);
    expect(usages).toEqual([usage, usage, usage]);
    expect(usages.map(Object.isFrozen)).toEqual([false, false, false]);
    expect(told.flatMap((payload) => payload.usage ?? [])).toEqual([usage, usage]);
    expect(told.map(Object.isFrozen)).not.toContain(false);
  });

  test("R20: nor what is on record, where a journal gives what it keeps", async () => {
    const journal = new MemoryJournal();
    await new Runtime({ journal }).run(lead, "", { runId: RUN }).result;
    const left = cut(RUN, journal.load(RUN).slice(0, -1));
    const records = structuredClone(left.load(RUN));
    left.load = () => records;
    const told: unknown[] = [];
    const runtime = new Runtime({ journal: left, hooks: freezing(told), agents: [lead] });
    expect(await runtime.resume(RUN).result).toMatchObject({ status: "completed", usage });
    expect(told.length).toBeGreaterThan(0);
    const answered = records.find(({ key, phase }) => key === "llm:m#1" && phase === "end");
    const spend = answered?.body["spend"] as { readonly usage: Usage };
    expect(spend.usage).toEqual(usage);
    expect([spend, spend.usage].map(Object.isFrozen)).toEqual([false, false]);
  });
});

describe("what stands for a request", () => {
  test("R24: settings with a large schema are told apart, and not kept", () => {
    const request = (n: number) => ({
      messages: [],
      output: { name: "o", schema: { description: `${"x".repeat(1_000_000)}${n}` } },
    });
    const names = new Set<string>();
    const before = heapUsed();
    for (let n = 0; n < 60; n++) names.add(new Requests().fingerprint("m", request(n)));
    expect(names.size).toBe(60);
    expect(new Requests().fingerprint("m", request(7))).toBe(new Requests().fingerprint("m", request(7)));
    expect(heapUsed() - before).toBeLessThan(30_000_000);
  });
});

/** After what nobody holds is gone. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

describe("layers of the runtime and of the agent around a tool that is done at once", () => {
  const layer = (name: string, log: string[], isDirect: boolean): Pipeline<FunctionContext> => ({
    isNoop: false,
    admit() {},
    async run(_, core) {
      log.push(name);
      await core();
    },
    ...(isDirect && {
      runDirect(_: FunctionContext, core: () => MaybePromise<void>) {
        log.push(name);
        return core();
      },
    }),
  });

  test.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])("R11: all of them see it, whether they take it at once or not (%s, %s)", async (outer, inner) => {
    const log: string[] = [];
    const lead: Agent = {
      ...agent("lead", async (ctx) => {
        const { content } = await ctx.tool({ id: "1", name: "echo", arguments: "{}" }, echo);
        return done(String(content));
      }),
      pipelines: { function: layer("the agent's", log, inner) },
    };
    const pipelines = { function: layer("the runtime's", log, outer) };
    expect((await new Runtime({ pipelines }).run(lead, "").result).output).toBe("echo");
    expect(log).toEqual(["the runtime's", "the agent's"]);
  });
});

describe("a layer that returns its call and changes the result on the side", () => {
  const redacted = { content: "redacted", isError: false };

  test("R11: is told by an error where the result was taken before, and not passed over in silence", async () => {
    const heard: unknown[] = [];
    const late: Pipeline<FunctionContext> = {
      isNoop: false,
      admit() {},
      run: async (_, core) => core(),
      runDirect(context, core) {
        const passed = core();
        void Promise.resolve(passed)
          .then(() => (context.result = redacted))
          .catch((error: unknown) => heard.push(error));
        return passed;
      },
    };
    const asking = agent("lead", async (ctx) => {
      const { content } = await ctx.tool({ id: "1", name: "echo", arguments: "{}" }, echo);
      return done(String(content));
    });
    const { output } = await new Runtime({ pipelines: { function: late } }).run(asking, "").result;
    expect(output).toBe("echo");
    expect(heard).toEqual([
      expect.objectContaining({
        code: "MIDDLEWARE_ERROR",
        message: expect.stringMatching(/result of echo after the call was over; await next\(\) first/),
      }),
    ]);
  });
});
