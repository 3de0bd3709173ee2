import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  ExecId,
  type HistoryProvider,
  type Journal,
  type JournalRecord,
  type JsonValue,
  type RestartPolicy,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, cut, done, until } from "./support/helpers.ts";

/** Says what it is told, in order, until somebody says "stop". */
const listener: Agent = {
  id: AgentId("listener"),
  async run(_ctx, inbox) {
    const heard: string[] = [];
    for (;;) {
      const { from, content } = await inbox.receive();
      if (content === "stop") return { status: "completed", output: heard.join("; "), stopReason: "done" };
      heard.push(`${from}: ${JSON.stringify(content)}`);
    }
  },
};

/** Hires a listener and gives its result. */
const lead: Agent = {
  id: AgentId("lead"),
  async run(ctx) {
    const outcome = await ctx.hire({ agent: listener, input: "listen" });
    const output = "result" in outcome ? outcome.result.output : outcome.status;
    return { status: "completed", output, stopReason: "done" };
  },
};

const journals: readonly (readonly [string, () => Journal | undefined])[] = [
  ["without a journal", () => undefined],
  ["with a journal", () => new MemoryJournal()],
];

describe.each(journals)("R24: a message to an agent at work, %s", (_name, makeJournal) => {
  test("R24: it is read in the order in which it was sent, and the same id counts once", async () => {
    await using runtime = new Runtime({ journal: makeJournal() });
    const { result } = runtime.run(listener, "listen", { runId: "run-1" });
    await runtime.send("run-1", "one");
    await runtime.send("run-1", { two: 2 }, { from: "ada", id: "m2" });
    await runtime.send("run-1", { two: 2 }, { from: "ada", id: "m2" });
    await runtime.send("run-1", "stop");
    expect((await result).output).toBe('user: "one"; ada: {"two":2}');
  });

  test("R24: pictures and files come with it; anything else is refused", async () => {
    await using runtime = new Runtime({ journal: makeJournal() });
    const seer = agent("seer", async (_ctx, inbox) => {
      const seen: unknown[] = [];
      for (;;) {
        const { content, attachments } = await inbox.receive();
        if (content === "stop") return done(JSON.stringify(seen));
        seen.push(attachments ?? "none");
      }
    });
    const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
    const { result } = runtime.run(seer, "look", { runId: "run-1" });
    await runtime.send("run-1", "this", { attachments: [picture] });
    await runtime.send("run-1", "that", { attachments: [] });
    const wrong = { attachments: [{ ...picture, mediatype: "image/png" }] };
    await expect(runtime.send("run-1", "odd", wrong)).rejects.toThrow(/^send options\.attachments\[0\]/);
    await runtime.send("run-1", "stop");
    expect((await result).output).toBe(JSON.stringify([[picture], "none"]));
  });

  test("R24: a sender or an id that is no name is refused, and nothing is sent", async () => {
    await using runtime = new Runtime({ journal: makeJournal() });
    const { result } = runtime.run(listener, "listen", { runId: "run-1" });
    for (const name of ["from", "id"])
      for (const value of [7, null, "", { name: "ada" }, () => "ada"])
        await expect(runtime.send("run-1", "odd", { [name]: value })).rejects.toMatchObject({
          code: "INVALID_VALUE",
          message: expect.stringMatching(`^send options\\.${name} is .*; expected a non-empty string$`),
        });
    await runtime.send("run-1", "stop");
    expect((await result).output).toBe("");
  });

  test("R24: it can be sent to a child, also before the child is there", async () => {
    await using runtime = new Runtime({ journal: makeJournal() });
    const { result } = runtime.run(lead, "go", { runId: "run-1" });
    const to = ExecId(ExecId(RunId("run-1")), "hire:listener#1");
    await runtime.send("run-1", "hello", { to });
    await runtime.send("run-1", "stop", { to });
    expect((await result).output).toBe('user: "hello"');
  });

  test("R24: it is refused once the agent has ended, while its history is still being saved", async () => {
    const saving = Promise.withResolvers<void>();
    const saved = Promise.withResolvers<void>();
    const history: HistoryProvider = {
      load: () => ({ messages: [], head: 0 }),
      append() {
        saving.resolve();
        return saved.promise;
      },
      clear: () => {},
    };
    await using runtime = new Runtime({ journal: makeJournal(), history });
    const brief = agent("brief", async (ctx, inbox) => {
      await ctx.remember({ role: "assistant", content: "Bye." });
      return done(String((await inbox.receive()).content));
    });
    const { result } = runtime.run(brief, "go", { runId: "run-1" });
    await runtime.send("run-1", "in time", { id: "m1" });
    await saving.promise;
    await expect(runtime.send("run-1", "too late")).rejects.toThrow(
      'runId is "run-1"; expected the id of a run that still reads messages; this one had ended before it read this one',
    );
    // That one was read, so it is not refused the second time.
    await runtime.send("run-1", "in time", { id: "m1" });
    saved.resolve();
    expect((await result).output).toBe("in time");
  });
});

