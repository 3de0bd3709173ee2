import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  defineTool,
  type LLMClient,
  type Meter,
  type ModelResponse,
  ProviderError,
  type RunEvent,
  RunId,
  type ToolContext,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, cut, done, FakeLedger, turns, until } from "../support/helpers.ts";

const meter: Meter = {
  estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
  price: () => ({ usd: 0.15 }),
};
const ANSWER: ModelResponse = {
  message: { role: "assistant", content: "late" },
  finishReason: "stop",
  usage: { inputTokens: 100, outputTokens: 50 },
};

/** One that does not stop when it is told to, and answers when the test says so. */
function deaf() {
  const answer = Promise.withResolvers<ModelResponse>();
  const asked = { times: 0, keys: new Set<string>() };
  const model: LLMClient = {
    id: "deaf",
    info: { provider: "x", model: "deaf" },
    generate: (_, options) => {
      asked.times++;
      asked.keys.add(options?.idempotencyKey ?? "");
      return answer.promise;
    },
  };
  return { model, asked, answer };
}

function house() {
  const clock = virtualClock();
  const ledger = new CountingLedger();
  return { clock, ledger, ports: { clock, meter, ledger: () => ledger } };
}

/** Knows what is open. */
class CountingLedger extends FakeLedger {
  open = 0;
  override reserve(...given: Parameters<FakeLedger["reserve"]>): ReturnType<FakeLedger["reserve"]> {
    const reservation = super.reserve(...given);
    this.open++;
    return {
      settle: (actual) => {
        this.open--;
        return reservation.settle(actual);
      },
      cancel: () => {
        this.open--;
        return reservation.cancel();
      },
    };
  }
  override child(): CountingLedger {
    return this;
  }
}

