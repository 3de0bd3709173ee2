import { describe, expect, test } from "vitest";
import { type Agent, AgentId, type HireOutcome, type JsonValue, type RaviError } from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, done, FakeHeadcount, FakeLedger } from "../support/helpers.ts";
import { SIGNALS, troupe } from "./troupe.ts";
import { World, type WorldOptions } from "./world.ts";

const STEP = process.env["RAVI_LONG"] ? 1 : 3;

/** Time goes on by itself while somebody works. */
async function whileWorking<T>(
  clock: { advance(ms: number): void | Promise<void> },
  work: Promise<T>,
): Promise<T> {
  const state = { isOver: false };
  const end = (): void => void (state.isOver = true);
  work.then(end, end);
  while (!state.isOver) {
    for (let turn = 0; turn < 20 && !state.isOver; turn++)
      await new Promise((resolve) => setImmediate(resolve));
    if (!state.isOver) await clock.advance(1_000);
  }
  return work;
}

type Given = Omit<WorldOptions, "clock"> & { readonly dieAt?: number; readonly Kind?: typeof World };

async function onWorld(lead: Agent, { Kind = World, ...options }: Given = {}) {
  const clock = virtualClock({ now: 1_000_000 });
  const world = new Kind({ ...options, clock });
  world.dieAt = options.dieAt ?? 0;
  for (const [name, value] of Object.entries<JsonValue>(SIGNALS)) world.deliver(name, value);
  const outcome = await whileWorking(clock, world.run(lead, ""));
  return { world, outcome };
}

function outputOf(outcome: HireOutcome | RaviError): string {
  if ("result" in outcome) return outcome.result.output;
  return "status" in outcome ? outcome.status : outcome.code;
}

/** The same agents in this process, on a journal. */
async function inProcess(): Promise<{ output: string; paid: Map<string, number> }> {
  const { lead, helper, clerk, paid } = troupe();
  const clock = virtualClock({ now: 1_000_000 });
  const journal = new MemoryJournal();
  const runtime = new Runtime({ journal, clock, agents: [lead, helper, clerk] });
  for (const [name, value] of Object.entries<JsonValue>(SIGNALS)) await runtime.deliver("run", name, value);
  const result = await whileWorking(clock, runtime.run(lead, "", { runId: "run" }).result);
  return { output: result.output, paid };
}

/** What is wrong when the worker dies once, at any place of its engine. */
async function problemsOf(Kind: typeof World): Promise<string[]> {
  const whole = troupe();
  const first = await onWorld(whole.lead, { Kind });
  const problems: string[] = first.world.places > 100 ? [] : ["too few places to die at"];
  for (let dieAt = 1; dieAt <= first.world.places; dieAt += STEP) {
    const { lead, paid, moved } = troupe();
    const { outcome, world } = await onWorld(lead, { dieAt, Kind });
    const problem = (what: string): void => void problems.push(`killed at ${dieAt}: ${what}`);
    if (outputOf(outcome) !== outputOf(first.outcome)) problem(`it came to ${outputOf(outcome)}`);
    if (moved.length > 0) problem("the time moved");
    const keys = [...paid.keys()].toSorted().join();
    if (keys !== [...whole.paid.keys()].toSorted().join()) problem(`it paid for ${keys}`);
    const more = [...paid].filter(([what, times]) => times !== whole.paid.get(what));
    if (more.some(([what, times]) => times !== (whole.paid.get(what) ?? 0) + 1))
      problem("paid more than twice");
    if (more.length > world.inDoubt.size) problem(`${String(more)} paid twice and not reported`);
  }
  return problems;
}