/** Hires somebody who reads one message, and then waits for a signal. */
const patient = agent("patient", async (ctx) => {
  const brief = agent("brief", async (_ctx, inbox) => done(String((await inbox.receive()).content)));
  await ctx.hire({ agent: brief, input: "" });
  await ctx.waitFor("go");
  return done("gone");
});

describe.each(journals)("R24: a message to a child that has ended, %s", (_name, makeJournal) => {
  test("R24: it is refused while the run goes on, but not if the child has read it", async () => {
    await using runtime = new Runtime({ journal: makeJournal() });
    const run = runtime.run(patient, "", { runId: "r" });
    const to = "r/hire:brief#1";
    await runtime.send("r", "in time", { to, id: "m1" });
    while (run.status !== "suspended") await new Promise(setImmediate);
    await expect(runtime.send("r", "too late", { to })).rejects.toThrow(
      'send options.to is "r/hire:brief#1"; expected the id of an agent that still reads messages; this one had ended before it read this one',
    );
    await runtime.send("r", "in time", { to, id: "m1" });
    await runtime.deliver("r", "go", true);
    expect((await run.result).output).toBe("gone");
  });
});

test("R24: a message to a child that had ended before its run was resumed is refused, unless it was read", async () => {
  const journal = new MemoryJournal();
  const first = new Runtime({ journal });
  const stopped = first.run(patient, "", { runId: "r" });
  const [to, id] = ["r/hire:brief#1", "m1"];
  await first.send("r", "in time", { to, id });
  while (stopped.status !== "suspended") await new Promise(setImmediate);
  await first.close();

  await using second = new Runtime({ journal, agents: [patient] });
  const resumed = second.resume("r");
  while (resumed.status !== "suspended") await new Promise(setImmediate);
  await expect(second.send("r", "too late", { to })).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "send options.to",
  });
  await second.send("r", "in time", { to, id });
  // What is refused is not stored, or every resumed run would read it again.
  expect(journal.items(RunId("r"), 0).map((item) => item.id)).toEqual([id]);
});

test("R24: a message to a run that is over is refused, unless it had it", async () => {
  const journal = new MemoryJournal();
  const first = new Runtime({ journal });
  const { result } = first.run(listener, "", { runId: "r" });
  await first.send("r", "stop", { id: "m1" });
  await result;
  for (const runtime of [first, new Runtime({ journal })]) {
    await expect(runtime.send("r", "too late")).rejects.toThrow(
      'runId is "r"; expected the id of a run that has not ended; this one is completed',
    );
    await runtime.send("r", "stop", { id: "m1" });
  }
  expect(journal.items(RunId("r"), 0)).toHaveLength(1);
  // One that has not begun may have mail.
  await first.send("s", "early");
});

test("R24: a message to an execution that cannot be one of the run is refused", async () => {
  await using runtime = new Runtime({ journal: new MemoryJournal() });
  for (const to of ["other", "other/hire:brief#1", "r2", "brief", ""])
    await expect(runtime.send("r", "hello", { to })).rejects.toThrow(
      `send options.to is ${JSON.stringify(to)}; expected the id of an execution of run r`,
    );
});

test.each([
  ["the root", "r"],
  ["a child of its", "r/hire:ear#1"],
])("R24: a message to %s while a crashed root waits for its restart is read after it", async (_who, to) => {
  let crashes = 0;
  const crashed = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<string>();
  const ear = agent("ear", async (_ctx, inbox) => {
    heard.resolve(`ear: ${String((await inbox.receive()).content)}`);
    return done("");
  });
  const shaky = agent("shaky", async (ctx, inbox) => {
    await ctx.spawn(ear, { input: "" });
    if (crashes++ === 0) throw new TypeError("a slip");
    heard.resolve(`shaky: ${String((await inbox.receive()).content)}`);
    return done("");
  });
  const clock = virtualClock();
  const restart: RestartPolicy = {
    shouldRetry: () => true,
    delayMs() {
      crashed.resolve();
      return 1_000;
    },
    reset() {},
  };
  await using runtime = new Runtime({ journal: new MemoryJournal(), clock, restart });
  runtime.run(shaky, "", { runId: "r" });
  await crashed.promise;
  await runtime.send("r", "hello", { to });
  await clock.advance(1_000);
  expect(await heard.promise).toBe(to === "r" ? "shaky: hello" : "ear: hello");
});

