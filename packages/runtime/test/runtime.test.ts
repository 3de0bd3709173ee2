import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentResult,
  CancellationError,
  defineTool,
  type BlobStore,
  type CompactionStrategy,
  type Journal,
  JournalFailedError,
  type JsonValue,
  LaneViolationError,
  type Logger,
  type Permissions,
  type RunContext,
  type RunEvent,
  type RunHandle,
  RunId,
  type ToolError,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { getRunScope, Runtime, SqliteJournal } from "@ravi/runtime";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { withBlobs } from "../src/journal/entries/with-blobs.ts";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { team } from "./team.ts";

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const ask = (text: string) => ({ messages: [{ role: "user", content: text }] }) as const;

function agent<T = unknown>(name: string, run: Agent<T>["run"]): Agent<T> {
  return { id: AgentId(name), run };
}

const NO_BLOBS: BlobStore = { put: () => "", get: () => new Uint8Array() };

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; !condition(); turn++) {
    if (turn > 1_000) throw new Error("it never came to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("R12: any agent can be hosted", () => {
  test("R12: a bare runtime runs it and gives what it used", async () => {
    const { worker } = team();
    const handle = new Runtime().run(worker, "7");
    expect(handle.status).toBe("pending");
    const result = await handle.result;
    expect(result).toMatchObject({
      status: "completed",
      output: "7 squared is 49",
      stopReason: "done",
      runId: handle.runId,
    });
    expect(result.usage.outputTokens).toBeGreaterThan(0);
    expect(handle.status).toBe("completed");
  });

  test("R13: an agent that crashes fails, with its error as the cause", async () => {
    const broken = agent("broken", async () => {
      throw new TypeError("x is not a function");
    });
    const result = await new Runtime().run(broken, "").result;
    expect(result).toMatchObject({
      status: "failed",
      error: { message: "broken failed: x is not a function" },
    });
    expect(result.error?.cause).toBeInstanceOf(TypeError);
    // Whoever prints it, or compares it strictly, sees nothing that it has not.
    for (const field of ["structured", "stopReason", "stoppedBy", "exceeded"])
      expect(field in result).toBe(false);
  });

  test("R2: a child knows its place, and reads no conversation but its own (R10)", async () => {
    const child = agent("child", async (ctx) => {
      const { parentId, depth, rootId } = ctx.supervision;
      return done(
        `${ctx.agentId} of ${parentId} at ${depth} under ${rootId}, ${(await ctx.window()).length} messages`,
      );
    });
    const middle = agent("middle", async (ctx) => {
      const outcomes = await ctx.batch([
        { kind: "hire", agent: child, input: "" },
        { kind: "hire", agent: child, input: "" },
      ]);
      return done(outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : "")).join("; "));
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.remember({ role: "user", content: "for the lead only" });
      const outcome = await ctx.hire({ agent: middle, input: "" });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    expect((await new Runtime().run(lead, "").result).output).toBe(
      "child/1.1 of middle/1 at 2 under lead, 0 messages; child/1.2 of middle/1 at 2 under lead, 0 messages",
    );
  });
});

describe("one lane", () => {
  test("R23: two operations at once are a LaneViolationError, at once", async () => {
    const model = scriptedModel(["a", "b"]);
    const hasty = agent("hasty", async (ctx) => {
      const both = await Promise.allSettled([ctx.llm(model, ask("1")), ctx.llm(model, ask("2"))]);
      return done(
        both.map((one) => (one.status === "fulfilled" ? "ok" : (one.reason as Error).name)).join(" "),
      );
    });
    expect((await new Runtime().run(hasty, "").result).output).toBe("ok LaneViolationError");
    expect(model.calls).toHaveLength(1);
    expect(LaneViolationError.codes).toEqual(["LANE_VIOLATION"]);
  });

  test("R23: five branches of four steps go through children, and come back in order", async () => {
    const model = scriptedModel((request) => `${String(request.messages[0]?.content)}!`, { record: false });
    const branch = agent("branch", async (ctx, inbox) => {
      let text = inbox.input;
      for (let step = 0; step < 4; step++) {
        const { message } = await ctx.llm(model, ask(text));
        text = String(message.content);
      }
      return done(text);
    });
    const fan = agent("fan", async (ctx) => {
      const outcomes = await ctx.batch(
        [0, 1, 2, 3, 4].map((n) => ({ kind: "hire", agent: branch, input: `b${n}` }) as const),
      );
      return done(outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : "")).join(" "));
    });
    const journal = new MemoryJournal();
    const whole = await new Runtime({ journal }).run(fan, "", { runId: "five" }).result;
    expect(whole.output).toBe("b0!!!! b1!!!! b2!!!! b3!!!! b4!!!!");
  });
});

