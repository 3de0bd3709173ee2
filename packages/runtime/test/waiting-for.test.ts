import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { scriptedModel, virtualClock } from "@ravi/testing";
import {
  type AgentEvent,
  defineTool,
  type FunctionContext,
  type Journal,
  type JournalRecord,
  type JsonValue,
  type PendingWait,
  type Pipeline,
  RunId,
  type RunSummary,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, cut, done, hangingPayer, turns, until } from "./support/helpers.ts";

const pay = defineTool({
  name: "pay",
  description: "pays",
  input: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => `paid ${to}`,
});
const payment = (to: string) => ({ id: to, name: "pay", arguments: JSON.stringify({ to }) });

async function waitsOf(list: Journal["list"]): Promise<readonly PendingWait[]> {
  return (await list()).flatMap(({ waitingFor = [] }) => waitingFor);
}

/** A small generator of random numbers, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const briefly = (waits: readonly PendingWait[]) =>
  waits.map(({ kind, name, agentId }) => [kind, name, agentId]);

/** As somebody may write it: summaries are optional. */
function withoutSummary(journal: MemoryJournal): MemoryJournal {
  return Object.assign(journal, { summary: undefined });
}

describe("R24: what a run waits for", () => {
  test("all waits of a tree are listed, each until it is answered, given up or over", async () => {
    const clock = virtualClock({ now: 1_000 });
    const journal = new MemoryJournal({ clock });
    const runtime = new Runtime({ journal, clock });
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("word"))));
    const sleeper = agent("sleeper", async (ctx) => {
      await ctx.sleepUntil(1_000 + 120_000);
      return done("slept");
    });
    const lead = agent("lead", async (ctx) => {
      const hired = [helper, helper].map((each) => ({ kind: "hire" as const, agent: each, input: "" }));
      const pays = ["ada", "bob"].map((to) => ({ kind: "tool" as const, call: payment(to), tool: pay }));
      await ctx.batch([...hired, { kind: "hire", agent: sleeper, input: "" }, ...pays]);
      await ctx.hire({ agent: helper, input: "", executionBudget: { deadlineS: 60 } });
      return done("");
    });
    const handle = runtime.run(lead, "", { runId: "r" });
    const listed = async () => briefly(await waitsOf(() => runtime.list()));
    await turns();
    // Calls are approved before anything of the batch begins.
    const approvals = [3, 4].map((place) => ["approval", `approval:r:tool:0:${place}`, "lead"]);
    expect(await listed()).toEqual(approvals);
    const [first] = await waitsOf(() => runtime.list());
    expect(first).toMatchObject({ question: { tool: "pay", arguments: '{"to":"ada"}' }, since: 1_000 });
    await runtime.deliver("r", "approval:r:tool:0:3", false);
    expect(await listed()).toEqual(approvals.slice(1));
    await runtime.deliver("r", "approval:r:tool:0:4", true);
    await turns();
    const words = [1, 2].map((n) => ["signal", "word", `helper/${n}`]);
    const timer = ["timer", "sleep:until#1", "sleeper/3"];
    expect(await listed()).toEqual([...words, timer]);
    expect((await waitsOf(() => runtime.list())).at(-1)).toMatchObject({ until: 121_000 });
    await runtime.deliver("r", "word", "one");
    expect(await listed()).toEqual([words[1], timer]);
    await clock.advance(120_000);
    expect(await listed()).toEqual([words[1]]);
    await runtime.deliver("r", "word", "two");
    await turns();
    expect(await listed()).toEqual([["signal", "word", "helper/4"]]);
    // The last helper is given up after a minute.
    await clock.advance(61_000);
    expect(await handle.result).toMatchObject({ status: "completed" });
    expect(await listed()).toEqual([]);
  });

  test("a helper that is given up no longer waits, though its run goes on", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ journal: new MemoryJournal({ clock }), clock });
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("word"))));
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: helper, input: "", executionBudget: { deadlineS: 10 } });
      return done(String(await ctx.waitFor("other")));
    });
    runtime.run(lead, "", { runId: "r" });
    await turns();
    expect(briefly(await waitsOf(() => runtime.list()))).toEqual([["signal", "word", "helper/1"]]);
    await clock.advance(11_000);
    await turns();
    expect(briefly(await waitsOf(() => runtime.list()))).toEqual([["signal", "other", "lead"]]);
    const closing = runtime.close();
    await clock.advance(1_000);
    await closing;
  });

  test("a run in no process waits on, keeps its time, and is not listed for what was answered meanwhile", async () => {
    const directory = temporaryDirectory();
    const clock = virtualClock({ now: 5_000 });
    const patient = agent("patient", async (ctx) => {
      const words = [await ctx.waitFor("word"), await ctx.waitFor("word")];
      return done(words.join(" "));
    });
    const journal = SqliteJournal.open(directory, { clock });
    const first = new Runtime({ journal, clock });
    const { result } = first.run(patient, "", { runId: "r" });
    const wait = { kind: "signal", name: "word", agentId: "patient", execId: "r", since: 5_000 };
    while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
    await clock.advance(10);
    await first.close();
    expect((await result).status).toBe("suspended");
    await journal.close();

    await using again = SqliteJournal.open(directory, { clock });
    expect(again.list()).toMatchObject([{ runId: "r", status: "suspended", waitingFor: [wait] }]);
    const second = new Runtime({ journal: again, clock, agents: [patient] });
    const noAnswer = second.resume("r");
    while ((await waitsOf(() => again.list())).length === 0) await turns(1);
    expect(await waitsOf(() => again.list())).toEqual([wait]);
    await second.close();
    await noAnswer.result;
    await new Runtime({ journal: again }).deliver("r", "word", "one");
    expect(again.list()).toMatchObject([{ status: "suspended" }]);
    expect(await waitsOf(() => again.list())).toEqual([]);
    await clock.advance(90);
    const third = new Runtime({ journal: again, clock, agents: [patient] });
    const resumed = third.resume("r");
    while ((await waitsOf(() => again.list())).length === 0) await turns(1);
    expect(await waitsOf(() => again.list())).toEqual([{ ...wait, since: 5_100 }]);
    await third.deliver("r", "word", "two");
    expect((await resumed.result).output).toBe("one two");
    expect(again.list()).toMatchObject([{ status: "completed" }]);
    expect(await waitsOf(() => again.list())).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6])(
    "whoever answers only what is listed answers each wait once, wherever the run stops in between (seed %i)",
    async (seed) => {
      const random = randomOf(seed);
      const journal = new MemoryJournal();
      const helper = agent("helper", async (ctx, inbox) => {
        for (let n = 0; n < 3; n++) {
          await ctx.waitFor("shared");
          await ctx.batch(["a", "b"].map((to) => ({ kind: "tool", call: payment(to), tool: pay })));
          await ctx.waitFor(inbox.input);
        }
        return done("");
      });
      const lead = agent("lead", async (ctx) => {
        await ctx.batch(["x", "y", "shared"].map((input) => ({ kind: "hire", agent: helper, input })));
        return done("");
      });
      let runtime = new Runtime({ journal, agents: [lead, helper] });
      let { result } = runtime.run(lead, "", { runId: "r" });
      await turns(1);
      let answers = 0;
      const answer = async (from: Runtime): Promise<void> => {
        const before = await waitsOf(() => journal.list());
        const wait = before[Math.floor(random() * before.length)];
        if (wait === undefined) return;
        await from.deliver("r", wait.name, random() < 0.5, { mustExist: true });
        answers++;
      };
      while (journal.list()[0]?.status !== "completed") {
        await turns(Math.floor(random() * 4));
        if (random() < 0.7) await answer(runtime);
        if (random() > 0.2) continue;
        await runtime.close();
        await result;
        if (random() < 0.5) await answer(new Runtime({ journal }));
        runtime = new Runtime({ journal, agents: [lead, helper] });
        ({ result } = runtime.resume("r"));
      }
      expect((await result).status).toBe("completed");
      expect(answers).toBe(3 * 3 * 4);
      expect(await waitsOf(() => journal.list())).toEqual([]);
    },
  );

  test("who is told of a question finds it in the list", async () => {
    await using journal = SqliteJournal.open(temporaryDirectory());
    const runtime = new Runtime({ journal });
    const clerk = agent("clerk", async (ctx) => {
      const { content } = await ctx.tool(payment("ada"), pay);
      return done(String(content));
    });
    let found: Promise<readonly PendingWait[]> | undefined;
    const handle = runtime.run(clerk, "", {
      onEvent: ({ event }) => {
        if (event.type === "progress" && event.name === "approvalRequested")
          found ??= waitsOf(() => runtime.list());
      },
    });
    await until(() => found !== undefined);
    const [asked, ...others] = (await found) ?? [];
    expect([asked?.kind, others]).toEqual(["approval", []]);
    await runtime.deliver(handle.runId, asked?.name ?? "", { approved: false, reason: "too dear" });
    expect((await handle.result).output).toContain("too dear");
  });

  test("a question names the call that it is about, in the event and in the list, whoever asks it", async () => {
    const runtime = new Runtime({
      journal: new MemoryJournal(),
      pipelines: {
        function: {
          isNoop: false,
          admit: async (_context, gate) => void (await gate.require("may-i")),
          run: (_context, core) => core(),
        },
      },
    });
    const { id: callId } = payment("ada");
    const clerk = agent("clerk", async (ctx) => {
      const { isError } = await ctx.tool(payment("ada"), pay);
      return done(String(isError));
    });
    const events: AgentEvent[] = [];
    const handle = runtime.run(clerk, "", {
      runId: "r",
      onEvent: ({ event }) => {
        if (event.type === "progress") events.push(event);
      },
    });
    await turns();
    await runtime.deliver("r", "may-i", true);
    await turns();
    const question = { tool: "pay", callId, arguments: '{"to":"ada"}' };
    expect(await waitsOf(() => runtime.list())).toMatchObject([{ kind: "approval", question }]);
    await runtime.deliver("r", "approval:r:tool:pay#1", true);
    expect((await handle.result).output).toBe("false");
    const asked = { type: "progress", name: "approvalRequested", callId };
    expect(events).toEqual([
      { ...asked, data: { name: "may-i", question: null } },
      { ...asked, data: { name: "approval:r:tool:pay#1", question } },
    ]);
  });

  test("a call that somebody has to decide on is listed with the key for the decision", async () => {
    const clock = virtualClock();
    const before = new MemoryJournal({ clock });
    let paid = 0;
    const payer = hangingPayer(() => paid++);
    void new Runtime({ journal: before, clock }).run(payer, "", { runId: "r" }).result.catch(() => {});
    await until(() => paid === 1);
    const journal = cut("r", before.load(RunId("r")));
    const second = new Runtime({ journal, agents: [payer], clock });
    const { error } = await second.resume("r").result;
    expect(error).toMatchObject({ code: "NEEDS_DECISION" });
    const [doubt, ...others] = await waitsOf(() => second.list());
    expect(others).toEqual([]);
    expect(doubt).toMatchObject({ kind: "decision", agentId: "payer", question: { tool: "pay" } });
    const decided = second.resume("r", { decisions: { [doubt?.name ?? ""]: "skip" } });
    expect((await decided.result).status).toBe("completed");
    expect(await waitsOf(() => second.list())).toEqual([]);
  });

  test("with its arguments, if a model has asked for it", async () => {
    const clock = virtualClock();
    const before = new MemoryJournal({ clock });
    let paid = 0;
    const hanging = defineTool({
      name: "pay",
      description: "pays",
      input: z.object({ to: z.string() }),
      execute: () => {
        paid++;
        return new Promise(() => {});
      },
    });
    const toolCalls = ["ada", "bob"].map((to) => ({ id: to, name: "pay", arguments: { to } }));
    const payer = agent("payer", async (ctx) => {
      const { message } = await ctx.llm(scriptedModel([{ toolCalls }]), { messages: [] });
      const calls = (message.toolCalls ?? []).map((call) => ({ kind: "tool", call, tool: hanging }) as const);
      await ctx.batch(calls);
      return done("");
    });
    void new Runtime({ journal: before, clock }).run(payer, "", { runId: "r" }).result.catch(() => {});
    await until(() => paid === 2);
    const second = new Runtime({ journal: cut("r", before.load(RunId("r"))), agents: [payer], clock });
    expect((await second.resume("r").result).error).toMatchObject({ code: "NEEDS_DECISION" });
    expect((await waitsOf(() => second.list())).map(({ question }) => question)).toEqual([
      { tool: "pay", callId: "ada", arguments: '{"to":"ada"}' },
      { tool: "pay", callId: "bob", arguments: '{"to":"bob"}' },
    ]);
  });

  test("a call that was decided on is listed no more, also if the run is suspended again", async () => {
    const clock = virtualClock();
    const before = new MemoryJournal({ clock });
    let paid = 0;
    const payer = hangingPayer(() => paid++);
    const waiter = agent("waiter", async (ctx) => {
      await ctx.hire({ agent: payer, input: "" });
      return done(String(await ctx.waitFor("word")));
    });
    void new Runtime({ journal: before, clock }).run(waiter, "", { runId: "r" });
    await until(() => paid === 1);
    const journal = cut("r", before.load(RunId("r")));
    const second = new Runtime({ journal, agents: [waiter, payer], clock });
    await second.resume("r").result;
    const [doubt] = await waitsOf(() => journal.list());
    expect(doubt?.kind).toBe("decision");
    const { result } = second.resume("r", { decisions: { [doubt?.name ?? ""]: "skip" } });
    await turns(40);
    await second.close();
    expect((await result).status).toBe("suspended");
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "word", "waiter"]]);
  });

  test("a resumed run that is stopped and could not read its answers waits for what it waited for before", async () => {
    const journal = new MemoryJournal();
    const waiter = agent("waiter", async (ctx) =>
      done(`${String(await ctx.waitFor("word"))} ${String(await ctx.waitFor("word"))}`),
    );
    const first = new Runtime({ journal });
    void first.run(waiter, "", { runId: "r" });
    await first.deliver("r", "word", "one");
    await turns(40);
    await first.close();
    const asked = await waitsOf(() => journal.list());
    expect(briefly(asked)).toEqual([["signal", "word", "waiter"]]);
    const items: Journal["items"] = () => Promise.reject(new Error("EIO"));
    const unread: Journal = Object.assign(Object.create(journal) as MemoryJournal, { items });
    const second = new Runtime({ journal: unread, agents: [waiter] });
    const { result } = second.resume("r");
    await second.close();
    expect((await result).status).toBe("suspended");
    expect(await waitsOf(() => journal.list())).toEqual(asked);
  });

  test("a resumed run that is stopped before it gets to where it waited still waits for that, unless it was answered", async () => {
    const journal = new MemoryJournal();
    const waiter = agent("waiter", async (ctx) =>
      done(`${String(await ctx.waitFor("one"))} ${String(await ctx.waitFor("two"))}`),
    );
    const first = new Runtime({ journal });
    const { result } = first.run(waiter, "", { runId: "r" });
    await turns();
    await first.close();
    expect((await result).status).toBe("suspended");
    const asked = await waitsOf(() => journal.list());
    expect(briefly(asked)).toEqual([["signal", "one", "waiter"]]);
    /** A process that is closed before the agent has begun. */
    const stop = async (answer?: string): Promise<void> => {
      const runtime = new Runtime({ journal, agents: [waiter] });
      if (answer !== undefined) await runtime.deliver("r", "one", answer);
      const stopped = runtime.resume("r");
      await runtime.close();
      expect((await stopped.result).status).toBe("suspended");
    };
    await stop();
    expect(await waitsOf(() => journal.list())).toEqual(asked);
    await stop("a");
    expect(await waitsOf(() => journal.list())).toEqual([]);
    const last = new Runtime({ journal, agents: [waiter] });
    await last.deliver("r", "two", "b");
    expect((await last.resume("r").result).output).toBe("a b");
  });

  test("such a run waits for all that it has noted since it was resumed before, for nothing older, and for no sleep that is over", async () => {
    const clock = virtualClock({ now: 5_000 });
    const journal = new MemoryJournal({ clock });
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("word"))));
    const sleeper = agent("sleeper", async (ctx) => (await ctx.sleepUntil(90_000), done("")));
    const waiter = agent("waiter", async (ctx) => {
      await ctx.waitFor("one");
      for (const each of [helper, sleeper]) {
        await ctx.spawn(each, { input: "" });
        await turns(2);
      }
      return done(String(await ctx.waitFor("two")));
    });
    const agents = [waiter, helper, sleeper];
    const stop = async (isAtOnce: boolean): Promise<void> => {
      const runtime = new Runtime({ journal, agents, clock });
      const { result } =
        journal.list().length === 0 ? runtime.run(waiter, "", { runId: "r" }) : runtime.resume("r");
      if (!isAtOnce) await turns();
      await runtime.close();
      expect((await result).status).toBe("suspended");
    };
    const names = async () =>
      (await waitsOf(() => journal.list())).map(({ kind, name }) => `${kind} ${name}`);
    await stop(false);
    expect(await names()).toEqual(["signal one"]);
    await new Runtime({ journal, agents, clock }).deliver("r", "one", true);
    await stop(false);
    const noted = await names();
    expect(noted).toEqual(["signal word", expect.stringMatching(/^timer /), "signal two"]);
    await stop(true);
    expect(await names()).toEqual(noted);
    await clock.advance(100_000);
    await stop(true);
    expect(await names()).toEqual(["signal word", "signal two"]);
  });

  test("a resumed run that is stopped between its waits still waits for all of them, but for those that were answered", async () => {
    const clock = virtualClock({ now: 5_000 });
    const journal = new MemoryJournal({ clock });
    const gate = Promise.withResolvers<void>();
    let lives = 0;
    const helper = agent("helper", async (ctx, inbox) => {
      const word = await ctx.waitFor(inbox.input);
      // Its answer is on record before the run is stopped.
      await ctx.now();
      return done(String(word));
    });
    const lead = agent("lead", async (ctx) => {
      for (const word of ["a", "b", "b", "c", "d"]) {
        await ctx.spawn(helper, { input: word });
        await turns(2);
        // In its second life it does not get any further than here.
        if (lives === 2 && word === "b") await gate.promise;
      }
      return done(String(await ctx.waitFor("end")));
    });
    const agents = [lead, helper];
    const names = async () => (await waitsOf(() => journal.list())).map(({ name }) => name);
    const live = async (during: (runtime: Runtime) => Promise<void>): Promise<void> => {
      lives++;
      const runtime = new Runtime({ journal, agents, clock });
      const { result } = lives === 1 ? runtime.run(lead, "", { runId: "r" }) : runtime.resume("r");
      await turns(40);
      await during(runtime);
      await turns(5);
      const closing = runtime.close();
      if (lives === 2) gate.resolve();
      await clock.advance(100);
      await closing;
      expect((await result).status).toBe("suspended");
    };
    // Answered, and on record, before its end is noted.
    await live((runtime) => runtime.deliver("r", "c", 1).then(() => {}));
    const first = await waitsOf(() => journal.list());
    expect(first.map(({ name }) => name)).toEqual(["a", "b", "b", "d", "end"]);
    // It has got to "a" and one "b" again, and nobody has waited for this answer yet.
    await live((runtime) => runtime.deliver("r", "d", 2).then(() => {}));
    expect(await names()).toEqual(["a", "b", "b", "end"]);
    expect(await waitsOf(() => journal.list())).toEqual(first.filter(({ name }) => name !== "d"));
    await live(() => Promise.resolve());
    expect((await names()).toSorted()).toEqual(["a", "b", "b", "end"]);
  });

  test("an answer that a resumed run has not got to counts for one wait, however often it is stopped before", async () => {
    const journal = new MemoryJournal();
    let gate = Promise.withResolvers<void>();
    let lives = 0;
    const helper = agent("helper", async (ctx, inbox) => done(String(await ctx.waitFor(inbox.input))));
    const lead = agent("lead", async (ctx) => {
      if (++lives > 1) await gate.promise;
      for (const word of ["a", "a"]) await ctx.spawn(helper, { input: word });
      return done(String(await ctx.waitFor("end")));
    });
    const live = async (during: (runtime: Runtime) => unknown): Promise<readonly string[]> => {
      gate = Promise.withResolvers();
      const runtime = new Runtime({ journal, agents: [lead, helper] });
      const { result } = lives === 0 ? runtime.run(lead, "", { runId: "r" }) : runtime.resume("r");
      await turns(40);
      await during(runtime);
      const closing = runtime.close();
      gate.resolve();
      await closing;
      expect((await result).status).toBe("suspended");
      return (await waitsOf(() => journal.list())).map(({ name }) => name);
    };
    expect(await live(() => {})).toEqual(["a", "a", "end"]);
    expect(await live((runtime) => runtime.deliver("r", "a", 1))).toEqual(["a", "end"]);
    expect(await live(() => {})).toEqual(["a", "end"]);
  });

  test("a resumed run does not wait for what was answered, though it crashed before it could note that", async () => {
    const before = new MemoryJournal();
    const gate = Promise.withResolvers<void>();
    let lives = 0;
    const helper = agent("helper", async (ctx, inbox) => done(String(await ctx.waitFor(inbox.input))));
    const lead = agent("lead", async (ctx) => {
      if (++lives === 2) await gate.promise;
      for (const word of ["answered", "word"]) await ctx.spawn(helper, { input: word });
      return done(String(await ctx.waitFor("end")));
    });
    const first = new Runtime({ journal: before });
    void first.run(lead, "", { runId: "r" });
    await turns(40);
    await first.deliver("r", "answered", 1);
    await turns(40);
    const journal = cut("r", before.load(RunId("r")));
    const second = new Runtime({ journal, agents: [lead, helper] });
    const { result } = second.resume("r");
    await turns(40);
    const closing = second.close();
    gate.resolve();
    await closing;
    expect((await result).status).toBe("suspended");
    expect((await waitsOf(() => journal.list())).map(({ name }) => name)).toEqual(["word", "end"]);
    await first.close();
  });

  test("a run that is stopped in the moment in which its waits begin waits for them", async () => {
    const journal = new MemoryJournal();
    const waiter = agent("waiter", async (ctx) => {
      const waiting = ctx.waitFor("word");
      void runtime.close();
      return done(String(await waiting));
    });
    const runtime = new Runtime({ journal });
    const { result } = runtime.run(waiter, "", { runId: "r" });
    expect((await result).status).toBe("suspended");
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "word", "waiter"]]);
  });

  test("a run that is stopped in that moment does not wait for what is answered before it has stopped", async () => {
    const journal = new MemoryJournal();
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("answered"))));
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(helper, { input: "" });
      await until(() => journal.list()[0]?.waitingFor !== undefined);
      const waiting = ctx.waitFor("word");
      void runtime.close();
      delivered = runtime.deliver("r", "answered", 1);
      return done(String(await waiting));
    });
    let delivered: Promise<unknown> | undefined;
    const runtime = new Runtime({ journal });
    const { result } = runtime.run(lead, "", { runId: "r" });
    expect((await result).status).toBe("suspended");
    await delivered;
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "word", "lead"]]);
  });

  test.each([true, false])(
    "a layer that throws when it is told of its question leaves the answer to the next (journal: %s)",
    async (hasJournal) => {
      let asked = 0;
      const asking: Pipeline<FunctionContext> = {
        isNoop: false,
        async admit(_context, gate) {
          await gate.require("may-i", null, () => {
            if (++asked === 1) throw new Error("the telephone is broken");
          });
        },
        run: (_context, next) => next(),
      };
      const journal = hasJournal ? new MemoryJournal() : undefined;
      const runtime = new Runtime({ journal, pipelines: { function: asking } });
      const free = defineTool({ ...pay, needsApproval: false });
      const clerk = agent("clerk", async (ctx) => {
        const failed = await ctx.tool(payment("ada"), free).catch((error: unknown) => String(error));
        const { content } = await ctx.tool(payment("bob"), free);
        return done(`${String(failed)}; ${String(content)}`);
      });
      const { runId, result } = runtime.run(clerk, "");
      await until(() => asked === 2);
      await runtime.deliver(runId, "may-i", true);
      expect((await result).output).toMatch(/the telephone is broken.*; paid bob/);
    },
  );

  test("after a restart of a crashed root, what it waited for is forgotten", async () => {
    const clock = virtualClock();
    const restart = { shouldRetry: () => true, delayMs: () => 0, reset: () => {} };
    const journal = new MemoryJournal({ clock });
    const runtime = new Runtime({ journal, clock, restart });
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("word"))));
    let starts = 0;
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(helper, { input: "" });
      await ctx.sleepUntil(10);
      if (++starts === 1) throw new Error("a bug");
      handle.cancel("not needed");
      await ctx.sleepUntil(1_000);
      return done("well");
    });
    const { result } = runtime.run(lead, "", { runId: "r" });
    await turns();
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "word", "helper/1"]]);
    await clock.advance(500);
    expect(starts).toBe(2);
    expect(await waitsOf(() => journal.list())).toEqual([]);
    await clock.advance(1_000);
    expect((await result).output).toBe("well");
  });

  test.each<[string, () => JsonValue, JsonValue | undefined]>([
    ["is no JSON", () => ({ tool: "pay", amount: 1n as never }), undefined],
    ["is long", () => ({ tool: "pay", text: "x".repeat(30_000) }), { tool: "pay" }],
    ["is a long text", () => "x".repeat(30_000), undefined],
    ["is there", () => "really?", "really?"],
    ["is not there", () => null, null],
  ])("a layer whose question %s waits like any other", async (_, question, listed) => {
    const journal = new MemoryJournal();
    const asking: Pipeline<FunctionContext> = {
      has: () => true,
      admit: async (
        _context: unknown,
        gate: { require(name: string, asked: JsonValue): Promise<JsonValue> },
      ) => void (await gate.require("may-i", question())),
      run: (_context: unknown, next: () => Promise<void>) => next(),
    } as never;
    const runtime = new Runtime({ journal, pipelines: { function: asking } });
    const free = defineTool({ ...pay, needsApproval: false });
    const clerk = agent("clerk", async (ctx) => done(String((await ctx.tool(payment("ada"), free)).content)));
    const handle = runtime.run(clerk, "", { runId: "r" });
    await turns();
    const [wait] = await waitsOf(() => runtime.list());
    expect(wait).toMatchObject({ kind: "approval", name: "may-i" });
    expect(wait?.question).toEqual(listed);
    await runtime.deliver("r", "may-i", true);
    expect((await handle.result).output).toBe("paid ada");
  });

  test.each([
    ["its entries: MemoryJournal", "load", () => new MemoryJournal()],
    ["its entries: SqliteJournal", "load", () => SqliteJournal.open(temporaryDirectory())],
    ["the other runs: a journal of its own", "list", () => withoutSummary(new MemoryJournal())],
  ] as const)("whether a run can be answered or cancelled is known without %s", async (_, unread, open) => {
    const journal = open();
    const first = new Runtime({ journal });
    const patient = agent("patient", async (ctx) => done(String(await ctx.waitFor("word"))));
    const { result } = first.run(patient, "", { runId: "r" });
    while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
    await first.close();
    await result;
    journal[unread] = () => {
      throw new Error("read too much");
    };
    const outside = new Runtime({ journal });
    const refused = { code: "INVALID_VALUE", field: "runId" };
    await expect(outside.deliver("s", "word", 1, { mustExist: true })).rejects.toMatchObject(refused);
    await expect(outside.cancel("s", "not needed")).rejects.toMatchObject(refused);
    await outside.deliver("r", "word", 1, { mustExist: true });
    await outside.cancel("r", "not needed");
    await journal.close();
  });

  test("with mustWait, a run without a journal is asked itself; who waits for a time waits for no answer", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const sleeper = agent("sleeper", async (ctx) => {
      await ctx.sleepUntil(120_000);
      return done(String(await ctx.waitFor("word")));
    });
    const { result } = runtime.run(sleeper, "", { runId: "r" });
    await turns();
    const answer = (name: string) => runtime.deliver("r", name, "yes", { mustWait: true });
    await expect(answer("sleep:until#1")).rejects.toThrow(
      'name is "sleep:until#1"; expected a name that run r waits for now; it waits for no answer',
    );
    await clock.advance(120_000);
    await answer("word");
    expect((await result).output).toBe("yes");
    await expect(answer("word")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "runId" });
  });

  test("it is found in the record of a journal that does not list it", async () => {
    const silent = class extends MemoryJournal {
      override list(): readonly RunSummary[] {
        return super.list().map((run) => ({ ...run, waitingFor: undefined }));
      }
    };
    const journal = withoutSummary(new silent());
    const first = new Runtime({ journal });
    const patient = agent("patient", async (ctx) =>
      done(`${String(await ctx.waitFor("word"))} ${String(await ctx.waitFor("end"))}`),
    );
    const { result } = first.run(patient, "", { runId: "r" });
    const outside = new Runtime({ journal });
    const waits = async () => (await outside.inspect("r")).waitingFor?.map(({ name }) => name);
    await until(() => journal.load(RunId("r")).some(({ key }) => key.startsWith("run:waits")));
    await first.close();
    await result;
    expect(await waits()).toEqual(["word"]);
    await expect(outside.deliver("r", "other", 1, { mustWait: true })).rejects.toThrow(
      /waits for now: "word"/,
    );
    await outside.deliver("r", "word", "a", { mustWait: true });
    expect(await waits()).toBeUndefined();
    await expect(outside.deliver("r", "word", 1, { mustWait: true })).rejects.toThrow(
      /it waits for no answer/,
    );
    const second = new Runtime({ journal, agents: [patient] });
    const resumed = second.resume("r").result;
    await second.deliver("r", "end", "b");
    expect((await resumed).output).toBe("a b");
    expect(await waits()).toBeUndefined();
  });

  test("with mustWait, a journal without summaries is asked for its list", async () => {
    const journal = withoutSummary(new MemoryJournal());
    const first = new Runtime({ journal });
    const patient = agent("patient", async (ctx) => done(String(await ctx.waitFor("word"))));
    const { result } = first.run(patient, "", { runId: "r" });
    while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
    await first.close();
    await result;
    const outside = new Runtime({ journal });
    await expect(outside.deliver("r", "other", 1, { mustWait: true })).rejects.toThrow(
      /waits for now: "word"/,
    );
    await outside.deliver("r", "word", 1, { mustWait: true });
    await expect(outside.deliver("r", "word", 1, { mustWait: true })).rejects.toThrow(
      /it waits for no answer/,
    );
  });

  test("a journal without summaries knows a run that is over by its entries", async () => {
    const journal = withoutSummary(new MemoryJournal());
    const runtime = new Runtime({ journal });
    await runtime.run(
      agent("lead", async () => done("")),
      "",
      { runId: "r" },
    ).result;
    await expect(runtime.deliver("r", "word", 1, { mustExist: true })).rejects.toThrow(
      'runId is "r"; expected the id of a run that has not ended; this one is completed',
    );
  });

  test("a run that has lost its tip is damaged for who cancels or answers it, and not unknown", async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    await new Runtime({ journal }).run(
      agent("lead", async () => done("")),
      "",
      { runId: "r" },
    ).result;
    const db = new DatabaseSync(join(directory, "ravi.db"));
    db.exec("DELETE FROM tips");
    db.close();
    const outside = new Runtime({ journal });
    const damaged = { code: "JOURNAL_CORRUPT" };
    await expect(outside.cancel("r", "why")).rejects.toMatchObject(damaged);
    await expect(outside.deliver("r", "word", 1, { mustExist: true })).rejects.toMatchObject(damaged);
    await journal.close();
  });

  test("a sleep of less than a minute leaves no entry of its own", async () => {
    const clock = virtualClock();
    const journal = new MemoryJournal({ clock });
    const sleeper = agent("sleeper", async (ctx) => {
      await ctx.sleepUntil(59_000);
      return done("");
    });
    const { result } = new Runtime({ journal, clock }).run(sleeper, "", { runId: "r" });
    await clock.advance(60_000);
    await result;
    expect(journal.load(RunId("r")).map(({ key }) => key)).toEqual([
      "run:start",
      "sleep:until#1",
      "run:status",
    ]);
  });

  /** How many characters a journal's notes of waits have in all. */
  const noted = (journal: MemoryJournal): number =>
    journal
      .load(RunId("r"))
      .filter(({ key }) => key === "run:waits")
      .reduce((sum, { body }) => sum + JSON.stringify(body).length, 0);

  test("each of many waits costs the same in the journal, however many there are, and all are listed", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const helper = agent("helper", async (ctx) => done(String(await ctx.waitFor("word"))));
    const lead = agent("lead", async (ctx) => {
      for (let n = 0; n < 400; n++) {
        await ctx.spawn(helper, { input: "" });
        await turns(1);
      }
      return done(String(await ctx.waitFor("end")));
    });
    const { result } = runtime.run(lead, "", { runId: "r" });
    while ((await waitsOf(() => journal.list())).length < 401) await turns(10);
    expect(noted(journal)).toBeLessThan(401 * 250);
    for (let n = 0; n < 399; n++) await runtime.deliver("r", "word", n);
    await turns();
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([
      ["signal", "word", "helper/400"],
      ["signal", "end", "lead"],
    ]);
    await runtime.deliver("r", "end", "over");
    expect((await result).output).toBe("over");
  });

  test("a note of many long questions leaves them out, and all waits are listed", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const lead = agent("lead", async (ctx) => {
      const pays = Array.from({ length: 40 }, (_, n) => payment(`${n}`.padEnd(9_000, "y")));
      await ctx.batch(pays.map((call) => ({ kind: "tool" as const, call, tool: pay })));
      return done("");
    });
    const { result } = runtime.run(lead, "", { runId: "r" });
    while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
    expect(noted(journal)).toBeLessThan(40 * 250);
    const waits = await waitsOf(() => journal.list());
    expect(waits).toHaveLength(40);
    for (const wait of waits) expect(wait).not.toHaveProperty("question");
    for (const { name } of waits) await runtime.deliver("r", name, true);
    expect(await result).toMatchObject({ status: "completed" });
    // One alone is noted with its question.
    runtime.run(
      agent("one", async (ctx) => done(String((await ctx.tool(payment("y".repeat(9_000)), pay)).content))),
      "",
      { runId: "s" },
    );
    await turns();
    const [one] = await waitsOf(() => journal.list());
    expect(one).toMatchObject({ question: { tool: "pay" } });
    await runtime.close();
  });

  test("waits that follow each other cost the same each, and leave nothing in the list", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const patient = agent("patient", async (ctx) => {
      for (let n = 0; n < 300; n++) await ctx.waitFor("word");
      return done(String(await ctx.waitFor("end")));
    });
    runtime.run(patient, "", { runId: "r" });
    for (let n = 0; n < 300; n++) {
      while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
      await runtime.deliver("r", "word", n);
    }
    await turns();
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "end", "patient"]]);
    expect(noted(journal)).toBeLessThan(301 * 250);
    await runtime.close();
  });

  test("a run that was killed while it was being resumed still knows what it waited for last, and since when", async () => {
    const clock = virtualClock({ now: 5_000 });
    const journal = new MemoryJournal({ clock });
    const waiter = agent("waiter", async (ctx) => {
      for (const word of ["a", "b"]) await ctx.waitFor(word);
      return done(String(await ctx.waitFor("c")));
    });
    const stop = async (from: MemoryJournal, ...answers: readonly string[]): Promise<MemoryJournal> => {
      const runtime = new Runtime({ journal: from, clock, agents: [waiter] });
      const { result } =
        from.list().length === 0 ? runtime.run(waiter, "", { runId: "r" }) : runtime.resume("r");
      for (const answer of answers) {
        await turns();
        await clock.advance(10);
        await runtime.deliver("r", answer, true);
      }
      if (answers.length > 0) await turns();
      await runtime.close();
      await result;
      // As if it had been killed right after it was resumed.
      const records = from.load(RunId("r"));
      const status = {
        ...records.at(-1),
        key: "run:status",
        attempt: 99 + records.length,
        body: { status: "running" },
      };
      return cut("r", [...records, status as JournalRecord]);
    };
    const killed = await stop(journal, "a");
    expect(await waitsOf(() => killed.list())).toEqual([]);
    await clock.advance(1_000);
    const again = await stop(killed);
    const [b] = await waitsOf(() => killed.list());
    expect(b).toMatchObject({ name: "b", since: 5_010 });
    expect(await waitsOf(() => killed.list())).toHaveLength(1);
    await stop(again, "b");
    expect(await waitsOf(() => again.list())).toMatchObject([{ name: "c", since: 6_020 }]);
  });

  test("a wait whose answer comes in the moment in which it begins is never listed", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const waiter = agent("waiter", async (ctx) => {
      // As from another process.
      journal.post(RunId("r"), { id: "1", kind: "signal", name: "one", value: "a", at: 1 });
      return done(`${String(await ctx.waitFor("one"))} ${String(await ctx.waitFor("two"))}`);
    });
    const { result } = runtime.run(waiter, "", { runId: "r" });
    await turns();
    expect(briefly(await waitsOf(() => journal.list()))).toEqual([["signal", "two", "waiter"]]);
    await runtime.deliver("r", "two", "b");
    expect((await result).output).toBe("a b");
  });

  test("nothing of what a run has waited for stays in the file when it is over", async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    const runtime = new Runtime({ journal });
    const rows = (): unknown => {
      const file = new DatabaseSync(join(directory, "ravi.db"));
      const [row] = file.prepare("SELECT count(*) AS rows FROM waits").all();
      file.close();
      return row?.["rows"];
    };
    const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("word"))));
    const { result } = runtime.run(waiter, "", { runId: "r" });
    while ((await waitsOf(() => journal.list())).length === 0) await turns(1);
    expect(rows()).toBe(1);
    await runtime.cancel("r", "enough");
    expect((await result).status).toBe("cancelled");
    expect(rows()).toBe(0);
    await journal.close();
  });
});
