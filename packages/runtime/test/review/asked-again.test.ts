import {
  type AgentRunContext,
  BudgetExhaustedError,
  type ChatContext,
  defineTool,
  type ExecutionBudgetOptions,
  type FunctionContext,
  type JournalEntry,
  type LLMClient,
  type Pipeline,
  ProviderError,
  RaviError,
  type Limiter,
  RunId,
  type StreamTransform,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agent, ask, done, FakeLedger, turns, until, within } from "./helpers.ts";

const tool = defineTool({ name: "t", description: "", input: z.object({}), execute: () => "ok" });
const call = { id: "c", name: "t", arguments: "{}" };

/** Layers whose admits run one after the other, as those of a pipeline do. */
function gated(...names: readonly string[]): Pipeline<FunctionContext> {
  return {
    isNoop: false,
    async admit(_, gate) {
      for (const name of names) await gate.require(name, null);
    },
    run: async (_, core) => core(),
  };
}

describe("R21: what layers ask for before a call", () => {
  it.each([
    ["another after one that was asked for twice", ["a", "a", "b"], ["a", "b"]],
    ["the same after another", ["a", "b", "a", "c"], ["a", "b", "c"]],
  ])("%s is asked for and answered", async (_, names, expected) => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const asked: string[] = [];
    const caller = {
      ...agent("caller", async (ctx) => {
        const [outcome] = await ctx.batch([{ kind: "tool", call, tool }]);
        return done(outcome.status);
      }),
      pipelines: { function: gated(...names) },
    };
    const run = runtime.run(caller, "", {
      runId: "r",
      onEvent: ({ event }) => {
        if (event.type !== "progress") return;
        const { name } = event.data as { name: string };
        asked.push(name);
        void runtime.deliver("r", name, true);
      },
    });
    expect(await within(run.result)).toMatchObject({ status: "completed", output: "completed" });
    expect(asked).toEqual(expected);
  });

  it("R11: a name alone is asked for with no question, and told as plain JSON", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const asking: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: async (_, gate) => void (await gate.require("approval:deploy")),
      run: async (_, core) => core(),
    };
    const caller = {
      ...agent("caller", async (ctx) => done(String((await ctx.tool(call, tool)).content))),
      pipelines: { function: asking },
    };
    const told: unknown[] = [];
    const run = runtime.run(caller, "", {
      runId: "r",
      onEvent: ({ event }) => {
        if (event.type === "progress") told.push(event.data);
      },
    });
    await until(() => run.status === "suspended");
    await runtime.deliver("r", "approval:deploy", true);
    expect(await within(run.result)).toMatchObject({ output: "ok" });
    expect(told).toStrictEqual([{ name: "approval:deploy", question: null }]);
  });

  it("two at once, and one more while the first are waited for", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const { promise: later, resolve: goOn } = Promise.withResolvers<void>();
    const asking: Pipeline<FunctionContext> = {
      isNoop: false,
      async admit(context, gate) {
        const first = gate.require("first", null);
        await later;
        await Promise.all([first, gate.require("second", null)]);
        context.result = { content: "answered", isError: false };
      },
      run: async (_, core) => core(),
    };
    const caller = {
      ...agent("caller", async (ctx) => done(String((await ctx.tool(call, tool)).content))),
      pipelines: { function: asking },
    };
    const run = runtime.run(caller, "", { runId: "r" });
    await until(() => run.status === "suspended");
    goOn();
    await turns();
    await runtime.deliver("r", "first", 1);
    await turns();
    await runtime.deliver("r", "second", 2);
    expect(await within(run.result)).toMatchObject({ output: "answered" });
  });
});

it("R24: a signal that comes while the journal is being looked at is read, at whichever moment", async () => {
  const waiter = agent("waiter", async (ctx) =>
    done(`${String(await ctx.waitFor("a"))}${String(await ctx.waitFor("b"))}`),
  );
  for (let moment = 0; moment < 24; moment++) {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, clock: virtualClock() });
    const run = runtime.run(waiter, "", { runId: "r" });
    await until(() => run.status === "suspended");
    journal.post(RunId("r"), { id: "1", kind: "signal", name: "a", value: 1, at: 0 });
    for (let tick = 0; tick < moment; tick++) await Promise.resolve();
    journal.post(RunId("r"), { id: "2", kind: "signal", name: "b", value: 2, at: 0 });
    expect(await within(run.result), `after ${moment} ticks`).toMatchObject({ output: "12" });
  }
});