test("R24: what was read before a suspension is not read again, and what came meanwhile is", async () => {
  const journal = new MemoryJournal();
  const first = new Runtime({ journal });
  const stopped = first.run(listener, "listen", { runId: "run-1" });
  await first.send("run-1", "before");
  while (journal.load(RunId("run-1")).every(({ key }) => key !== "inbox#1")) await Promise.resolve();
  await first.close();
  expect((await stopped.result).status).toBe("suspended");

  await using second = new Runtime({ journal, agents: [listener] });
  await second.send("run-1", "meanwhile");
  const { result } = second.resume("run-1");
  await second.send("run-1", "stop");
  expect((await result).output).toBe('user: "before"; user: "meanwhile"');
  // The names are on record: a later release must read under the same ones.
  const reads = journal.load(RunId("run-1")).filter(({ key }) => key.startsWith("inbox"));
  expect(reads.map(({ key }) => key)).toEqual(["inbox#1", "inbox#2", "inbox#3"]);
});

test("R24: a message that is rejected comes again twice, behind the others; then it is dropped, and the log says so", async () => {
  const warned: unknown[] = [];
  const log = (): void => {};
  const logger = { debug: log, info: log, warn: (...said: unknown[]) => void warned.push(said), error: log };
  const { promise: sent, resolve: allSent } = Promise.withResolvers<void>();
  const fussy = agent("fussy", async (_ctx, inbox) => {
    await sent;
    const heard: JsonValue[] = [];
    for (let message = await inbox.take(); message !== undefined; message = await inbox.take()) {
      heard.push(message.content);
      if (message.content === "bad") await inbox.nack(message, "not now");
      else await inbox.ack(message);
    }
    return done(heard.join(" "));
  });
  await using runtime = new Runtime({ logger });
  const { result } = runtime.run(fussy, "", { runId: "r" });
  await runtime.send("r", "bad", { id: "m1" });
  await runtime.send("r", "good");
  allSent();
  expect(await result).toMatchObject({ status: "completed", output: "bad good bad bad" });
  const what = "fussy rejected a message three times; it is not delivered again";
  expect(warned).toEqual([[what, { runId: "r", id: "m1", from: "user", reason: "not now" }]]);
});

test("R24: what is delivered right after the start is kept, also without a journal", async () => {
  await using runtime = new Runtime();
  const waiter: Agent = {
    id: AgentId("waiter"),
    run: async (ctx) => ({
      status: "completed",
      output: String(await ctx.waitFor("answer")),
      stopReason: "done",
    }),
  };
  const { result } = runtime.run(waiter, "wait", { runId: "run-1" });
  await runtime.deliver("run-1", "answer", "early");
  expect((await result).output).toBe("early");
});

test("R24: a message to a run that nobody knows is refused where there is no journal to keep it", async () => {
  await using runtime = new Runtime();
  await expect(runtime.send("nobody", "hello")).rejects.toMatchObject({ code: "INVALID_VALUE" });
});

test("R24: a run that works without a break hears it before it ends", async () => {
  const journal = new MemoryJournal();
  await using here = new Runtime({ journal });
  await using elsewhere = new Runtime({ journal });
  const busy: Agent = {
    id: AgentId("busy"),
    async run(ctx, inbox) {
      await ctx.waitFor("go");
      const told = inbox.hasMail?.() === true ? await inbox.take() : undefined;
      return { status: "completed", output: String(told?.content), stopReason: "done" };
    },
  };
  const { result } = here.run(busy, "work", { runId: "run-1" });
  await elsewhere.send("run-1", "mind the gap");
  await elsewhere.deliver("run-1", "go", true);
  expect((await result).output).toBe("mind the gap");
});

