import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  defineTool,
  HookEvent,
  type Hooks,
  type JournalRecord,
  type RunEvent,
  RunId,
  type Supervision,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { SeatedHeadcount } from "./conformance/seated-headcount.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, turns, until, within } from "./support/helpers.ts";

const unsure = defineTool({
  name: "unsure",
  description: "",
  input: z.object({}),
  execute: () => "done",
});
const call = { id: "c", name: "unsure", arguments: "{}" };

describe("R24: decisions", () => {
  const payer = agent("payer", async (ctx) => done((await ctx.tool(call, unsure)).isError ? "no" : "yes"));
  const lead = agent("lead", async (ctx) => {
    const leaf = { kind: "hire", agent: payer, input: "" } as const;
    const outcomes = await ctx.batch([leaf, leaf]);
    return done(outcomes.map((one) => ("result" in one ? one.result.output : one.status)).join(" "));
  });

  async function crashed(open: number): Promise<MemoryJournal> {
    const journal = new MemoryJournal();
    await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    let left = open;
    const isLost = ({ key, phase }: JournalRecord): boolean =>
      phase === "end" && (key.startsWith("hire:") || (key.startsWith("tool:") && left-- > 0));
    const records = journal
      .load(RunId("r"))
      .filter((record) => record.key !== "run:status" && !isLost(record));
    return cut("r", records);
  }

  test("a key alone will do where one call is in doubt under it", async () => {
    const runtime = new Runtime({ journal: await crashed(1), agents: [lead, payer] });
    expect((await runtime.resume("r").result).status).toBe("suspended");
    const result = await runtime.resume("r", { decisions: { "tool:unsure#1": "skip" } }).result;
    expect(result.output).toBe("no yes");
  });

  test("where two are, it is refused, and the refusal names both", async () => {
    const runtime = new Runtime({ journal: await crashed(2), agents: [lead, payer] });
    await expect(runtime.resume("r", { decisions: { "tool:unsure#1": "skip" } }).result).rejects.toThrow(
      "one of r/hire:payer#1:tool:unsure#1, r/hire:payer#2:tool:unsure#1",
    );
    const decisions = {
      "r/hire:payer#1:tool:unsure#1": "skip",
      "r/hire:payer#2:tool:unsure#1": "retry",
    } as const;
    expect((await runtime.resume("r", { decisions }).result).output).toBe("no yes");
  });

  test("a decision that is none is refused", async () => {
    const runtime = new Runtime({ journal: await crashed(1), agents: [lead, payer] });
    const decisions = { "tool:unsure#1": "maybe" as "skip" };
    await expect(runtime.resume("r", { decisions }).result).rejects.toThrow(
      'expected "retry", "skip" or "fail"',
    );
  });
});