it("R24: what a layer has refused stays refused when the process dies before the result is on record", async () => {
  class Dying extends MemoryJournal {
    appends = 0;
    override append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): void {
      if (++this.appends === 2) throw new Error("killed");
      super.append(runId, epoch, entries);
    }
  }
  const guard: Pipeline<AgentRunContext> = {
    isNoop: false,
    admit(context) {
      context.result = {
        status: "completed",
        output: "no",
        structured: { why: "evil" },
        stopReason: "refused",
      };
    },
    run: async (_, core) => core(),
  };
  let ran = 0;
  const worker = {
    ...agent("worker", async () => {
      ran++;
      return done("did it");
    }),
    pipelines: { agent: guard },
  };
  const journal = new Dying();
  await expect(new Runtime({ journal }).run(worker, "x", { runId: "r" }).result).rejects.toThrow("killed");
  const resumed = await new Runtime({ journal, agents: [worker] }).resume("r").result;
  expect(resumed).toMatchObject({
    status: "partial",
    stopReason: "refused",
    output: "no",
    structured: { why: "evil" },
  });
  expect(ran).toBe(0);
  const { agents } = await new Runtime({}).run(worker, "x").result;
  expect(agents).toEqual([]);
  expect(resumed.agents).toEqual(agents);
});

it("R11: a transform that is none is refused by what one has to have", async () => {
  const model = scriptedModel(["never said"]);
  const layer: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    run: async (context, core) => {
      Reflect.apply(context.addTransform, context, [(event: unknown) => event]);
      await core();
    },
  };
  const asker = {
    ...agent("asker", async (ctx) => {
      await ctx.llm(model, { messages: [] });
      return done("");
    }),
    pipelines: { chat: layer },
  };
  const { error } = await new Runtime({}).run(asker, "").result;
  expect(error).toMatchObject({ code: "INVALID_VALUE", field: "addTransform" });
  expect(error?.message).toMatch(/a function; expected .*push.*flush/);
});

it("a guard that trips over what is left of a failed stream does not hide why it failed", async () => {
  let sent = 0;
  const flaky: LLMClient = {
    ...scriptedModel(["not used"]),
    async *stream() {
      sent++;
      yield { type: "text", delta: "half of" };
      if (sent === 1) throw new ProviderError({ kind: "SERVER_ERROR", message: "broke" });
      const message = { role: "assistant", content: "half of" } as const;
      yield { type: "finish", response: { message, finishReason: "stop" } };
    },
  };
  const failures: unknown[] = [];
  const guard: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const transform: StreamTransform = {
        push: (event) => [event],
        flush: () => {
          if (sent === 1) throw new Error("forbidden");
          return [];
        },
      };
      context.addTransform(transform);
      try {
        await core();
      } catch (error) {
        failures.push(error);
        await core();
      }
    },
  };
  const worker = {
    ...agent("worker", async (ctx) => done(String((await ctx.llm(flaky, ask("x"))).message.content))),
    pipelines: { chat: guard },
  };
  const result = await new Runtime().run(worker, "", { onEvent: () => {} }).result;
  expect(failures).toMatchObject([{ message: "broke" }]);
  expect(result).toMatchObject({ status: "completed", output: "half of" });
});

it("a limiter is told what each call took, also of those that are made at the same time", async () => {
  const released: (number | undefined)[] = [];
  const limiter: Limiter = {
    acquire: () => ({ release: (actual) => void released.push(actual?.tokens), [Symbol.dispose]() {} }),
    slowDown() {},
  };
  const { promise: first, resolve: isDone } = Promise.withResolvers<void>();
  const using = (inputTokens: number, wait?: Promise<void>): LLMClient => ({
    ...scriptedModel([]),
    async generate() {
      await wait;
      const message = { role: "assistant", content: "ok" } as const;
      return { message, finishReason: "stop", usage: { inputTokens, outputTokens: 0 } };
    },
  });
  const judges: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const request = ask("?");
      const one = context.call(using(100), request).then(() => isDone());
      await Promise.all([one, context.call(using(10, first), request)]);
      await core();
    },
  };
  const worker = {
    ...agent("worker", async (ctx) => done(String((await ctx.llm(using(1), ask("x"))).message.content))),
    pipelines: { chat: judges },
  };
  await new Runtime({ limiter }).run(worker, "").result;
  expect(released).toEqual([100, 10, 1]);
});

it.each([
  [{ tokens: 10_000_000 }, 1],
  [{ cost: 9_000_000 }, 1],
  [{ cost: 10_000_000 }, 2],
  [{ tokens: 1.5 }, 2],
])("a grant of %j is asked about %i times", async (answer, times) => {
  const clock = virtualClock();
  const runtime = new Runtime({ ledger: () => Object.assign(new FakeLedger(), { raise() {} }), clock });
  const questions: string[] = [];
  const worker = agent("worker", async (ctx) => {
    const refusal = new BudgetExhaustedError({
      dimension: "tokens",
      limit: 1,
      used: 1,
      scope: "worker",
    });
    return done(String(await ctx.requestBudget?.(refusal)));
  });
  const run = runtime.run(worker, "", {
    onEvent: ({ event }) => {
      if (event.type !== "progress") return;
      const { name, question } = event.data as { name: string; question: string };
      questions.push(question);
      void runtime.deliver(run.runId, name, questions.length === 1 ? answer : false);
    },
  });
  expect(await within(run.result)).toMatchObject({ output: String(times === 1) });
  expect(questions).toHaveLength(times);
  if (times === 2) expect(questions[1]).toContain("whole numbers, or for cost dollars up to 9007199");
});

