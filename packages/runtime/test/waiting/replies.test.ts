import { describe, expect, test } from "vitest";
import type { HistoryProvider, Journal, JsonValue, RunHandle } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done, turns, within } from "../support/helpers.ts";
import type { Execution } from "../../src/context/execution.ts";
import { ExecutionInbox } from "../../src/context/inbox.ts";

const JOURNALS = [
  ["without a journal", () => undefined],
  ["on a journal", () => new MemoryJournal()],
] as const;

describe.each(JOURNALS)("what is done again %s", (_, make) => {
  test("R23: a second reply to one message changes nothing", async () => {
    const child = agent("child", async (_ctx, inbox) => {
      const message = await inbox.receive();
      await inbox.reply(message, "one");
      await inbox.reply(message, "two");
      return done("replied");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      const reply = await ctx.ask(handle, "?");
      return done(`${String(reply)} ${(await ctx.join(handle)).status}`);
    });
    const { result } = new Runtime({ journal: make() }).run(lead, "");
    expect((await result).output).toBe("one completed");
  });

  test("R10: a window whose history failed once may be looked at again", async () => {
    let fails = true;
    const history: HistoryProvider = {
      async load(_key, upTo) {
        if (upTo !== 0 && fails) {
          fails = false;
          throw new Error("not now");
        }
        return { messages: [{ role: "user", content: "from before" }], head: 1 };
      },
      append: async () => {},
      clear: async () => {},
    };
    const looker = agent("looker", async (ctx) => {
      try {
        await ctx.window();
      } catch {
        return done(String((await ctx.window()).length));
      }
      return done("it did not fail");
    });
    const { result } = new Runtime({ journal: make(), history }).run(looker, "");
    expect((await result).output).toBe("1");
  });

  test("R24: an answer that comes as its waiter is stopped is for whoever waits next", async () => {
    let waiting: RunHandle | undefined;
    const child = agent("child", async (ctx) => done(String(await ctx.waitFor("answer"))));
    const lead = agent("lead", async (ctx) => {
      waiting = await ctx.spawn(child, { input: "" });
      await ctx.waitFor("go on");
      return done(String(await ctx.waitFor("answer")));
    });
    const runtime = new Runtime({ journal: make() });
    const { result } = runtime.run(lead, "", { runId: "r" });
    await turns();
    waiting?.cancel("no longer needed");
    const delivered = runtime.deliver("r", "answer", "42");
    await runtime.deliver("r", "go on", true);
    await delivered;
    expect(await within(result)).toMatchObject({ output: "42" });
  });
});

test("R23: after a reply that cannot be written down, another one counts", async () => {
  const child = agent("child", async (_ctx, inbox) => {
    const message = await inbox.receive();
    const ring: Record<string, JsonValue> = {};
    ring["self"] = ring;
    await expect(inbox.reply(message, ring)).rejects.toMatchObject({ code: "INVALID_VALUE" });
    await inbox.reply(message, "a ring");
    return done("replied");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(child, { input: "" });
    return done(String(await ctx.ask(handle, "?")));
  });
  const { result } = new Runtime({ journal: new MemoryJournal() }).run(lead, "");
  expect(await within(result)).toMatchObject({ output: "a ring" });
});

test("R23: after a reply that broke while it was written down, another one counts", async () => {
  const child = agent("child", async (_ctx, inbox) => {
    const message = await inbox.receive();
    let looks = 0;
    const breaking = {
      get word() {
        if (++looks > 1) throw new Error("gone");
        return "one";
      },
    };
    await expect(inbox.reply(message, breaking)).rejects.toMatchObject({ code: "INVALID_VALUE" });
    await inbox.reply(message, "two");
    return done("replied");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(child, { input: "" });
    return done(String(await ctx.ask(handle, "?")));
  });
  const { result } = new Runtime({ journal: new MemoryJournal() }).run(lead, "");
  expect(await within(result)).toMatchObject({ output: "two" });
});

test("R23: whoever asked has a reply once it is on record, and not before", async () => {
  const memory = new MemoryJournal();
  const written = Promise.withResolvers<void>();
  const append: Journal["append"] = async (runId, epoch, entries) => {
    if (entries.some(({ key }) => key.startsWith("reply:"))) await written.promise;
    memory.append(runId, epoch, entries);
  };
  const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, { append });
  const seen: string[] = [];
  const child = agent("child", async (_ctx, inbox) => {
    const message = await inbox.receive();
    seen.push("replies");
    await inbox.reply(message, "one");
    seen.push("has replied");
    return done("");
  });
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(child, { input: "" });
    seen.push(`hears ${String(await ctx.ask(handle, "?"))}`);
    return done("");
  });
  const { result } = new Runtime({ journal }).run(lead, "");
  await turns();
  expect(seen).toEqual(["replies"]);
  written.resolve();
  expect(await within(result)).toMatchObject({ status: "completed" });
  expect(seen.toSorted()).toEqual(["has replied", "hears one", "replies"]);
});

describe("R24: an inbox tells whether there is mail where its engine can", () => {
  const execOn = (engine: object): Execution =>
    ({ engine: { start: { input: "given" }, ...engine } }) as object as Execution;

  test("R24: and has no word for it where it cannot, also with another input: a loop then reads none", () => {
    const inbox = ExecutionInbox.of(execOn({}));
    for (const each of [inbox, inbox.withInput("other")]) expect("hasMail" in each).toBe(false);
    expect([inbox.input, inbox.withInput("other").input]).toEqual(["given", "other"]);
  });

  test("R24: by the key of its next read, and of what was handed back", async () => {
    const asked: string[] = [];
    const hasMail = (key: string): boolean => asked.push(key) > 2;
    const inbox = ExecutionInbox.of(execOn({ hasMail }));
    const other = inbox.withInput("other");
    expect([other.hasMail?.(), other.hasMail?.(), other.hasMail?.()]).toEqual([false, false, true]);
    expect(asked).toEqual(["inbox#1", "inbox#1", "inbox#1"]);
    await other.nack({ id: "1", from: "a", content: "", at: 0 }, "later");
    expect(other.hasMail?.()).toBe(true);
    expect(asked, "what was handed back is there, whatever the engine says").toHaveLength(3);
  });
});