describe("R9: cancellation", () => {
  const idleTool = defineTool({
    name: "idle",
    description: "",
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      ),
  });
  const deaf = defineTool({
    name: "deaf",
    description: "",
    input: z.object({}),
    execute: () => new Promise(() => {}),
  });
  const sleeper = agent("sleeper", async (ctx) => {
    await ctx.waitFor("never");
    return done("");
  });
  const call = (name: string) => ({ id: "c", name, arguments: "{}" });
  const hanging = scriptedModel(() => ({ fault: { type: "hang" } }));
  const halting = scriptedModel(() => ({ text: "one two three", fault: { type: "hang", afterDeltas: 1 } }));
  const risky = defineTool({
    name: "risky",
    description: "",
    input: z.object({}),
    needsApproval: true,
    execute: () => "",
  });
  const compaction: CompactionStrategy = {
    async compact(messages, context) {
      await context?.llm?.(hanging, ask("sum up"));
      return messages;
    },
  };

  const waits: Record<string, (ctx: RunContext, inbox: { receive(): Promise<unknown> }) => Promise<unknown>> =
    {
      "a model that never answers": (ctx) => ctx.llm(hanging, ask("x")),
      "the rest of a streamed answer": (ctx) => ctx.llm(halting, ask("x")),
      "a compaction that asks a model": async (ctx) => ctx.window(),
      "an approval": (ctx) => ctx.tool(call("risky"), risky),
      "a tool that hears the signal": (ctx) => ctx.tool(call("idle"), idleTool),
      "a tool that ignores the signal": (ctx) => ctx.tool(call("deaf"), deaf),
      "a child": (ctx) => ctx.hire({ agent: sleeper, input: "" }),
      "a batch": (ctx) =>
        ctx.batch([
          { kind: "tool", call: call("idle"), tool: idleTool },
          { kind: "hire", agent: sleeper, input: "" },
        ]),
      "a join": async (ctx) => ctx.join(await ctx.spawn(sleeper, { input: "" })),
      "a question to a child": async (ctx) => ctx.ask(await ctx.spawn(sleeper, { input: "" }), "hello?"),
      "a signal": (ctx) => ctx.waitFor("never"),
      "a time": async (ctx) => ctx.sleepUntil((await ctx.now()) + 60_000),
      "the inbox": (_ctx, inbox) => inbox.receive(),
    };

  test.each(Object.keys(waits))(
    "T4: a run that waits for %s ends when it is cancelled, and leaves nothing",
    async (name) => {
      const clock = virtualClock();
      const waiting = agent("waiting", async (ctx, inbox) => {
        await waits[name]?.(ctx, inbox);
        return done("went on");
      });
      const runtime = new Runtime({ clock, compaction });
      const handle = runtime.run(waiting, "");
      await until(() => handle.status !== "pending");
      await clock.advance(1);
      handle.cancel("enough");
      await clock.advance(100);
      const result = await handle.result;
      expect(result).toMatchObject({ status: "cancelled", error: { reason: "enough" } });
      expect(result.error).toBeInstanceOf(CancellationError);
      expect(clock.pending).toBe(0);
      await runtime.close();
    },
  );

  test("T4: an agent that does not stop is left behind after its grace, and said so", async () => {
    const clock = virtualClock();
    const warned: string[] = [];
    const logger: Logger = { debug() {}, info() {}, error() {}, warn: (message) => warned.push(message) };
    const stubborn = agent("stubborn", () => new Promise<AgentResult>(() => {}));
    const handle = new Runtime({ clock, logger }).run(stubborn, "");
    await until(() => handle.status === "running");
    handle.cancel("stop");
    await clock.advance(100);
    expect(await handle.result).toMatchObject({ status: "cancelled" });
    expect(warned).toEqual([
      "stubborn did not stop within 50 ms after it was told to; the run no longer waits for it",
    ]);
  });

  test("R8: an outer signal cancels; a deadline lands as partial, with what was said", async () => {
    const outer = new AbortController();
    const cancelled = new Runtime().run(sleeper, "", { signal: outer.signal });
    outer.abort(new Error("browser closed"));
    expect(await cancelled.result).toMatchObject({
      status: "cancelled",
      error: { reason: "browser closed" },
    });

    const clock = virtualClock();
    const late = agent("late", async (ctx) => {
      await ctx.remember({ role: "assistant", content: "half of it" });
      await ctx.waitFor("never");
      return done("all of it");
    });
    const handle = new Runtime({ clock }).run(late, "", { executionBudget: { deadlineS: 10 } });
    await until(() => handle.status === "suspended");
    await clock.advance(10_100);
    expect(await handle.result).toMatchObject({
      status: "partial",
      output: "half of it",
      stopReason: "deadline",
    });
    expect(clock.pending).toBe(0);
  });

  test("R8: a child's deadline is the earlier of its own and its parent's", async () => {
    const seen: (number | null)[] = [];
    const child = agent("child", async (ctx) => {
      seen.push(ctx.meta.deadline);
      return done("");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: child, input: "", executionBudget: { deadlineS: 5 } });
      await ctx.hire({ agent: child, input: "", executionBudget: { deadlineS: 500 } });
      await ctx.hire({ agent: child, input: "" });
      return done("");
    });
    await new Runtime({ clock: virtualClock() }).run(lead, "", { executionBudget: { deadlineS: 60 } }).result;
    expect(seen).toEqual([5_000, 60_000, 60_000]);
  });
});

