import { describe, expect, test } from "vitest";
import { type HireOutcome, type JournalRecord, type Meter, NO_USAGE, RunId } from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { World } from "./engine/world.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, turns, until } from "./support/helpers.ts";

const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 10, outputTokens: 1 } }), {
  record: false,
});
const meter: Meter = {
  estimate: () => ({ inputTokens: 10, maxOutputTokens: 1, price: { usd: 0.5 } }),
  price: () => ({ usd: 0.25 }),
};

const leaf = agent("leaf", async (ctx) => {
  await ctx.llm(model, ask("leaf"));
  return done("leaf");
});
const middle = agent("middle", async (ctx) => {
  await ctx.llm(model, ask("middle"));
  const two = { kind: "hire", agent: leaf, input: "" } as const;
  await ctx.batch([two, two]);
  // Nobody joins it; it is the middle's all the same.
  await ctx.spawn(leaf, { input: "" });
  await ctx.waitFor("go on");
  return done("middle");
});

/** Leads whose output is what each hire says that it took. */
const tell = ({ status, usage, costUsd }: HireOutcome): string =>
  `${status} ${String(usage?.inputTokens)} ${String(costUsd)}`;
const lead = agent("lead", async (ctx) => {
  const first = await ctx.hire({ agent: middle, input: "" });
  const second = await ctx.hire({ agent: leaf, input: "" });
  return done([first, second].map(tell).join(", "));
});

async function run(journal: MemoryJournal | undefined, given?: Meter) {
  const runtime = new Runtime({
    agents: [lead, middle, leaf],
    ...(journal !== undefined && { journal }),
    ...(given !== undefined && { meter: given }),
  });
  const handle = runtime.run(lead, "", { runId: "r" });
  await runtime.deliver("r", "go on", true);
  return (await handle.result).output;
}