describe("R24: time on resume", () => {
  const idle = agent("idle", async (ctx) => {
    await ctx.sleepUntil(9_000_000);
    return done("");
  });
  const isAsleep = (journal: MemoryJournal): boolean =>
    journal.load(RunId("r")).some(({ key }) => key.startsWith("sleep:"));

  test("how long a parent waits for a child does not start anew", async () => {
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal({ clock });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: idle, input: "", timeoutS: 60, onTimeout: "leave" });
      return done(status);
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "r" });
    await until(() => isAsleep(journal));
    await clock.advance(50_000);
    await first.close();
    const second = new Runtime({ journal, clock, agents: [lead, idle] });
    const resumed = second.resume("r");
    await turns();
    expect(await within(resumed.result)).toBe("pending");
    await clock.advance(10_000);
    expect((await resumed.result).output).toBe("timedOut");
  });

  test("a child that was late before the resume is left at once, although it still works", async () => {
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal({ clock });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: idle, input: "", timeoutS: 60, onTimeout: "leave" });
      return done(`${status}, then ${JSON.stringify(await ctx.waitFor("go"))}`);
    });
    const first = new Runtime({ journal, clock });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => isAsleep(journal));
    await clock.advance(60_000);
    await first.close();
    expect((await run.result).status).toBe("suspended");
    const second = new Runtime({ journal, clock, agents: [lead, idle] });
    await second.deliver("r", "go", 1);
    expect((await second.resume("r").result).output).toBe("timedOut, then 1");
  });

  test("a hire that ended in time leaves no time limit behind: later nothing is on record of one", async () => {
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal({ clock });
    const quick = agent("quick", async () => done("quick"));
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: quick, input: "", timeoutS: 60, onTimeout: "leave" });
      return done(`${status}, then ${JSON.stringify(await ctx.waitFor("go"))}`);
    });
    const runtime = new Runtime({ journal, clock });
    const run = runtime.run(lead, "", { runId: "r" });
    await until(() => journal.list()[0]?.waitingFor !== undefined);
    const keys = (): string[] => journal.load(RunId("r")).map(({ key }) => key);
    const before = keys();
    await clock.advance(120_000);
    expect(keys()).toEqual(before);
    await runtime.deliver("r", "go", 1);
    expect((await run.result).output).toBe("completed, then 1");
  });

  test("how long somebody is asked does not start anew either", async () => {
    const clock = virtualClock({ now: 1_000_000 });
    const journal = new MemoryJournal({ clock });
    const lead = agent("lead", async (ctx) => {
      const child = await ctx.spawn(idle, { input: "" });
      return done(await ctx.ask(child, "well?", { timeoutS: 60 }).then(() => "a reply", String));
    });
    const first = new Runtime({ journal, clock });
    first.run(lead, "", { runId: "r" });
    await until(() => isAsleep(journal));
    await turns();
    await clock.advance(50_000);
    await first.close();
    const resumed = new Runtime({ journal, clock, agents: [lead, idle] }).resume("r");
    await turns();
    expect(await within(resumed.result)).toBe("pending");
    await clock.advance(10_000);
    expect((await resumed.result).output).toContain("idle/1 did not reply within 60 s");
  });

  test("a reply that is on record is heard, also where who gave it is over", async () => {
    const journal = new MemoryJournal();
    const clerk = agent("clerk", async (_ctx, inbox) => {
      await inbox.reply(await inbox.receive(), "yes");
      return done("over");
    });
    const lead = agent("lead", async (ctx) => {
      const child = await ctx.spawn(clerk, { input: "" });
      return done(JSON.stringify(await ctx.ask(child, "well?")));
    });
    const whole = await new Runtime({ journal }).run(lead, "", { runId: "r" }).result;
    // The parent died after its child had replied and ended, and before it had heard.
    const records = journal
      .load(RunId("r"))
      .filter(({ key }) => key !== "run:status" && !key.startsWith("ask:"));
    expect(records.some(({ key, phase }) => key === "hire:clerk#1" && phase === "end")).toBe(true);
    const resumed = await new Runtime({ journal: cut("r", records), agents: [lead, clerk] }).resume("r")
      .result;
    expect([resumed.status, resumed.output]).toEqual(["completed", whole.output]);
  });

  test("a deadline that has passed waits for the record with one timer, not with one every few milliseconds", async () => {
    let set = 0;
    const inner = virtualClock({ now: 1_000_000 });
    const setTimer: typeof inner.setTimer = (callback, delayMs) => {
      set++;
      return inner.setTimer(callback, delayMs);
    };
    const clock = { now: () => inner.now(), setTimer };
    const journal = new MemoryJournal({ clock });
    const gate = Promise.withResolvers<void>();
    let goes = 0;
    const slow = agent("slow", async (ctx) => {
      await ctx.now();
      // Its second go is held up in code of its own, long past the deadline, with a fact still to be read.
      if (++goes === 2) await gate.promise;
      await ctx.now();
      await ctx.waitFor("never");
      return done("");
    });
    const first = new Runtime({ journal, clock });
    const handle = first.run(slow, "", { runId: "r", executionBudget: { deadlineS: 60 } });
    await until(() => handle.status === "suspended");
    await first.close();
    await inner.advance(120_000);
    set = 0;
    const resumed = new Runtime({ journal, clock, agents: [slow] }).resume("r");
    await turns(50);
    for (let n = 0; n < 20; n++) await inner.advance(100);
    expect(set).toBeLessThan(8);
    gate.resolve();
    await turns(20);
    await inner.advance(1_000);
    expect(await resumed.result).toMatchObject({ status: "partial", stopReason: "deadline" });
  });
});

