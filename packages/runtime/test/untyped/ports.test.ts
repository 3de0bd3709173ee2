import { describe, expect, test } from "vitest";
import { Runtime } from "@ravi/runtime";
import {
  type Agent,
  type CompactionStrategy,
  type Hooks,
  type Journal,
  type Ledger,
  type LLMClient,
  MiddlewareTermination,
  type ModelResponse,
  type Reservation,
  RunId,
  type Settlement,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done } from "../support/helpers.ts";

describe("T11: a port that cannot serve", () => {
  test.each([
    "journal",
    "blobs",
    "headcount",
    "ledger",
    "meter",
    "limiter",
    "hooks",
    "history",
    "compaction",
    "memory",
    "permissions",
    "telemetry",
    "auditLog",
    "restart",
    "validator",
    "clock",
    "ids",
    "logger",
  ])("T11: %s is refused by name", (name) => {
    for (const value of [{}, null, 5]) {
      const make = (): Runtime => Reflect.construct(Runtime, [{ [name]: value }]);
      expect(make).toThrow(new RegExp(`runtime options\\.${name} is .*; expected`));
    }
  });

  test("T11: a layer that is no pipeline is refused by its level", () => {
    const make = (): Runtime => Reflect.construct(Runtime, [{ pipelines: { chat: {} } }]);
    expect(make).toThrow(/runtime options\.pipelines\.chat is .*; expected an object with the methods run/);
  });
});

const NOTHING: Settlement = { warnings: [], exceeded: [] };

function ledger(settled: unknown[], said = NOTHING): Ledger {
  const reservation: Reservation = {
    settle(actual) {
      settled.push(actual);
      return said;
    },
    cancel() {},
  };
  return {
    used: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 },
    reserve: () => reservation,
    charge: () => said,
    child: () => ledger(settled, said),
    remaining: () => ({ tokens: null, cost: null, turns: null, toolCalls: null }),
    snapshot: () => ({}),
  };
}

describe("untyped code", () => {
  test.each([undefined, null, "done", 3])(
    "T11: a model that answers with %j fails, and its reservation is settled",
    async (given) => {
      const settled: unknown[] = [];
      const model: LLMClient = {
        id: "odd",
        info: { provider: "p", model: "m" },
        generate: async () => given as ModelResponse | undefined as ModelResponse,
      };
      const asking = agent("a", async (ctx) =>
        done(String((await ctx.llm(model, ask("go"))).message.content)),
      );
      for (const journal of [undefined, new MemoryJournal()]) {
        const runtime = new Runtime({ journal, ledger: () => ledger(settled) });
        const result = await runtime.run(asking, "go").result;
        expect(result).toMatchObject({
          status: "failed",
          error: { code: "PROVIDER_ERROR", retryable: false },
        });
        expect(result.error?.message).toContain("instead of a response");
      }
      expect(settled).toEqual([{ estimated: true }, { estimated: true }]);
    },
  );

  test.each([undefined, {}])(
    "T11: a ledger that has %j to say of what is settled fails no run, beside the run's own neither",
    async (given) => {
      const settled: unknown[] = [];
      const said = given as Settlement;
      const model = scriptedModel(() => "ok");
      const asking: Agent = {
        ...agent("a", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content))),
        defaults: { executionBudget: ledger(settled, said) },
      };
      for (const own of [undefined, () => ledger(settled, said)]) {
        const result = await new Runtime({ ledger: own }).run(asking, "go").result;
        expect(result).toMatchObject({ status: "completed", output: "ok" });
      }
      expect(settled).toHaveLength(3);
    },
  );

  // Its `then` gives nothing back, as only the language's own promises have to.
  const thenable = <T>(value: T): PromiseLike<T> => {
    const name = ["th", "en"].join("");
    const settle = (fulfilled: (value: T) => unknown): void => void fulfilled(value);
    return { [name]: settle } as object as PromiseLike<T>;
  };

  test("T11: a compaction strategy and a store may give what only looks like a promise", async () => {
    const model = scriptedModel(() => "ok");
    const compaction: CompactionStrategy = {
      name: "last",
      compact: (messages) => thenable(messages.slice(-1)),
    };
    const inner = new MemoryJournal();
    const store: Journal = Object.assign(Object.create(inner) as MemoryJournal, {
      load: (runId: RunId) => thenable(inner.load(runId)),
    });
    const talking = agent("a", async (ctx) => {
      for (const content of ["one", "two"]) await ctx.remember({ role: "user", content });
      return done(String((await ctx.llm(model, { messages: await ctx.window() })).message.content));
    });
    const runtime = new Runtime({ journal: store, blobs: new MemoryBlobs(), compaction, agents: [talking] });
    expect(await runtime.run(talking, "go", { runId: "r" }).result).toMatchObject({ output: "ok" });
    expect(model.calls[0]?.request.messages).toMatchObject([{ content: "two" }]);
    expect(await runtime.resume("r").result).toMatchObject({ output: "ok" });
    expect(model.calls).toHaveLength(1);
  });

  test("T11: a hire whose input is no text is refused, and says so", async () => {
    const helper: Agent = agent("helper", async () => done(""));
    const lead = agent("lead", async (ctx) => {
      const input = JSON.parse('{"task":"go"}') as string;
      const outcomes = await ctx.batch([{ kind: "hire", agent: helper, input }]);
      await expect(ctx.hire({ agent: helper, input })).rejects.toMatchObject({ code: "INVALID_VALUE" });
      return done(outcomes.map((outcome) => ("error" in outcome ? outcome.error.message : "hired")).join());
    });
    const { output } = await new Runtime({ journal: new MemoryJournal() }).run(lead, "go").result;
    expect(output).toContain("hire.input");
  });
});