describe("the same context on an engine that records by position", () => {
  test("R24: the same agents come to the same result for the same calls on both engines", async () => {
    const here = await inProcess();
    const { lead, paid } = troupe();
    const { outcome, world } = await onWorld(lead);
    expect(outputOf(outcome)).toBe(here.output);
    expect(here.output).toContain("timedOut");
    expect(paid).toEqual(here.paid);
    expect([...world.inDoubt]).toEqual([]);
  });

  test(`T5: killed at every place of its engine (each ${STEP}.), it comes to the same, and pays twice only what it reports`, async () => {
    expect(await problemsOf(World)).toEqual([]);
  }, 60_000);

  test("R24: the same look finds a root object that forgets what was begun", async () => {
    class Forgetful extends World {
      override readonly marks = new (class extends Map<string, number> {
        override get(): undefined {
          return undefined;
        }
      })();
    }
    expect((await problemsOf(Forgetful)).join()).toContain("paid twice and not reported");
  }, 60_000);

  test("an agent that takes another way after a crash is refused, and nothing more is paid", async () => {
    const model = scriptedModel(() => "ok");
    let goes = 0;
    const fickle = agent("fickle", async (ctx) => {
      const word = ++goes === 1 ? "one" : "two";
      await ctx.llm(model, { messages: [{ role: "user", content: word }] });
      await ctx.waitFor("go ahead");
      return done(word);
    });
    // The first call takes five places; the worker dies right after it.
    const { outcome } = await onWorld(fickle, { dieAt: 5 });
    expect(outputOf(outcome)).toBe("NON_DETERMINISM");
    expect(model.calls).toHaveLength(1);
  });

  test("one lane: what an agent asks for at once is refused before it reaches the engine", async () => {
    const model = scriptedModel(() => "ok");
    const hasty = agent("hasty", async (ctx, inbox) => {
      const request = { messages: [{ role: "user", content: "x" }] } as const;
      const asked = [
        () => ctx.llm(model, request),
        () => ctx.now(),
        () => inbox.take(),
        () => ctx.waitFor("go ahead"),
      ].map(async (ask) => ask());
      const settled = await Promise.allSettled(asked);
      return done(settled.map(({ status }) => status).join(" "));
    });
    const { outcome } = await onWorld(hasty);
    expect(outputOf(outcome)).toBe("fulfilled rejected rejected rejected");
  });

  test("an agent that ends while an operation is under way leaves none of it behind its end", async () => {
    const model = scriptedModel(() => "ok");
    const careless = agent("careless", async (ctx) => {
      void ctx.waitFor("never").catch(() => {});
      return done("gone");
    });
    const { outcome, world } = await onWorld(careless);
    expect(outputOf(outcome)).toBe("gone");
    expect([...world.executions.values()][0]?.entries.map(({ kind }) => kind)).toEqual(["signal", "end"]);
    expect(model.calls).toEqual([]);
  });

  test("budget and headcount hold where they are asked for by messages", async () => {
    const model = scriptedModel(() => "ok", { record: false });
    let calls = 0;
    const child = agent("child", async (ctx) => {
      for (;;) {
        await ctx.llm(model, { messages: [{ role: "user", content: "more" }], maxOutputTokens: 10 });
        calls++;
      }
    });
    const lead = agent("lead", async (ctx) => {
      const leaf = { kind: "hire", agent: child, input: "" } as const;
      const outcomes = await ctx.batch([leaf, leaf, leaf]);
      return done(outcomes.map(({ status }) => status).join(" "));
    });
    const ledger = new FakeLedger({ maxTurns: 7 });
    const headcount = new FakeHeadcount(2);
    const { outcome } = await onWorld(lead, { ledger, headcount });
    expect(outputOf(outcome)).toBe("partial partial denied");
    expect([calls, ledger.used.turns, headcount.holders.size]).toEqual([7, 7, 0]);
  });

  test("a paused agent stops at its next yield point, by what its last admission told, and goes on", async () => {
    const model = scriptedModel(() => "ok");
    const headcount = new FakeHeadcount();
    const lead: Agent = agent("lead", async (ctx) => {
      headcount.pause(AgentId("lead"));
      await ctx.llm(model, { messages: [{ role: "user", content: "1" }] });
      setImmediate(() => headcount.unpause(AgentId("lead")));
      await ctx.llm(model, { messages: [{ role: "user", content: "2" }] });
      return done(`${ctx.supervision.depth} ${model.calls.length}`);
    });
    const { world, outcome } = await onWorld(lead, { headcount });
    expect(outputOf(outcome)).toBe("0 2");
    expect([...world.executions.values()][0]?.entries.map(({ kind }) => kind)).toEqual([
      "run",
      "resumed",
      "run",
      "end",
    ]);
  });
});