describe("R23, R24: waiting and talking", () => {
  const waiter = agent("waiter", async (ctx) =>
    done(`${String(await ctx.waitFor("a"))} ${String(await ctx.waitFor("a"))}`),
  );

  test("R24: an early signal is kept, and each is read once", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal(), clock: virtualClock() });
    const handle = runtime.run(waiter, "", { runId: "w" });
    await runtime.deliver("w", "a", 1);
    await runtime.deliver("w", "a", 2);
    expect((await handle.result).output).toBe("1 2");
  });

  test("R24: another process delivers through the journal", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const handle = new Runtime({ journal, clock }).run(waiter, "", { runId: "w" });
    await until(() => handle.status === "suspended");
    const elsewhere = new Runtime({ journal, clock });
    await elsewhere.deliver("w", "a", "yes");
    await elsewhere.deliver("w", "a", "no");
    await clock.advance(1_000);
    expect((await handle.result).output).toBe("yes no");
    expect(clock.pending).toBe(0);
  });

  test("R24: a cancel from another process ends it", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const handle = new Runtime({ journal, clock }).run(waiter, "", { runId: "w" });
    await until(() => handle.status === "suspended");
    await new Runtime({ journal, clock }).cancel("w", "not needed");
    await clock.advance(1_000);
    expect(await handle.result).toMatchObject({ status: "cancelled", error: { reason: "not needed" } });
  });

  test("R24: one that rests is over as soon as it is cancelled where its agent is known, and elsewhere when it is resumed", async () => {
    const journal = new MemoryJournal();
    let calls = 0;
    const model = scriptedModel(() => `${++calls}`);
    const resting = agent("resting", async (ctx) => {
      await ctx.llm(model, { messages: [{ role: "user", content: "go" }] });
      await ctx.waitFor("never");
      return done("");
    });
    const first = new Runtime({ journal });
    for (const runId of ["a", "b"]) {
      const handle = first.run(resting, "", { runId });
      await until(() => handle.status === "suspended");
    }
    await first.close();
    const statuses = async (runtime: Runtime) => (await runtime.list()).map(({ status }) => status);

    const knowing = new Runtime({ journal: reopened(journal), agents: [resting] });
    await knowing.cancel("a", "not needed");
    expect(await statuses(knowing)).toEqual(["cancelled", "suspended"]);
    const again = { status: "cancelled", error: { reason: "not needed" }, agents: [{ modelCalls: 1 }] };
    expect(await knowing.resume("a").result).toMatchObject(again);
    const stranger = new Runtime({ journal: reopened(journal) });
    await stranger.cancel("b", "not needed");
    expect(await statuses(stranger)).toEqual(["cancelled", "suspended"]);
    expect(await stranger.register(resting).resume("b").result).toMatchObject(again);
    expect(await statuses(stranger)).toEqual(["cancelled", "cancelled"]);
    expect(calls).toBe(2);
  });

  test("R23: a sleep ends at its time, also after a restart in between", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const sleepy = agent("sleepy", async (ctx) => {
      await ctx.sleepUntil(60_000);
      return done(`woke at ${clock.now()}`);
    });
    const first = new Runtime({ journal, clock });
    const handle = first.run(sleepy, "", { runId: "z" });
    await clock.advance(40_000);
    const closing = first.close();
    await clock.advance(100);
    await closing;
    expect(await handle.result).toMatchObject({ status: "suspended" });
    const resumed = new Runtime({ journal: reopened(journal), agents: [sleepy], clock }).resume("z");
    await clock.advance(30_000);
    expect((await resumed.result).output).toBe("woke at 60000");
  });

  test("R23: a living child is asked, answers, and is joined", async () => {
    const clerk = agent("clerk", async (_ctx, inbox) => {
      for (let answered = 0; ; answered++) {
        const message = await inbox.receive();
        if (message.content === "bye") return done(`answered ${answered}`);
        await inbox.reply(message, `re: ${JSON.stringify(message.content)}`);
      }
    });
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(clerk, { input: "" });
      const replies: JsonValue[] = [await ctx.ask(handle, 1), await ctx.ask(handle, { deep: true })];
      const silent = await ctx
        .ask(handle, "bye", { timeoutS: 1 })
        .catch((error: unknown) => (error as Error).message);
      const outcome = await ctx.join(handle);
      return done(
        [...replies.map(String), silent, "result" in outcome ? outcome.result.output : outcome.status].join(
          " | ",
        ),
      );
    });
    const clock = virtualClock();
    const handle = new Runtime({ clock, journal: new MemoryJournal() }).run(boss, "");
    await clock.advance(2_000);
    expect((await handle.result).output).toBe(
      're: 1 | re: {"deep":true} | clerk/1 ended without a reply; ctx.join(handle) gives its outcome | answered 2',
    );
  });

  test("R23: nobody waits for the answer of a child that is over", async () => {
    const clerk = agent("clerk", async () => done("gone home"));
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(clerk, { input: "" });
      await ctx.join(handle);
      return done(
        await ctx.ask(handle, "still there?").then(String, (error: unknown) => {
          const { message, retryable } = error as ToolError;
          return `${message} ${retryable}`;
        }),
      );
    });
    for (const services of [{}, { journal: new MemoryJournal() }]) {
      const { output } = await new Runtime(services).run(boss, "").result;
      expect(output).toBe("clerk/1 ended without a reply; ctx.join(handle) gives its outcome false");
    }
  });
});