test.each([
  ["onFull", "wait", '"deny" or "queue"'],
  ["onPreempt", "pause", '"park" or "return"'],
  ["onTimeout", "kill", '"cancel" or "leave"'],
])("T11: a hire whose %s is %s is refused, and says what there is", async (field, value, expected) => {
  const kid = agent("kid", async () => done("hired"));
  const lead = agent("lead", async (ctx) => {
    const terms = { agent: kid, input: "", [field]: value };
    const hired = await ctx.hire(terms).then(({ status }) => status, String);
    const spawned = await ctx.spawn(kid, terms).then(({ status }) => status, String);
    return done(`${hired} | ${spawned}`);
  });
  const { output } = await new Runtime().run(lead, "").result;
  const problem = `InvalidValueError: hire.${field} is "${value}"; expected ${expected}`;
  expect(output).toBe(`${problem} | ${problem}`);
});

test("T11: a field of a hire that nobody knows is refused, not ignored, and so is a second argument", async () => {
  const kid = agent("kid", async () => done("hired"));
  const lead = agent("lead", async (ctx) => {
    const terms = { agent: kid, input: "", executionbudget: { maxTurns: 1 } };
    const hired = await ctx.hire(terms).then(({ status }) => status, String);
    const spawned = await ctx.spawn(kid, terms).then(({ status }) => status, String);
    const own = { kind: "hire", agent: kid, input: "", budget: { usd: 1 } } as const;
    const [misspelt, unknown] = await ctx.batch([{ kind: "hire", ...terms }, own]);
    const said = "error" in misspelt ? String(misspelt.error) : misspelt.status;
    const refused = "error" in unknown ? String(unknown.error) : unknown.status;
    const two = [{ agent: kid, input: "" }, { executionBudget: { maxTurns: 1 } }];
    const second = await Promise.resolve(Reflect.apply(ctx.hire.bind(ctx), undefined, two)).then(
      String,
      String,
    );
    return done([hired, spawned, said, refused, second].join(" | "));
  });
  for (const runtime of [new Runtime(), new Runtime({ journal: new MemoryJournal() })]) {
    const [hired, spawned, said, refused, second] = (await runtime.run(lead, "").result).output.split(" | ");
    const problem = /^InvalidValueError: hire\.executionbudget is .*; did you mean executionBudget\?$/;
    for (const each of [hired, spawned, said]) expect(each).toMatch(problem);
    expect(refused).toMatch(
      /^InvalidValueError: hire\.budget is .*known fields: .*executionBudget.*; did you mean executionBudget\?$/,
    );
    expect(second).toMatch(
      /^InvalidValueError: the second argument of ctx\.hire is .*put the options beside agent and input/,
    );
  }
});