test.each(["completed", "partial", "failed"] as const)(
  "R24: a run that is over, %s, is told again as it was told, with its limits and how far it has exceeded them",
  async (status) => {
    const spender = agent("spender", async (ctx) => {
      await ctx.llm(scriptedModel(["a long answer"]), ask("?"));
      if (status === "failed") throw new TypeError("oh");
      return { ...done("spent"), status };
    });
    const runtime = new Runtime({
      journal: new MemoryJournal(),
      agents: [spender],
      ledger: () => new FakeLedger(),
      headcount: () => new FakeHeadcount(),
    });
    const [executionBudget, spawnBudget] = [{ maxTokens: 1, maxTurns: 9 }, { maxTotal: 7 }];
    const first = runtime.run(spender, "", { runId: "r", executionBudget, spawnBudget });
    const told = await first.result;
    expect(told).toMatchObject({
      status,
      limits: { executionBudget: { maxTurns: 9 }, spawnBudget: { maxTotal: 7 } },
      exceeded: [{ dimension: "tokens", limit: 1, scope: "spender" }],
    });
    const again = await runtime.resume("r").result;
    expect(JSON.parse(JSON.stringify(again))).toEqual(JSON.parse(JSON.stringify(told)));
    expect(again.error?.code).toBe(told.error?.code);
    // Not as they are recorded: they can be given to another run, and written again.
    for (const { limits } of [again, (await runtime.inspect("r")).result ?? again]) {
      expect(limits).toEqual(told.limits);
      expect(limits?.executionBudget?.toJSON()).toEqual(told.limits?.executionBudget?.toJSON());
    }
  },
);

test("R24: the handle of a resumed run names its agent", async () => {
  const journal = new MemoryJournal();
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("word"))));
  const first = new Runtime({ journal });
  const suspended = first.run(waiting, "", { runId: "r" });
  await until(() => suspended.status === "suspended");
  await first.close();
  await suspended.result;
  const second = new Runtime({ journal, agents: [waiting] });
  const handle = second.resume("r");
  await second.deliver("r", "word", "so");
  await handle.result;
  expect(handle.agentId).toBe("waiting");
});

test("R21: a resumed run says in its RUN_START that it is told again", async () => {
  const told: (boolean | undefined)[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.RUN_START,
    dispatch: (_event, payload) => void told.push(payload.replayed),
    drain: () => {},
  };
  const journal = new MemoryJournal();
  const model = scriptedModel(() => "ok");
  const waiter = agent("waiter", async (ctx) => {
    await ctx.llm(model, ask("1"));
    await ctx.waitFor("on");
    return done("");
  });
  const first = new Runtime({ journal, hooks });
  const handle = first.run(waiter, "", { runId: "r" });
  await until(() => handle.status === "suspended");
  await first.close();
  const second = new Runtime({ journal, hooks, agents: [waiter] });
  await second.deliver("r", "on", 1);
  await second.resume("r").result;
  expect(told).toEqual([undefined, true]);
});

test("R21: so does a helper that had begun, and none that begins only now, also if it was in the queue for a seat", async () => {
  const told: string[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.RUN_START,
    dispatch: (_event, { agentName, replayed }) => void told.push(`${agentName} ${String(replayed)}`),
    drain: () => {},
  };
  const journal = new MemoryJournal();
  const one = agent("one", async (ctx) => {
    await ctx.now();
    return done(String(await ctx.waitFor("on")));
  });
  const two = agent("two", async () => done("two"));
  const three = agent("three", async () => done("three"));
  const lead = agent("lead", async (ctx) => {
    const both = [one, two].map((each) => ({
      kind: "hire" as const,
      agent: each,
      input: "",
      onFull: "queue" as const,
    }));
    await ctx.batch(both);
    await ctx.hire({ agent: three, input: "" });
    return done("");
  });
  const headcount = (root: Supervision) => new SeatedHeadcount(root);
  const first = new Runtime({ journal, hooks, headcount });
  const run = first.run(lead, "", { runId: "r", spawnBudget: { maxAgents: 2 } });
  await until(() => journal.list()[0]?.waitingFor !== undefined);
  await first.close();
  await run.result;
  expect(told).toEqual(["lead undefined", "one undefined"]);
  told.length = 0;
  const second = new Runtime({ journal, hooks, headcount, agents: [lead, one, two, three] });
  await second.deliver("r", "on", 1);
  expect(await second.resume("r").result).toMatchObject({ status: "completed" });
  expect(told).toEqual(["lead true", "one true", "two undefined", "three undefined"]);
});

