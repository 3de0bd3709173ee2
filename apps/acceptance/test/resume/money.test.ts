import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type AgentResult,
  BudgetExhaustedError,
  type ChatContext,
  type ExecutionBudgetOptions,
  isRaviError,
  type JournalRecord,
  type LLMClient,
  type Meter,
  type ModelResponse,
  type Pipeline,
  RunId,
  type Usage,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";

// Real ledgers and headcounts, put back from a journal: a resumed run may do what the run that nobody disturbed does, no less.

const RUN = RunId("r");
const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const ask = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;
const agent = (name: string, run: Agent["run"]): Agent => ({ id: AgentId(name), run });

const meter: Meter = {
  estimate: () => ({ inputTokens: 100, maxOutputTokens: 100, price: { usd: 0.2 } }),
  price: (_, { inputTokens, outputTokens }) => ({ usd: (inputTokens + outputTokens) / 1000 }),
};

function model(
  id: string,
  answer: (n: number) => { readonly usage: Usage; readonly isBroken?: boolean },
): LLMClient {
  let calls = 0;
  return {
    id,
    info: { provider: "x", model: id },
    async generate(): Promise<ModelResponse> {
      const { usage, isBroken } = answer(++calls);
      const message = isBroken === true ? null : { role: "assistant", content: "ok" };
      // As a provider's JSON: one that is broken is paid for, and no answer.
      return JSON.parse(JSON.stringify({ message, finishReason: "stop", usage })) as ModelResponse;
    },
  };
}

const LARGE = { inputTokens: 350, outputTokens: 50 };
const SMALL = { inputTokens: 50, outputTokens: 10 };

/** Makes small calls until one is refused, and says how many that were. */
async function asMany(ctx: Parameters<Agent["run"]>[0]): Promise<number> {
  const small = model("small", () => ({ usage: SMALL }));
  for (let n = 0; ; n++) {
    try {
      await ctx.llm(small, ask(`${n}`));
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) return n;
      throw error;
    }
  }
}

function cut(records: readonly JournalRecord[]): MemoryJournal {
  const journal = new MemoryJournal();
  const claim = journal.claim(RUN, "crashed", 1);
  if (claim === null) throw new Error("a fresh journal is not free");
  journal.append(
    RUN,
    claim.epoch,
    records.map(({ exec, key, attempt, phase, at, body }) => ({ exec, key, attempt, phase, at, body })),
  );
  journal.release(RUN, claim.epoch);
  return journal;
}

const rules: RuntimeOptions = {
  meter,
  headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
};

/** Whether nothing is under way at that point; a hire may be, of somebody who has done something. */
function isQuiet(records: readonly JournalRecord[]): boolean {
  const open = new Set<string>();
  for (const { exec, key, attempt, phase } of records) {
    if (records.some((record) => record.exec === `${exec}/${key}`)) continue;
    if (phase === "begin") open.add(`${exec} ${key} ${attempt}`);
    else open.delete(`${exec} ${key} ${attempt}`);
  }
  return open.size === 0;
}

/** What it comes to by itself, and after a crash at each point where no call was under way. */
async function comesTo(lead: Agent, options: RuntimeOptions, started: object) {
  const journal = new MemoryJournal();
  const whole = await new Runtime({ ...rules, ...options, journal }).run(lead, "", { ...started, runId: RUN })
    .result;
  const records = journal.load(RUN);
  const resumed: string[] = [];
  for (let at = 1; at < records.length; at++) {
    const before = records.slice(0, at);
    if (!isQuiet(before)) continue;
    const runtime = new Runtime({ ...rules, ...options, agents: [lead], journal: cut(before) });
    resumed.push((await runtime.resume(RUN).result).output);
  }
  return { whole: whole.output, resumed };
}

describe("T5: a resumed run makes the calls that the undisturbed run makes", () => {
  const started = { executionBudget: { maxTokens: 2_000 } };

  test("T5: what a child took in one call does not count as a call of whoever hired it", async () => {
    const kid = agent("kid", async (ctx) => {
      const large = model("large", () => ({ usage: LARGE }));
      for (const text of ["1", "2", "3"]) await ctx.llm(large, ask(text));
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: kid, input: "" });
      return done(`${await asMany(ctx)}`);
    });
    const { whole, resumed } = await comesTo(lead, {}, started);
    expect(Number(whole)).toBeGreaterThan(5);
    expect(resumed.length).toBeGreaterThan(10);
    expect(new Set(resumed)).toEqual(new Set([whole]));
  });

  test("T5: the tries at a call count as what they were, not as one large call", async () => {
    const twice: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: (_, core) => core().catch(core) };
    const lead = agent("lead", async (ctx) => {
      const shaky = model("shaky", (n) => ({ usage: LARGE, isBroken: n % 2 === 1 }));
      await ctx.llm(shaky, ask("1"));
      return done(`${await asMany(ctx)}`);
    });
    const { whole, resumed } = await comesTo(lead, { pipelines: { chat: twice } }, started);
    expect(Number(whole)).toBeGreaterThan(0);
    expect(resumed.length).toBeGreaterThan(0);
    expect(new Set(resumed)).toEqual(new Set([whole]));
  });
});