describe("R16: children and their parent's end", () => {
  const forever = agent("forever", async (ctx) => done(JSON.stringify(await ctx.waitFor("never"))));

  test("R16: a child that nobody joined is cancelled when its parent ends, and is never leaked", async () => {
    const clock = virtualClock();
    let handle: RunHandle | undefined;
    const careless = agent("careless", async (ctx) => {
      handle = await ctx.spawn(forever, { input: "" });
      return done("gone");
    });
    const run = new Runtime({ clock }).run(careless, "");
    await clock.advance(100);
    expect(await run.result).toMatchObject({ status: "completed", output: "gone" });
    expect(handle?.status).toBe("cancelled");
    expect(clock.pending).toBe(0);
  });

  test("R23: a spawned child that was over before a restart is still joined after it", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    const quick = agent("quick", async () => done("quick is done"));
    const patient = agent("patient", async (ctx) => {
      const handle = await ctx.spawn(quick, { input: "" });
      await ctx.waitFor("go");
      const outcome = await ctx.join(handle);
      return done("result" in outcome ? `${handle.status}: ${outcome.result.output}` : outcome.status);
    });
    const first = new Runtime({ journal, clock });
    const handle = first.run(patient, "", { runId: "p" });
    await until(() => handle.status === "suspended");
    const closing = first.close();
    await clock.advance(100);
    await closing;
    const second = new Runtime({ journal, agents: [patient], clock });
    const resumed = second.resume("p");
    await second.deliver("p", "go", true);
    await clock.advance(1_000);
    expect((await resumed.result).output).toBe("completed: quick is done");
  });
});

/** A journal whose claims have lapsed, as another process finds it. */
function reopened(journal: MemoryJournal): MemoryJournal {
  return journal;
}

describe("approvals", () => {
  const pay = (paid: number[]) =>
    defineTool({
      name: "pay",
      description: "",
      input: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => `paid ${paid.push(amount)}`,
    });

  test.each([
    [true, "paid 1", 1],
    [{ approved: true }, "paid 1", 1],
    ["approve", "paid 1", 1],
    [" Yes ", "paid 1", 1],
    [{ approved: false, reason: "too much" }, "error: pay was not approved: too much", 0],
    ["sure", "error: pay was not approved", 0],
  ])("a tool that needs approval runs only after a yes: %j", async (answer, output, times) => {
    const paid: number[] = [];
    const clock = virtualClock();
    const journal = new MemoryJournal();
    const buyer = agent("buyer", async (ctx) => {
      const { content } = await ctx.tool({ id: "c", name: "pay", arguments: '{"amount":5}' }, pay(paid));
      return done(String(content));
    });
    const handle = new Runtime({ journal, clock }).run(buyer, "", { runId: "buy" });
    await until(() => handle.status === "suspended");
    expect(paid).toEqual([]);
    await new Runtime({ journal, clock }).deliver("buy", "approval:buy:tool:pay#1", answer);
    await clock.advance(1_000);
    expect((await handle.result).output).toBe(output);
    expect(paid).toHaveLength(times);
  });
});

describe("J11: permissions", () => {
  const child = agent("child", async () => done("hired"));
  const model = scriptedModel(() => "spoke");
  const tool = defineTool({ name: "shout", description: "", input: z.object({}), execute: () => "shouted" });
  const tries = agent("tries", async (ctx) => {
    const hired = await ctx.hire({ agent: child, input: "" });
    const spoke = await ctx.llm(model, ask("x")).then(
      () => "spoke",
      (error: unknown) => (error as Error).message,
    );
    const { content } = await ctx.tool({ id: "c", name: "shout", arguments: "{}" }, tool);
    return done(
      [
        "error" in hired ? `${hired.status}: ${hired.error.message}` : hired.status,
        spoke,
        String(content),
      ].join(" | "),
    );
  });
  const deny = (action: string): Permissions => ({
    isNoop: false,
    check: (request) =>
      request.action === action ? { allow: false, reason: "house rule" } : { allow: true },
  });

  test.each([
    ["hire", "denied: permissions stopped the run: child@1 is not permitted: house rule | spoke | shouted"],
    [
      "llm",
      "completed | permissions stopped the run: scripted/scripted is not permitted: house rule | shouted",
    ],
    ["tool", "completed | spoke | error: shout is not permitted: house rule"],
  ])("J11: what is not permitted is not done: %s", async (action, output) => {
    expect((await new Runtime({ permissions: deny(action) }).run(tries, "").result).output).toBe(output);
  });

  test("J11: a policy that fails, or says anything but yes, denies", async () => {
    const broken: Permissions = {
      isNoop: false,
      check: () => {
        throw new Error("no database");
      },
    };
    const { output } = await new Runtime({ permissions: broken }).run(tries, "").result;
    expect(output.match(/the policy failed \(no database\)/g)).toHaveLength(3);
    const vague: Permissions = { isNoop: false, check: async () => ({}) as never };
    expect((await new Runtime({ permissions: vague }).run(tries, "").result).output).not.toContain("shouted");
    const silent: Permissions = { isNoop: false, check: async () => undefined as never };
    const said = (await new Runtime({ permissions: silent }).run(tries, "").result).output;
    expect(said.match(/is not permitted: the policy failed/g)).toHaveLength(3);
  });
});