test("R24: a journal that tells of what is posted is not looked at again and again", async () => {
  const clock = virtualClock({ now: 1_000_000 });
  let looks = 0;
  class Counted extends MemoryJournal {
    override items(...args: Parameters<MemoryJournal["items"]>) {
      looks++;
      return super.items(...args);
    }
  }
  const journal = new Counted({ clock });
  const waiter = agent("waiter", async (ctx) => done(String((await ctx.waitFor("on")) === "now")));
  const runtime = new Runtime({ journal, clock });
  const handle = runtime.run(waiter, "", { runId: "r" });
  await until(() => handle.status === "suspended");
  await clock.advance(60_000);
  expect(looks).toBeLessThan(10);
  // By somebody else, through the journal alone.
  journal.post(RunId("r"), { id: "1", kind: "signal", name: "on", value: "now", at: 0 });
  expect((await handle.result).output).toBe("true");
  const events: RunEvent[] = await Array.fromAsync(handle.events());
  expect(events).toEqual([]);
});

test("R24: a suspension records why and not what all agents have used, as each restart of a service would add that again", async () => {
  const helper = agent("helper", async () => done("ready"));
  const lead = agent("lead", async (ctx) => {
    const leaf = { kind: "hire", agent: helper, input: "" } as const;
    await ctx.batch([leaf, leaf]);
    return done(String(await ctx.waitFor("on")));
  });
  const journal = new MemoryJournal();
  const first = new Runtime({ journal });
  const handle = first.run(lead, "", { runId: "r" });
  await until(() => handle.status === "suspended");
  await first.close();
  const { agents } = await handle.result;
  expect(agents).toHaveLength(3);
  const last = journal.load(RunId("r")).findLast(({ key }) => key === "run:status");
  expect(last?.body).toEqual({ status: "suspended", error: expect.anything() });

  const second = new Runtime({ journal, agents: [lead] });
  await second.deliver("r", "on", 1);
  const result = await second.resume("r").result;
  expect(result.agents?.map(({ execId }) => execId)).toEqual(agents?.map(({ execId }) => execId));
});

test("T5: the claim on a run names this process, so that others see at once when it is killed", async () => {
  const journal = new MemoryJournal();
  const claim = vi.spyOn(journal, "claim");
  await new Runtime({ journal }).run(
    agent("lead", async () => done("")),
    "",
  ).result;
  expect(claim.mock.calls[0]?.[1]).toMatch(new RegExp(`^process:[^:]*:[^:]*:${process.pid}:`));
});

test("R24: what whoever composes the runtime gives as facts reaches the ledger, also after a resume", async () => {
  const journal = new MemoryJournal();
  const given: unknown[] = [];
  const lead = agent("lead", async (ctx) => done(String(await ctx.waitFor("go"))));
  const ports = {
    journal,
    agents: [lead],
    ledger: (_root: unknown, _snapshot: unknown, facts: unknown) => {
      given.push(facts);
      return new FakeLedger();
    },
  };
  const first = new Runtime(ports);
  const handle = first.run(lead, "", { runId: "r", facts: { tier: "free" } });
  await until(() => handle.status === "suspended");
  await first.close();
  await handle.result;
  const second = new Runtime(ports);
  await second.deliver("r", "go", "on");
  expect((await second.resume("r").result).output).toBe("on");
  expect(given).toEqual([{ tier: "free" }, { tier: "free" }]);
  expect(() => second.run(lead, "", { facts: { at: new Date(0) } as never })).toThrow(/run options\.facts/);
  expect(() => second.run(lead, "", { facts: "free" as never })).toThrow(/run options\.facts/);
});

test("R24: that a run's id is taken is told by the field of the error, so that whoever got a request twice resumes it", async () => {
  const journal = new MemoryJournal();
  const asker = agent("asker", async (ctx) => done(String(await ctx.waitFor("word"))));
  const [runtime, other] = [1, 2].map(() => new Runtime({ journal, agents: [asker] }));
  const taken = { code: "INVALID_VALUE", field: "runId" };
  const handle = runtime?.run(asker, "", { runId: "request-1" });
  await until(() => handle?.status === "suspended");
  expect(() => runtime?.run(asker, "", { runId: "request-1" })).toThrow(expect.objectContaining(taken));
  const elsewhere = other?.run(asker, "", { runId: "request-1" }).result;
  await expect(elsewhere).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
  await runtime?.deliver("request-1", "word", "on");
  await handle?.result;
  await expect(other?.run(asker, "", { runId: "request-1" }).result).rejects.toMatchObject(taken);
  expect(await other?.resume("request-1").result).toMatchObject({ status: "completed", output: "on" });
});