test("a time that nobody would keep is refused: a spawned child is not waited for", async () => {
  const lead = agent("lead", async (ctx) => {
    await ctx.spawn(
      agent("child", async () => done("ok")),
      { input: "", timeoutS: 5 },
    );
    return done("ok");
  });
  const { status, error } = await new Runtime().run(lead, "").result;
  expect(status).toBe("failed");
  expect(error?.message).toMatch(/spawn\.timeoutS is 5; expected .*deadlineS/);
});

test.each([undefined, null, "text", {}])("a compaction strategy that gives %j is named", async (given) => {
  const compaction = { name: "cutter", compact: () => given } as CompactionStrategy;
  const talker = agent("talker", async (ctx) => {
    await ctx.window();
    return done("ok");
  });
  const { error } = await new Runtime({ compaction }).run(talker, "").result;
  expect(error?.message).toMatch(/^what cutter gave is .*; expected a list of messages/);
});

describe("a factory that gives no port", () => {
  const model = scriptedModel(() => "paid");
  const worker = agent("worker", async (ctx) => {
    await ctx.llm(model, ask("pay"));
    return done("paid");
  });

  test.each([
    ["nothing", undefined],
    ["what is no ledger", {}],
    ["a promise of one", Promise.resolve(ledger([]))],
  ])(
    "R18: %s instead of a ledger is refused before anything is paid: a limit would be kept by nobody",
    async (_, given) => {
      const runtime = new Runtime({ ledger: () => given as never });
      await expect(
        runtime.run(worker, "", { executionBudget: { maxTurns: 1 } }).result,
      ).rejects.toMatchObject({
        code: "INVALID_VALUE",
        message: expect.stringMatching(
          /^what runtime options\.ledger gives is .*; expected an object with the methods reserve, charge, child, remaining$/,
        ),
      });
      expect(model.calls).toHaveLength(0);
    },
  );

  test("R14: nothing instead of a headcount is refused, and leaves nothing claimed", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, headcount: () => undefined as never });
    await expect(
      runtime.run(worker, "", { runId: "r", spawnBudget: { maxAgents: 1 } }).result,
    ).rejects.toMatchObject({ field: "what runtime options.headcount gives" });
    expect(journal.claim(RunId("r"), "another", 1_000)).not.toBeNull();
  });
});

test("R20: hooks are what can be asked and told: nobody is waited for where they cannot be drained", async () => {
  const told: string[] = [];
  const hooks: Hooks = { has: () => true, dispatch: (event) => void told.push(event) };
  const idle: Agent = { ...agent("idle", async () => done("ok")), hooks };
  expect(await new Runtime().run(idle, "").result).toMatchObject({ status: "completed" });
  expect(
    await new Runtime({ hooks }).run(
      agent("idle", async () => done("ok")),
      "",
    ).result,
  ).toMatchObject({
    status: "completed",
  });
  expect(told).toEqual(["run_start", "run_end", "run_start", "run_end"]);
});