describe("a ledger of the user's own that refuses", () => {
  const model = scriptedModel(() => "ok");
  const asker = (own: FakeLedger | undefined) => ({
    ...agent("asker", async (ctx) => {
      await ctx.llm(model, ask("1"));
      const refusal: unknown = await ctx.llm(model, ask("2")).catch((error: unknown) => error);
      if (!(refusal instanceof BudgetExhaustedError)) throw refusal;
      const isGranted = await ctx.requestBudget?.(refusal);
      return done(`${String(isGranted)} ${String(await ctx.waitFor("word"))} ${refusal.message}`);
    }),
    ...(own !== undefined && { defaults: { executionBudget: own } }),
  });
  class RaisableLedger extends FakeLedger {
    raise(): void {}
    override child(budget: ExecutionBudgetOptions): RaisableLedger {
      return new RaisableLedger(budget, this);
    }
  }
  const raisable = () => new RaisableLedger({ maxTurns: 5 });

  it.each([false, true])(
    "is not asked about, since an answer would raise other limits; the error says whose limit it is (resumed: %s)",
    async (isResumed) => {
      const journal = new MemoryJournal();
      const open = () =>
        new Runtime({ journal, ledger: raisable, agents: [asker(new FakeLedger({ maxTurns: 1 }))] });
      let runtime = open();
      let { result } = runtime.run(asker(new FakeLedger({ maxTurns: 1 })), "", { runId: "r" });
      await until(() => journal.list()[0]?.waitingFor !== undefined);
      if (isResumed) {
        await runtime.close();
        await result;
        runtime = open();
        ({ result } = runtime.resume("r"));
        await until(() => journal.list()[0]?.waitingFor !== undefined);
      }
      expect(journal.list()[0]?.waitingFor?.map(({ name }) => name)).toEqual(["word"]);
      await runtime.deliver("r", "word", "bye");
      const output = expect.stringMatching(
        /^false bye turns budget of fake exhausted: 2 of 1; .* a ledger of your own/,
      );
      expect(await within(result)).toMatchObject({ output });
    },
  );

  class OwnRefusal extends BudgetExhaustedError {
    readonly invoice = 7;
  }
  const fields = { dimension: "cost", used: 2, limit: 1, scope: "mine" } as const;
  const plain = () => new RaviError({ code: "BUDGET_EXHAUSTED", message: "my own limit" });
  it.each([
    ["without fields", plain(), false],
    ["with a field that is none", Object.assign(plain(), fields, { used: NaN }), false],
    ["of a class of its own", new OwnRefusal(fields), true],
  ])(
    "with an error %s ends the run as any other limit does, and the agent sees that error",
    async (_, refusal, isCause) => {
      class OwnLedger extends FakeLedger {
        override reserve(): never {
          throw refusal;
        }
      }
      let seen: unknown;
      const only = {
        ...agent("only", (ctx) =>
          ctx.llm(model, ask("1")).then(
            () => done("ok"),
            (error: unknown) => {
              seen = error;
              throw error;
            },
          ),
        ),
        defaults: { executionBudget: new OwnLedger() },
      };
      const result = await within(new Runtime({ ledger: raisable }).run(only, "").result);
      expect(result).toMatchObject({ status: "partial" });
      expect(isCause ? seen instanceof Error && seen.cause : seen).toBe(refusal);
      // Nobody is asked for more because of it.
      expect(seen).toMatchObject({ raisable: false });
    },
  );

  it("above the agent is not asked about either", async () => {
    const runtime = new Runtime({ ledger: raisable });
    const lead = {
      ...agent("lead", async (ctx) => {
        const outcome = await ctx.hire({ agent: asker(undefined), input: "" });
        return done("result" in outcome ? outcome.result.output : outcome.status);
      }),
      defaults: { executionBudget: new FakeLedger({ maxTurns: 1 }) },
    };
    const { runId, result } = runtime.run(lead, "");
    await runtime.deliver(runId, "word", "bye");
    expect(await within(result)).toMatchObject({ output: expect.stringMatching(/^false bye/) });
  });

  it("leaves a refusal of the run's own ledger to be asked about", async () => {
    const runtime = new Runtime({
      ledger: () => new RaisableLedger({ maxTurns: 1 }),
    });
    const { runId, result } = runtime.run(asker(new FakeLedger({ maxTurns: 9 })), "");
    await runtime.deliver(runId, `approval:budget:${runId}`, { turns: 1 });
    await runtime.deliver(runId, "word", "bye");
    expect(await within(result)).toMatchObject({ output: expect.stringMatching(/^true bye/) });
  });
});