describe("observers", () => {
  test("J3: events are numbered without gaps, for any number of observers, who change nothing", async () => {
    const { lead } = team();
    const runtime = new Runtime();
    const handle = runtime.run(lead, "2 3");
    const read = async (): Promise<RunEvent[]> => Array.fromAsync(handle.events());
    const [one, two] = await Promise.all([read(), read()]);
    expect(one.map(({ seq }) => seq)).toEqual(one.map((_, at) => at + 1));
    expect(two).toEqual(one);
    expect(one[0]).toMatchObject({ agentId: "lead", event: { type: "started", input: "2 3" } });
    expect(one.at(-1)).toMatchObject({ event: { type: "completed" } });
    expect(one.filter(({ event }) => event.type === "usage")).toHaveLength(4);
  });

  test("J3: one who breaks off leaves nothing behind, and the run goes on", async () => {
    const { lead } = team();
    const handle = new Runtime().run(lead, "2 3");
    for await (const event of handle.events()) {
      expect(event.seq).toBe(1);
      break;
    }
    expect(await handle.result).toMatchObject({ status: "completed" });
    expect(await Array.fromAsync(handle.events())).toEqual([]);
  });

  test("J5: the scope is known to tools where it is asked for, and only there", async () => {
    const look = defineTool({
      name: "look",
      description: "",
      input: z.object({}),
      execute: () => getRunScope()?.userId ?? "nobody",
    });
    const looker = agent("looker", async (ctx) =>
      done(String((await ctx.tool({ id: "c", name: "look", arguments: "" }, look)).content)),
    );
    expect((await new Runtime({ ambientScope: true }).run(looker, "", { userId: "ada" }).result).output).toBe(
      "ada",
    );
    expect((await new Runtime().run(looker, "", { userId: "ada" }).result).output).toBe("nobody");
    expect(getRunScope()).toBeUndefined();
  });

  test("what comes after an agent's end is not in its scope: the record of the end or of a suspension, and a restart", async () => {
    const inner = new MemoryJournal();
    const isInScope: string[] = [];
    const note = (what: string): void => void (getRunScope() === undefined || isInScope.push(what));
    const journal = Object.assign(Object.create(inner) as MemoryJournal, {
      append(...given: Parameters<MemoryJournal["append"]>) {
        for (const { key } of given[2]) note(key);
        return inner.append(...given);
      },
      load(runId: RunId) {
        note("load");
        return inner.load(runId);
      },
    });
    const restart = {
      shouldRetry: () => true,
      delayMs: () => (note("delayMs"), 0),
      reset: () => note("reset"),
    };
    let attempts = 0;
    const crashing = agent("crashing", async (ctx) => {
      await ctx.record("x", () => 1);
      if (++attempts === 1) throw new TypeError("a bug");
      return done("");
    });
    const runtime = new Runtime({ journal, restart, ambientScope: true });
    const { status } = await runtime.run(crashing, "").result;
    expect([status, isInScope]).toEqual(["completed", ["record:x#1"]]);
    const begun = Promise.withResolvers<void>();
    const patient = agent("patient", async (ctx) => {
      begun.resolve();
      return done(String(await ctx.waitFor("never")));
    });
    const { result } = runtime.run(patient, "");
    await begun.promise;
    await runtime.close();
    expect((await result).status).toBe("suspended");
    expect(isInScope).not.toContain("run:status");
  });
});