describe("T6: what a resumed run is told of its budget is what it was told before", () => {
  /** Says what was left before and after each call. */
  const told = (calls: readonly Usage[], limit: "tokens" | "cost"): Agent["run"] =>
    async function run(ctx) {
      const left = [ctx.budget[limit]];
      for (const [n, usage] of calls.entries()) {
        const once = model(`m${n}`, () => ({ usage }));
        await ctx.llm(once, ask(`${n}`));
        left.push(ctx.budget[limit]);
      }
      await ctx.record("end", () => "of the calls");
      return done(left.join(" "));
    };
  const hiring = (run: Agent["run"], executionBudget?: ExecutionBudgetOptions): Agent =>
    agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: agent("kid", run), input: "", executionBudget });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });

  const dollars = told(
    [1, 2, 3, 4].map(() => ({ inputTokens: 90, outputTokens: 10 })),
    "cost",
  );
  test.each([
    ["an agent", agent("lead", dollars)],
    ["a helper", hiring(dollars)],
  ])("T6: %s, to the last digit of its dollars", async (_, lead) => {
    const { whole, resumed } = await comesTo(lead, {}, { executionBudget: { maxCostUsd: 1 } });
    expect(whole).toBe("1 0.9 0.8 0.7 0.6");
    expect(resumed.length).toBeGreaterThan(4);
    expect(new Set(resumed)).toEqual(new Set([whole]));
  });

  const tokens = told([LARGE], "tokens");
  const own = new ExecutionTracker({ maxTokens: 1_000_000 });
  test.each([
    ["an agent", agent("lead", tokens), 300],
    [
      "an agent with a ledger of its own",
      { ...agent("lead", tokens), defaults: { executionBudget: own } },
      300,
    ],
    ["a helper", hiring(tokens), 300],
    ["a helper with a limit of its own", hiring(tokens, { maxTokens: 300 }), 2_000],
  ])("T6: %s, also after it has exceeded it", async (_, lead, maxTokens) => {
    const { whole, resumed } = await comesTo(lead, {}, { executionBudget: { maxTokens } });
    expect(whole).toBe("300 0");
    expect(resumed.length).toBeGreaterThan(1);
    expect(new Set(resumed)).toEqual(new Set([whole]));
  });
});

describe("T5: what was granted before a crash may be spent after it", () => {
  const refusal = new BudgetExhaustedError({ dimension: "tokens", used: 600, limit: 600, scope: "lead" });
  const asking = agent("kid", async (ctx) => {
    await ctx.requestBudget?.(refusal);
    return done("");
  });

  test.each([
    ["to the agent", (ctx: Parameters<Agent["run"]>[0]) => ctx.requestBudget?.(refusal)],
    [
      "to a helper that has ended",
      (ctx: Parameters<Agent["run"]>[0]) => ctx.hire({ agent: asking, input: "" }),
    ],
  ])("T5: %s", async (_, request) => {
    const lead = agent("lead", async (ctx) => {
      await request(ctx);
      await ctx.waitFor("go");
      return done(`${await asMany(ctx)}`);
    });
    const ends: unknown[] = [];
    for (const isCut of [false, true]) {
      const journal = new MemoryJournal();
      let runtime = new Runtime({ ...rules, journal });
      const told = Promise.withResolvers<string>();
      let run = runtime.run(lead, "", {
        runId: RUN,
        executionBudget: { maxTokens: 600 },
        onEvent: ({ event }) => {
          if (event.type === "progress") told.resolve((event.data as { readonly name: string }).name);
        },
      });
      await runtime.deliver(RUN, await told.promise, { tokens: 1_000 });
      while ((await runtime.inspect(RUN)).waitingFor?.[0]?.name !== "go")
        await new Promise((resolve) => setImmediate(resolve));
      if (isCut) {
        await runtime.close();
        runtime = new Runtime({ ...rules, agents: [lead], journal });
        run = runtime.resume(RUN);
      }
      await runtime.deliver(RUN, "go", true);
      const { output, limits } = await run.result;
      ends.push([output, limits?.executionBudget?.maxTokens]);
    }
    expect(ends[0]).toEqual([expect.stringMatching(/^[1-9]/), 1_600]);
    expect(ends[1]).toEqual(ends[0]);
  });
});

describe("T5: a resumed run hires whom the undisturbed run hires", () => {
  test("T5: a hire that was not permitted has never had a seat", async () => {
    const kid = agent("kid", async () => done(""));
    const bad = agent("bad", async () => done(""));
    const lead = agent("lead", async (ctx) => {
      const outcomes: string[] = [];
      for (const each of [bad, kid, bad, kid, kid]) {
        outcomes.push((await ctx.hire({ agent: each, input: "" })).status);
      }
      return done(outcomes.join());
    });
    const permissions: RuntimeOptions["permissions"] = {
      isNoop: false,
      check: ({ target }) => (target.startsWith("bad") ? { allow: false, reason: "no" } : { allow: true }),
    };
    const { whole, resumed } = await comesTo(lead, { permissions }, { spawnBudget: { maxTotal: 3 } });
    expect(whole).toBe("denied,completed,denied,completed,denied");
    expect(new Set(resumed)).toEqual(new Set([whole]));
  });
});