test("R24: a message that came between two questions whether there is one comes there again in a replay", async () => {
  const journal = new MemoryJournal();
  const { promise: hasAsked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: isSent, resolve: send } = Promise.withResolvers<void>();
  const busy: Agent = {
    id: AgentId("busy"),
    async run(ctx, inbox) {
      const heard: (boolean | undefined)[] = [inbox.hasMail?.()];
      await ctx.now();
      for (let n = 0; n < 2; n++) heard.push(inbox.hasMail?.());
      ask();
      await isSent;
      heard.push(inbox.hasMail?.());
      const message = await inbox.take();
      heard.push(inbox.hasMail?.());
      return {
        status: "completed",
        output: `${heard.join()} ${String(await ctx.waitFor("go"))} ${String(message?.content)}`,
        stopReason: "done",
      };
    },
  };
  const before = new Runtime({ journal, agents: [busy] });
  const handle = before.run(busy, "work", { runId: "run-1" });
  await hasAsked;
  await before.send("run-1", "mind the gap");
  send();
  await until(() => handle.status === "suspended");
  await before.close();
  await using after = new Runtime({ journal, agents: [busy] });
  const { result } = after.resume("run-1");
  await after.deliver("run-1", "go", "on");
  expect((await result).output).toBe("false,false,false,true,false on mind the gap");
});

test("R24: a question that was read before a crash is not read again, wherever the crash was", async () => {
  const clerk: Agent = {
    id: AgentId("clerk"),
    async run(_ctx, inbox) {
      const heard: string[] = [];
      while (heard.at(-1) !== "bye") {
        const message = await inbox.receive();
        heard.push(String(message.content));
        await inbox.reply(message, `${heard.length}: ${String(message.content)}`);
      }
      return { status: "completed", output: heard.join(), stopReason: "done" };
    },
  };
  const asker: Agent = {
    id: AgentId("asker"),
    async run(ctx) {
      const handle = await ctx.spawn(clerk, { input: "answer" });
      const replies: string[] = [];
      for (const question of ["one", "two", "bye"]) replies.push(String(await ctx.ask(handle, question)));
      const joined = await ctx.join(handle);
      const heard = "result" in joined ? joined.result.output : joined.status;
      return { status: "completed", output: `${heard} / ${replies.join()}`, stopReason: "done" };
    },
  };
  const expected = "one,two,bye / 1: one,2: two,3: bye";
  const whole = new MemoryJournal();
  await using first = new Runtime({ journal: whole });
  expect((await first.run(asker, "go", { runId: "run-1" }).result).output).toBe(expected);

  const records = whole.load(RunId("run-1"));
  for (let kept = 1; kept < records.length; kept++) {
    const journal = new MemoryJournal();
    const claim = journal.claim(RunId("run-1"), "before", 1_000);
    journal.append(RunId("run-1"), claim?.epoch ?? 0, records.slice(0, kept));
    journal.release(RunId("run-1"), claim?.epoch ?? 0);
    await using runtime = new Runtime({ journal, agents: [asker] });
    const { output } = await runtime.resume("run-1").result;
    expect({ kept, output }).toEqual({ kept, output: expected });
  }
});

test("R24: what a child has replied before it ended and the run broke off is the answer, though nobody had read it yet", async () => {
  const clerk = agent("clerk", async (_ctx, inbox) => {
    await inbox.reply(await inbox.receive(), "yes");
    return done("");
  });
  const asker = agent("asker", async (ctx) =>
    done(String(await ctx.ask(await ctx.spawn(clerk, { input: "" }), "well?"))),
  );
  const whole = new MemoryJournal();
  const first = new Runtime({ journal: whole });
  expect((await first.run(asker, "", { runId: "r" }).result).output).toBe("yes");
  const isRead = ({ exec, key }: JournalRecord): boolean => exec === "r" && key.startsWith("ask:");
  const records = whole.load(RunId("r")).filter((each) => !isRead(each) && each.key !== "run:status");
  const resumed = new Runtime({ journal: cut("r", records), agents: [asker] });
  expect((await resumed.resume("r").result).output).toBe("yes");
});

test.each([
  ["without a journal", undefined],
  ["on a journal", new MemoryJournal()],
])("%s what is delivered is checked by the same rules", async (_, journal) => {
  const runtime = new Runtime({ journal });
  const waiting = runtime.run(
    agent("waiting", async (ctx) => done(String(await ctx.waitFor("answer")))),
    "",
    { runId: "r" },
  );
  const nothing = Reflect.get({}, "nothing") as JsonValue;
  await expect(runtime.deliver("r", "answer", nothing)).rejects.toThrow("item.value is undefined");
  for (const odd of [Number.NaN, new Date(0), 1n, () => 1, { list: [nothing] }]) {
    await expect(runtime.deliver("r", "answer", odd as never)).rejects.toThrow("deliver.value");
    await expect(runtime.send("r", odd as never)).rejects.toThrow("send.message");
  }
  await runtime.deliver("r", "answer", "42");
  expect((await waiting.result).output).toBe("42");
});