test.each<[string, Partial<Hooks>]>([
  ["throw", { dispatch: () => fail("broken") }],
  ["reject", { dispatch: async () => fail("broken") }],
  ["cannot be asked", { has: () => fail("broken") }],
  ["cannot be drained", { drain: () => fail("broken") }],
  ["reject when they are drained", { drain: async () => fail("broken") }],
])("T8: hooks of one's own that %s change no run, and the log hears of it", async (_, broken) => {
  const errors: unknown[] = [];
  const quiet = (): void => {};
  const error = (...said: unknown[]): void => void errors.push(said);
  const logger = { debug: quiet, info: quiet, warn: quiet, error };
  const hooks: Hooks = { has: () => true, dispatch: quiet, ...broken };
  const idle = agent("idle", async () => done("ok"));
  for (const [runtime, hooked] of [
    [new Runtime({ hooks, logger }), idle],
    [new Runtime({ logger }), { ...idle, hooks }],
  ] as const) {
    errors.length = 0;
    const { result } = runtime.run(hooked, "", { runId: "r" });
    expect(await result).toMatchObject({ status: "completed", output: "ok" });
    // What was not about a run names none.
    const runId = "dispatch" in broken ? "r" : undefined;
    expect(errors[0]).toEqual(["a hook failed; the run is not affected", { error: "broken", runId }]);
  }
});

test.each<[string, Partial<Hooks>]>([
  ["throw", { dispatch: () => fail("broken") }],
  ["reject", { dispatch: async () => fail("broken") }],
  ["cannot be asked", { has: () => fail("broken") }],
])("T8: hooks of one's own that %s do not keep a run that crashed from its restart", async (_, broken) => {
  const hooks: Hooks = { has: () => true, dispatch: () => {}, ...broken };
  const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
  let goes = 0;
  const shaky = agent("shaky", async () => (++goes === 1 ? fail("crash") : done("ok")));
  const runtime = new Runtime({ hooks, restart, journal: new MemoryJournal() });
  expect(await runtime.run(shaky, "").result).toMatchObject({ status: "completed", output: "ok" });
});

test("R20: the same hooks for the runtime and for the agent are told once", async () => {
  const told: string[] = [];
  const hooks: Hooks = { has: () => true, dispatch: (event) => void told.push(event) };
  const idle: Agent = { ...agent("idle", async () => done("ok")), hooks };
  await new Runtime({ hooks }).run(idle, "").result;
  expect(told).toEqual(["run_start", "run_end"]);
});

test("J4: a pipeline that does not say that it is a no-op is run", async () => {
  const model = scriptedModel(() => "paid");
  const guard = { admit: () => {}, run: () => Promise.reject(new MiddlewareTermination("not you")) };
  const worker = agent("worker", async (ctx) => {
    await ctx.llm(model, ask("pay"));
    return done("paid");
  });
  const { result } = new Runtime({ pipelines: { chat: guard as never } }).run(worker, "");
  expect(await result).toMatchObject({ status: "failed", error: { code: "MIDDLEWARE_TERMINATION" } });
  expect(model.calls).toHaveLength(0);
});

test("J4: a pipeline that cannot admit is refused when the runtime is made, and breaks no run", () => {
  const half = { isNoop: false, run: (_: unknown, core: () => Promise<void>) => core() };
  expect(() => new Runtime({ pipelines: { agent: half as never } })).toThrow(
    "runtime options.pipelines.agent is an object; expected an object with the methods run and admit",
  );
});

test("J4: a pipeline at a level that there is not is refused, and not left out", () => {
  const guard = {
    isNoop: false,
    admit: () => {},
    run: () => Promise.reject(new MiddlewareTermination("not you")),
  };
  expect(() => new Runtime({ pipelines: { chats: guard } as never })).toThrow(
    "runtime options.pipelines.chats is an object; expected no field of that name; known fields: agent, chat, function; did you mean chat?",
  );
});

function fail(message: string): never {
  throw new Error(message);
}

test("a path in place of a journal is refused with what makes a journal of it", () => {
  expect(() => new Runtime({ journal: ".ravi" as never })).toThrow(
    /^runtime options\.journal is "\.ravi"; .*, such as SqliteJournal\.open\("\.ravi"\)$/,
  );
});