describe("a hire says what it and all below it took", () => {
  test("with and without a journal, with and without prices", async () => {
    expect(await run(undefined)).toBe("completed 40 null, completed 10 null");
    expect(await run(new MemoryJournal())).toBe("completed 40 null, completed 10 null");
    expect(await run(undefined, meter)).toBe("completed 40 1, completed 10 0.25");
    expect(await run(new MemoryJournal(), meter)).toBe("completed 40 1, completed 10 0.25");
  });

  test("if the price of a call below it is not known, its own price is not told as that of all", async () => {
    const dear = scriptedModel(["ok"], { info: { provider: "dear", model: "d" }, record: false });
    const priced: Meter = {
      ...meter,
      price: ({ provider }) => (provider === "dear" ? { usd: 0.25 } : { unpriced: true }),
    };
    const parent = agent("parent", async (ctx) => {
      await ctx.llm(dear, ask("parent"));
      return done(tell(await ctx.hire({ agent: leaf, input: "" })));
    });
    const boss = agent("boss", async (ctx) => {
      const outcome = await ctx.hire({ agent: parent, input: "" });
      return done(String(outcome.costUsd));
    });
    const { output, cost } = await new Runtime({ meter: priced }).run(boss, "").result;
    expect([output, cost]).toEqual(["null", null]);
  });

  test("T5: after a crash at any entry it says the same", async () => {
    const journal = new MemoryJournal();
    const whole = await run(journal, meter);
    const records = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
    const isModelCall = ({ key, phase }: JournalRecord): boolean =>
      key.startsWith("llm:") && phase === "begin";
    for (let count = 1; count <= records.length; count++) {
      // What was in flight may have been paid twice, and then counts twice.
      const last = records[count - 1];
      if (last !== undefined && isModelCall(last)) continue;
      const runtime = new Runtime({
        journal: cut("r", records.slice(0, count)),
        agents: [lead, middle, leaf],
        meter,
      });
      const handle = runtime.resume("r");
      await runtime.deliver("r", "go on", true);
      const { output, status } = await handle.result;
      const open = records.slice(0, count).filter(isModelCall).length;
      const ended = records
        .slice(0, count)
        .filter(({ key, phase }) => key.startsWith("llm:") && phase === "end").length;
      expect(status).toBe("completed");
      if (open === ended) expect({ count, output }).toEqual({ count, output: whole });
    }
  });

  test("one of a batch that is refused before it begins: nothing", async () => {
    const boss = agent("boss", async (ctx) => {
      const wrong = { kind: "hire", agent: leaf, input: "", timeoutS: -1 } as const;
      const outcomes = await ctx.batch([wrong, { kind: "hire", agent: leaf, input: "" }]);
      return done(outcomes.map((each) => tell(each as HireOutcome)).join(", "));
    });
    const { output } = await new Runtime({ meter }).run(boss, "").result;
    expect(output).toBe("failed 0 0, completed 10 0.25");
  });

  test("denied: nothing; failed: what it paid until then", async () => {
    const failing = agent("failing", async (ctx) => {
      await ctx.llm(model, ask("x"));
      throw new Error("no");
    });
    const boss = agent("boss", async (ctx) => {
      const failed = await ctx.hire({ agent: failing, input: "" });
      const full = await ctx.batch([0, 1].map(() => ({ kind: "hire", agent: leaf, input: "" }) as const));
      return done([failed, ...full].map(tell).join(", "));
    });
    const runtime = new Runtime({ headcount: () => new FakeHeadcount(1), meter });
    const { output } = await runtime.run(boss, "").result;
    expect(output).toBe("failed 10 0.25, completed 10 0.25, denied 0 0");
  });

  test("T5: also if it failed, was cut off or denied, a replay says the same, and so does whoever hired those", async () => {
    const failing = agent("failing", async (ctx) => {
      await ctx.llm(model, ask("x"));
      throw new Error("no");
    });
    const greedy = agent("greedy", async (ctx) => {
      for (const text of ["one", "two"]) await ctx.llm(model, ask(text));
      return done("");
    });
    const boss = agent("boss", async (ctx) => {
      const failed = await ctx.hire({ agent: failing, input: "" });
      const stopped = await ctx.hire({ agent: greedy, input: "", executionBudget: { maxTurns: 1 } });
      const full = await ctx.batch([0, 1].map(() => ({ kind: "hire", agent: leaf, input: "" }) as const));
      const told = [failed, stopped, ...full].map(
        (each) => `${tell(each)} ${each.stoppedBy?.dimension ?? ""}`,
      );
      return done(told.join(", "));
    });
    const top = agent("top", async (ctx) => {
      const outcome = await ctx.hire({ agent: boss, input: "" });
      await ctx.record("end", () => "of the hire");
      return done(`${tell(outcome)}: ${"result" in outcome ? outcome.result.output : ""}`);
    });
    const ports = {
      agents: [top],
      headcount: () => new FakeHeadcount(2),
      ledger: () => new FakeLedger(),
      meter,
    };
    const journal = new MemoryJournal();
    const { output: whole } = await new Runtime({ ...ports, journal }).run(top, "", { runId: "r" }).result;
    expect(whole).toBe(
      "completed 30 0.75: failed 10 0.25 , partial 10 0.25 turns, completed 10 0.25 , denied 0 0 ",
    );
    const records = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
    // What was in flight may have been paid twice, and then counts twice.
    const calls = (count: number, of: JournalRecord["phase"]): number =>
      records.slice(0, count).filter(({ key, phase }) => key.startsWith("llm:") && phase === of).length;
    const quiet = records
      .map((_, at) => at + 1)
      .filter((count) => calls(count, "begin") === calls(count, "end"));
    expect(quiet.length).toBeGreaterThan(10);
    for (const count of quiet) {
      const runtime = new Runtime({ ...ports, journal: cut("r", records.slice(0, count)) });
      const { output } = await runtime.resume("r").result;
      expect({ count, output }).toEqual({ count, output: whole });
    }
  });

  test("one that lives on says what it took until then, and a replay says the same", async () => {
    const slow = agent("slow", async (ctx) => {
      await ctx.llm(model, ask("slow"));
      await ctx.sleepUntil(20_000);
      await ctx.waitFor("wake up");
      await ctx.llm(model, ask("slow"));
      return done("slow");
    });
    const boss = agent("boss", async (ctx) => {
      const late = await ctx.hire({ agent: slow, input: "", timeoutS: 5, onTimeout: "leave" });
      const answer = await ctx.waitFor("whatever");
      const over = late.status === "timedOut" ? await ctx.join(late.handle) : late;
      return done(`${tell(late)}, ${tell(over)} ${String(answer)}`);
    });
    const journal = new MemoryJournal();
    const clock = virtualClock({ now: 1_000 });
    const first = new Runtime({ journal, clock, agents: [boss, slow], meter });
    const handle = first.run(boss, "", { runId: "r" });
    await until(() =>
      journal.load(RunId("r")).some(({ key, phase }) => key.startsWith("llm:") && phase === "end"),
    );
    await clock.advance(6_000);
    await until(() => journal.load(RunId("r")).some(({ key }) => key.startsWith("late:")));
    await first.close();
    expect((await handle.result).status).toBe("suspended");
    const second = new Runtime({ journal, clock, agents: [boss, slow], meter });
    await second.deliver("r", "wake up", true);
    await second.deliver("r", "whatever", 1);
    const resumed = second.resume("r");
    await turns();
    await clock.advance(20_000);
    expect((await resumed.result).output).toBe("timedOut 10 0.25, completed 20 0.5 1");
  });

  test("an engine that records by position says it too", async () => {
    const world = new World({ clock: { ...virtualClock({ now: 0 }) } });
    world.deliver("go on", true);
    const outcome = await world.run(lead, "");
    expect(outcome).toMatchObject({
      status: "completed",
      result: { output: "completed 40 undefined, completed 10 undefined" },
      usage: { inputTokens: 50 },
    });
  });

  test("a layer that answers for somebody has hired nobody", async () => {
    const answered = {
      ...leaf,
      pipelines: {
        agent: {
          isNoop: false,
          admit: (context: { result: unknown }) => void (context.result = done("from the layer")),
          run: async (_: unknown, core: () => Promise<void>) => core(),
        },
      },
    };
    const boss = agent("boss", async (ctx) => {
      const { usage, costUsd } = await ctx.hire({ agent: answered, input: "" });
      expect({ usage, costUsd }).toEqual({ usage: NO_USAGE, costUsd: 0 });
      return done("ok");
    });
    expect((await new Runtime().run(boss, "").result).status).toBe("completed");
  });
});