describe("T2: a provider that does not stop in time", () => {
  const WAYS = [
    ["a cancelled run", {}, async (run: { cancel(reason: string): void }) => run.cancel("stop")],
    ["a run whose time is up", { executionBudget: { deadlineS: 1 } }, async () => {}],
  ] as const;

  test.each(WAYS)(
    "T2: %s counts what was set aside, and says that it is in doubt",
    async (_, options, stop) => {
      const { clock, ledger, ports } = house();
      const { model, asked, answer } = deaf();
      const lead = agent("lead", async (ctx) =>
        done(String((await ctx.llm(model, ask("x"))).message.content)),
      );
      const run = new Runtime(ports).run(lead, "", { ...options, runId: "r" });
      await until(() => asked.times === 1);
      await stop(run);
      await clock.advance(2_000);
      const result = await run.result;
      expect(result).toMatchObject({ cost: 0.2, inDoubt: ["r:llm:deaf#1"] });
      expect(result.usage).toMatchObject({ inputTokens: 100, outputTokens: 100 });
      expect([ledger.open, ledger.used.cost, ledger.used.tokens]).toEqual([0, 0.2, 200]);
      // What comes then changes nothing more.
      answer.resolve(ANSWER);
      await turns();
      expect([ledger.open, ledger.used.cost]).toEqual([0, 0.2]);
    },
  );

  test.each([
    ["a refusal", new ProviderError({ kind: "RATE_LIMIT", message: "busy", status: 429 })],
    ["a broken connection", new Error("socket hang up")],
  ])("T2: %s that comes after the run was given up is not charged once more", async (_what, failure) => {
    const { clock, ledger, ports } = house();
    const { model, asked, answer } = deaf();
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(model, ask("x"));
      return done("");
    });
    const run = new Runtime(ports).run(lead, "");
    await until(() => asked.times === 1);
    run.cancel("stop");
    await clock.advance(2_000);
    await run.result;
    const before = { ...ledger.used };
    answer.reject(failure);
    await turns();
    expect([ledger.open, ledger.used]).toEqual([0, before]);
  });

  test("T2: a child that is given up counts in its parent's run, and a resumed run says the same", async () => {
    const { clock, ledger, ports } = house();
    const { model, asked } = deaf();
    const journal = new MemoryJournal();
    const worker = agent("worker", async (ctx) =>
      done(String((await ctx.llm(model, ask("x"))).message.content)),
    );
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: worker, input: "", timeoutS: 1 });
      return done(String(await ctx.waitFor("go")));
    });
    const first = new Runtime({ ...ports, journal });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => asked.times === 1);
    for (let n = 0; n < 3; n++) await clock.advance(1_000);
    const closing = first.close();
    await clock.advance(1_000);
    await closing;
    expect(await run.result).toMatchObject({ status: "suspended", cost: 0.2 });
    expect([ledger.open, ledger.used.cost]).toEqual([0, 0.2]);
    const again = house();
    const second = new Runtime({ ...again.ports, journal, agents: [lead] });
    await second.deliver("r", "go", "on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "on", cost: 0.2 });
    expect([again.ledger.open, again.ledger.used.cost]).toEqual([0, 0.2]);
    expect(asked.times).toBe(1);
  });

  test("T2: a call of a tool that nobody waits for is settled with its agent's end", async () => {
    const { clock, ledger, ports } = house();
    const { model, asked } = deaf();
    const think = defineTool({
      name: "think",
      description: "",
      input: z.object({}),
      execute: (_, { llm }) => {
        void llm(model, ask("x"));
        return "thought";
      },
    });
    const lead = agent("lead", async (ctx) => {
      const { content } = await ctx.tool({ id: "c", name: "think", arguments: "{}" }, think);
      return done(String(content));
    });
    const run = new Runtime(ports).run(lead, "");
    await until(() => asked.times === 1);
    await clock.advance(1_000);
    expect(await run.result).toMatchObject({ status: "completed", output: "thought", cost: 0.2 });
    expect([ledger.open, ledger.used.cost]).toEqual([0, 0.2]);
  });

  test("R24: a resumed run still says that such a call is in doubt, and charges it once", async () => {
    const { clock, ports } = house();
    const { model, asked } = deaf();
    const journal = new MemoryJournal();
    const think = defineTool({
      name: "think",
      description: "",
      input: z.object({}),
      execute: (_, { llm }) => {
        void llm(model, ask("x"));
        return "thought";
      },
    });
    const worker = agent("worker", async (ctx) => {
      const { content } = await ctx.tool({ id: "c", name: "think", arguments: "{}" }, think);
      return done(String(content));
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: worker, input: "" });
      return done(String(await ctx.waitFor("go")));
    });
    const first = new Runtime({ ...ports, journal });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => asked.times === 1 && run.status === "suspended");
    // What a crash leaves is the journal alone.
    const crashed = cut("r", journal.load(RunId("r")));
    const closing = first.close();
    await clock.advance(1_000);
    await closing;
    const { inDoubt, cost } = await run.result;
    expect([inDoubt, cost]).toEqual([["r/hire:worker#1:tool:think#1"], 0.2]);
    const again = house();
    const second = new Runtime({ ...again.ports, journal: crashed, agents: [lead] });
    await second.deliver("r", "go", "on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed", cost: 0.2, inDoubt });
    expect([again.ledger.open, again.ledger.used.cost, asked.times]).toEqual([0, 0.2, 1]);
  });

  test("R18: a suspended run leaves nothing set aside either", async () => {
    const { clock, ledger, ports } = house();
    const { model, asked } = deaf();
    const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
    const runtime = new Runtime({ ...ports, journal: new MemoryJournal() });
    const run = runtime.run(lead, "", { runId: "r" });
    await until(() => asked.times === 1);
    const closing = runtime.close();
    await clock.advance(1_000);
    await closing;
    expect(await run.result).toMatchObject({ status: "suspended", cost: 0.2, inDoubt: ["r:llm:deaf#1"] });
    expect([ledger.open, ledger.used.cost]).toEqual([0, 0.2]);
  });
});

test("R24: every model call of a tool has an idempotency key of its own", async () => {
  const { model, asked, answer } = deaf();
  answer.resolve(ANSWER);
  const twice = defineTool({
    name: "twice",
    description: "",
    input: z.object({}),
    execute: async (_, { llm }) => {
      await llm(model, ask("x"));
      await llm(model, ask("y"));
      return "thought";
    },
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.tool({ id: "c", name: "twice", arguments: "{}" }, twice);
    return done("");
  });
  await new Runtime({ meter }).run(lead, "").result;
  expect([asked.times, asked.keys.size]).toEqual([2, 2]);
});