describe("keeping house", () => {
  test("many runs are pruned together, so that they share what a journal does for one", async () => {
    const inner = new MemoryJournal();
    const clock = virtualClock({ now: 1 });
    let [under, most] = [0, 0];
    const deleting = async (runId: RunId): Promise<void> => {
      most = Math.max(most, ++under);
      await Promise.resolve();
      inner.delete(runId);
      under--;
    };
    const journal = Object.assign(Object.create(inner) as MemoryJournal, { delete: deleting });
    const runtime = new Runtime({ journal, clock });
    const quick = agent("quick", async () => done(""));
    for (let n = 0; n < 150; n++) await runtime.run(quick, "", { runId: `r${n}` }).result;
    await clock.advance(10);
    expect(await runtime.prune({ olderThanMs: 1 })).toHaveLength(150);
    expect([most, await runtime.list()]).toEqual([100, []]);
  });

  test.each([
    [["r1"], ["r0", "r2"], "journal.delete for run r1: the disk is broken; 2 of 3 runs were deleted"],
    [
      ["r0", "r2"],
      ["r1"],
      "journal.delete for 2 runs, the first of them r0: the disk is broken; 1 of 3 runs",
    ],
    [
      ["r0", "r1", "r2"],
      [],
      "journal.delete for 3 runs, the first of them r0: the disk is broken; 0 of 3 runs",
    ],
  ])(
    "a run that cannot be deleted (%j) does not keep the others from being pruned",
    async (bad, gone, says) => {
      const inner = new MemoryJournal();
      const clock = virtualClock({ now: 1 });
      const deleted: string[] = [];
      const deleting = (runId: RunId): void => {
        if (bad.includes(runId)) throw new Error("the disk is broken");
        deleted.push(runId);
        inner.delete(runId);
      };
      const journal = Object.assign(Object.create(inner) as MemoryJournal, { delete: deleting });
      const runtime = new Runtime({ journal, clock });
      const quick = agent("quick", async () => done(""));
      for (let n = 0; n < 3; n++) await runtime.run(quick, "", { runId: `r${n}` }).result;
      await clock.advance(10);
      const refused = { code: "JOURNAL_FAILED", final: false, message: expect.stringContaining(says) };
      await expect(runtime.prune({ olderThanMs: 1 })).rejects.toMatchObject(refused);
      expect(deleted).toEqual(gone);
    },
  );

  test("a journal that deletes nothing of what it is asked together is asked no more", async () => {
    const inner = new MemoryJournal();
    const clock = virtualClock({ now: 1 });
    const deleting = vi.fn<(runId: RunId) => never>(() => {
      throw new JournalFailedError({ what: "the disk", final: true, cause: "full" });
    });
    const journal = Object.assign(Object.create(inner) as MemoryJournal, { delete: deleting });
    const runtime = new Runtime({ journal, clock });
    const quick = agent("quick", async () => done(""));
    for (let n = 0; n < 150; n++) await runtime.run(quick, "", { runId: `r${n}` }).result;
    await clock.advance(10);
    await expect(runtime.prune({ olderThanMs: 1 })).rejects.toMatchObject({
      code: "JOURNAL_FAILED",
      final: true,
    });
    expect(deleting).toHaveBeenCalledTimes(100);
  });

  test("a run that has failed long ago and is just being retried is not pruned", async () => {
    const clock = virtualClock({ now: 1 });
    let isDown = true;
    const flaky = agent("flaky", async () => {
      if (isDown) throw new Error("an outage");
      return done("at last");
    });
    const runtime = new Runtime({ journal: new MemoryJournal(), clock, agents: [flaky] });
    for (const runId of ["old", "retried"]) await runtime.run(flaky, "", { runId }).result;
    await clock.advance(10);
    isDown = false;
    const { result } = runtime.resume("retried", { retryFailed: true });
    expect(await runtime.prune({ olderThanMs: 1 })).toEqual(["old"]);
    expect(await result).toMatchObject({ status: "completed", output: "at last" });
  });

  test("runs on record are listed, deleted and pruned by age", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock({ now: 1_000 });
    const runtime = new Runtime({ journal, clock });
    const { worker } = team();
    await runtime.run(worker, "1", { runId: "old" }).result;
    await clock.advance(50_000);
    await runtime.run(worker, "2", { runId: "new" }).result;
    expect((await runtime.list()).map(({ runId, status, agent: name }) => [runId, status, name])).toEqual([
      ["old", "completed", "worker@1"],
      ["new", "completed", "worker@1"],
    ]);
    expect(await runtime.prune({ olderThanMs: 10_000 })).toEqual(["old"]);
    await runtime.delete("new");
    expect(await runtime.list()).toEqual([]);
    expect(journal.load(RunId("old"))).toEqual([]);
  });

  test.each([
    ["memory", () => new MemoryJournal()],
    ["SQLite", () => SqliteJournal.open(temporaryDirectory())],
    ["one that cannot abandon", () => Object.assign(new MemoryJournal(), { abandon: undefined })],
  ])("R24: a run that nobody has started is not listed for having been resumed (%s)", async (_, open) => {
    const journal: Journal = open();
    const runtime = new Runtime({ journal });
    await expect(runtime.resume("misspelt").result).rejects.toThrow("the id of a run in the journal");
    expect(await runtime.list()).toEqual([]);
    // What came early is kept all the same, and its id is free.
    await runtime.deliver("later", "a", "early");
    await expect(runtime.resume("later").result).rejects.toThrow("the id of a run in the journal");
    const patient = agent("patient", async (ctx) => done(String(await ctx.waitFor("a"))));
    expect((await runtime.run(patient, "", { runId: "later" }).result).output).toBe("early");
    await journal.close();
  });

  test.each([
    ["memory", () => new MemoryJournal()],
    ["SQLite", () => SqliteJournal.open(temporaryDirectory())],
    ["with blobs beside it", () => withBlobs(new MemoryJournal(), NO_BLOBS)],
  ])(
    "R24: what is delivered while a run is looked for that is not there yet is kept (%s)",
    async (_, open) => {
      const journal: Journal = open();
      // Somebody else delivers at the worst moment: when it was seen that nothing was posted.
      const worst: Journal = Object.assign(Object.create(journal) as Journal, {
        items: async (...asked: Parameters<Journal["items"]>) => {
          const found = await journal.items(...asked);
          await journal.post(asked[0], { id: "1", kind: "signal", name: "a", value: "early", at: 0 });
          return found;
        },
        abandon: async (...asked: Parameters<NonNullable<Journal["abandon"]>>) => {
          await journal.post(asked[0], { id: "1", kind: "signal", name: "a", value: "early", at: 0 });
          return journal.abandon?.(...asked);
        },
      });
      await expect(new Runtime({ journal: worst }).resume("later").result).rejects.toThrow(
        "the id of a run in the journal",
      );
      const runtime = new Runtime({ journal });
      expect(await runtime.list()).toEqual([]);
      const patient = agent("patient", async (ctx) => done(String(await ctx.waitFor("a"))));
      expect((await runtime.run(patient, "", { runId: "later" }).result).output).toBe("early");
      await journal.close();
    },
  );

  test("R24: a run that is not there is not made by a heartbeat while it is given up", async () => {
    const clock = virtualClock();
    const journal = new MemoryJournal({ clock });
    const { promise, resolve } = Promise.withResolvers<void>();
    let claims = 0;
    const slow: Journal = Object.assign(Object.create(journal) as Journal, {
      claim: (...asked: Parameters<Journal["claim"]>) => {
        claims++;
        return journal.claim(...asked);
      },
      abandon: async (...asked: Parameters<NonNullable<Journal["abandon"]>>) => {
        journal.abandon?.(...asked);
        await promise;
      },
    });
    const failed = new Runtime({ clock, journal: slow }).resume("nowhere").result;
    const outcome = failed.catch((error: unknown) => String(error));
    await clock.advance(16_000);
    expect(claims).toBe(1);
    expect(await new Runtime({ journal }).list()).toEqual([]);
    resolve();
    expect(await outcome).toContain("the id of a run in the journal");
  });

  test("without a journal those that live here are listed, as they would be on record", async () => {
    const clock = virtualClock({ now: 7_000 });
    const runtime = new Runtime({ clock });
    const patient = {
      ...agent("patient", async (ctx) => done(String(await ctx.waitFor("a")))),
      version: "2",
    };
    const whose = { sessionId: "chat", userId: "ada" };
    const handle = runtime.run(patient, "", { runId: "w", ...whose });
    await until(() => handle.status === "suspended");
    const wait = { kind: "signal", name: "a", agentId: "patient", execId: "w", since: 7_000 };
    const times = { startedAt: 7_000, updatedAt: 7_000 };
    expect(await runtime.list()).toEqual([
      {
        runId: "w",
        agent: "patient@2",
        status: "suspended",
        ...times,
        entries: 0,
        ...whose,
        waitingFor: [wait],
      },
    ]);
    await runtime.close();
    expect(await runtime.list()).toEqual([]);
  });

  test("T17: agents that are made for one run each are not kept, where nothing can be resumed", async () => {
    const runtime = new Runtime();
    const once = (version: string) => ({ ...agent("once", async () => done(version)), version });
    expect((await runtime.run(once("1"), "").result).output).toBe("1");
    const asked = () => runtime.run(once("2"), "", { version: "1" });
    expect(asked).toThrow(expect.objectContaining({ code: "AGENT_NOT_FOUND" }));
    // One that is meant to be found is registered.
    runtime.register(once("1"));
    expect((await asked().result).output).toBe("1");
  });

  test("a cancel of a run that nobody knows is refused: its sender would take it for stopped", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const unknown = { code: "INVALID_VALUE", field: "runId", value: `"typo"` };
    await expect(runtime.cancel("typo", "enough")).rejects.toMatchObject(unknown);
    expect(journal.items(RunId("typo"), 0)).toEqual([]);
    await expect(new Runtime().cancel("typo", "enough")).rejects.toMatchObject(unknown);
  });

  test("what cannot be a run is refused where it is written", () => {
    const runtime = new Runtime();
    const { worker } = team();
    expect(() => runtime.run({ id: "x" } as never, "")).toThrow(
      "agent is an object; expected an agent: an object with an id and a run(ctx, inbox)",
    );
    expect(() => runtime.run(worker, 7 as never)).toThrow("input is 7; expected a string");
    expect(() => runtime.run(worker, [{ role: "user", content: "hi" }] as never)).toThrow(
      /^input is an array of 1; expected .*the new message.* sessionId .* history/,
    );
    expect(() => runtime.run(worker, "", { budget: {} } as never)).toThrow(
      "run options.budget is an object; expected no field of that name",
    );
    expect(() => runtime.run(worker, "", { executionBudget: { maxTurns: -1 } })).toThrow(
      "executionBudget.maxTurns is -1",
    );
    expect(() => new Runtime({ hook: {} } as never)).toThrow(
      "runtime options.hook is an object; expected no field of that name",
    );
    for (const [field, value] of [
      ["tenantId", 7],
      ["userId", {}],
      ["metadata", "x"],
      ["metadata", ["x"]],
    ] as const)
      expect(() => runtime.run(worker, "", { [field]: value })).toThrow(`run options.${field} is`);
  });

  test("R24: a run that is named like a helper of another run is refused: both would pay under the same keys", async () => {
    const runtime = new Runtime();
    const keys: (string | undefined)[] = [];
    const tool = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({}),
      execute: (_args, { idempotencyKey }) => void keys.push(idempotencyKey),
    });
    const payer = agent("payer", async (ctx) => {
      await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, tool);
      return done("paid");
    });
    const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: payer, input: "" })).status));
    await runtime.run(lead, "", { runId: "acme/1" }).result;
    expect(() => runtime.run(payer, "", { runId: "acme/1/hire:payer#1" })).toThrow("run options.runId is");
    expect(keys).toEqual([expect.stringMatching(/^acme\/1\/hire:payer#1:/)]);
  });

  test("what is misspelt where a run goes on, is let go of or is closed is refused", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal() });
    const refused = { code: "INVALID_VALUE" };
    expect(() => runtime.resume("r", { decision: {} } as never)).toThrow("resume options.decision is");
    await expect(runtime.prune({ olderThan: 1 } as never)).rejects.toMatchObject(refused);
    await expect(runtime.prune({ olderThanMs: "day" } as never)).rejects.toMatchObject(refused);
    await expect(runtime.close({ drian: true } as never)).rejects.toMatchObject(refused);
    await expect(runtime.close({ drain: "yes" } as never)).rejects.toMatchObject(refused);
    await runtime.run(team().worker, "1", { runId: "still open" }).result;
    await runtime.close();
  });

  test("the same id twice, a run on a closed runtime and a journal that is not there are refused", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const { worker } = team();
    const handle = runtime.run(worker, "1", { runId: "x" });
    expect(() => runtime.run(worker, "1", { runId: "x" })).toThrow(
      "an id that no running run here has; use the handle of that run, or another id",
    );
    await expect(runtime.delete("x")).rejects.toThrow("cancel it first");
    await handle.result;
    await expect(runtime.run(worker, "1", { runId: "x" }).result).rejects.toThrow(
      "call resume() to continue that run",
    );
    await runtime.close();
    expect(() => runtime.run(worker, "1")).toThrow(
      'runtime is "closed"; expected an open runtime; create a new one',
    );
    await expect(new Runtime().resume("x").result).rejects.toThrow(
      "a runtime with a journal: new Runtime({ journal })",
    );
    await expect(new Runtime().deliver("x", "a", 1)).rejects.toThrow("the id of a run that is running here");
  });

  test("closing drains where it is asked to, and cancels what has no journal", async () => {
    const { worker } = team();
    const drained = new Runtime();
    const kept = drained.run(worker, "3");
    await drained.close({ drain: true });
    expect(await kept.result).toMatchObject({ status: "completed" });
    const cut = new Runtime();
    const lost = cut.run(
      agent("waits", async (ctx) => done(String(await ctx.waitFor("x")))),
      "",
    );
    await cut.close();
    expect(await lost.result).toMatchObject({
      status: "cancelled",
      error: { reason: "the runtime was closed" },
    });
  });
});

test("R12: a context that somebody has kept after its agent's end does and pays nothing more", async () => {
  const model = scriptedModel(["never"]);
  for (const options of [{}, { journal: new MemoryJournal() }]) {
    let kept: RunContext | undefined;
    const careless = agent("careless", async (ctx) => {
      kept = ctx;
      return done("");
    });
    await new Runtime(options).run(careless, "").result;
    await expect(kept?.llm(model, ask("more"))).rejects.toThrow("careless has ended");
    expect(() => kept?.now()).toThrow("careless has ended");
  }
  expect(model.calls).toEqual([]);
});

test("a runtime is created without anything random, which a worker may ask for only within a request", async () => {
  const uuid = vi.fn(() => "1");
  const random = vi.fn(() => 0);
  const runtime = new Runtime({ journal: new MemoryJournal(), ids: { uuid, random } });
  expect([...uuid.mock.calls, ...random.mock.calls]).toEqual([]);
  await runtime.run(
    agent("clerk", async () => done("")),
    "",
  ).result;
  expect(uuid).toHaveBeenCalled();
});