test.each([
  ["with nothing given", undefined],
  ["on a journal", new MemoryJournal()],
])("a tool that goes on after its agent's end pays for nothing more (%s)", async (_, journal) => {
  let kept: ToolContext | undefined;
  const model = scriptedModel(() => "too late");
  const keeper = defineTool({
    name: "keeper",
    description: "",
    input: z.object({}),
    execute: (_args, context) => {
      kept = context;
      return "done";
    },
  });
  const worker = agent("worker", async (ctx) => {
    await ctx.batch([{ kind: "tool", call: { id: "1", name: "keeper", arguments: "{}" }, tool: keeper }]);
    return done("ok");
  });
  await new Runtime({ journal }).run(worker, "").result;
  await expect(kept?.llm(model, ask("?"))).rejects.toThrow("worker has ended");
  expect(model.calls).toHaveLength(0);
});

test("T2: a tool that does not stop in time counts as one call, and leaves no reservation open", async () => {
  const { clock, ledger, ports } = house();
  const stuck = Promise.withResolvers<string>();
  let calls = 0;
  const execute = (): Promise<string> => {
    calls++;
    return stuck.promise;
  };
  const tool = defineTool({ name: "stuck", description: "", input: z.object({}), execute });
  const lead = agent("lead", async (ctx) => {
    await ctx.tool({ id: "1", name: "stuck", arguments: "{}" }, tool);
    return done("");
  });
  const run = new Runtime(ports).run(lead, "");
  await until(() => calls === 1);
  run.cancel("stop");
  await clock.advance(2_000);
  expect((await run.result).status).toBe("cancelled");
  expect([ledger.open, ledger.used.toolCalls]).toEqual([0, 1]);
  // What comes then changes nothing more.
  stuck.resolve("late");
  await turns();
  expect([ledger.open, ledger.used.toolCalls]).toEqual([0, 1]);
});

test.each([
  ["a cancelled run", {}, (run: { cancel(reason: string): void }): void => run.cancel("stop")],
  ["a run whose time is up", { executionBudget: { deadlineS: 1 } }, () => {}],
])(
  "T4: %s says of a tool that does not stop that it is in doubt, and not of one that does",
  async (...way) => {
    const [, options, stop] = way;
    const { clock, ports } = house();
    let calls = 0;
    const tool = (name: string, execute: (args: object, context: ToolContext) => Promise<string>) =>
      defineTool({ name, description: "", input: z.object({}), execute });
    const stuck = tool("stuck", () => {
      calls++;
      return new Promise(() => {});
    });
    const obedient = tool("obedient", (_, { signal }) => {
      calls++;
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("stopped"))),
      );
    });
    const lead = agent("lead", async (ctx) => {
      const leaf = (made: typeof stuck) => ({
        kind: "tool" as const,
        call: { id: made.name, name: made.name, arguments: "{}" },
        tool: made,
      });
      await ctx.batch([leaf(obedient), leaf(stuck)]);
      return done("");
    });
    const run = new Runtime(ports).run(lead, "", { ...options, runId: "r" });
    await until(() => calls === 2);
    stop(run);
    await clock.advance(2_000);
    expect((await run.result).inDoubt).toEqual(["r:tool:0:1"]);
  },
);

test("R18: a run that comes near its maximum of tool calls is warned of it", async () => {
  const { clock } = house();
  const near = { dimension: "toolCalls", used: 4, limit: 5, scope: "lead" } as const;
  class NearLedger extends CountingLedger {
    override reserve(): ReturnType<FakeLedger["reserve"]> {
      return { ...super.reserve({ toolCalls: 1 }), settle: () => ({ warnings: [near], exceeded: [] }) };
    }
  }
  const tool = defineTool({ name: "quick", description: "", input: z.object({}), execute: () => "done" });
  const lead = agent("lead", async (ctx) => {
    await ctx.tool({ id: "1", name: "quick", arguments: "{}" }, tool);
    return done("");
  });
  const told: unknown[] = [];
  const onEvent = ({ event }: RunEvent): void => void told.push(event);
  await new Runtime({ clock, ledger: () => new NearLedger() }).run(lead, "", { onEvent }).result;
  expect(told).toContainEqual({ type: "budgetWarning", ...near });
});
