import { expect, test } from "vitest";
import {
  AgentId,
  type ChatMessage,
  type HistoryProvider,
  HistoryRetention,
  PausedError,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, cut, done, turns, until } from "../support/helpers.ts";

class FakeHistory implements HistoryProvider {
  readonly kept = new Map<string, ChatMessage[]>();
  load: HistoryProvider["load"] = (key, upTo) => {
    const all = this.kept.get(key.agentName) ?? [];
    return { messages: all.slice(0, upTo ?? all.length), head: all.length };
  };
  append: HistoryProvider["append"] = (key, messages) => {
    this.kept.set(key.agentName, [...(this.kept.get(key.agentName) ?? []), ...messages]);
  };
  clear(): void {}
  texts(name: string): unknown[] {
    return (this.kept.get(name) ?? []).map(({ content }) => content);
  }
}

test("R4: two runs of one conversation that overlap both keep what was said", async () => {
  const history = new FakeHistory();
  const runtime = new Runtime({ history });
  const talker = agent("talker", async (ctx, inbox) => {
    await ctx.window();
    await ctx.remember({ role: "user", content: inbox.input });
    await ctx.waitFor("go");
    return done("");
  });
  const one = runtime.run(talker, "one", { runId: "1", sessionId: "s" });
  const two = runtime.run(talker, "two", { runId: "2", sessionId: "s" });
  await until(() => one.status === "suspended" && two.status === "suspended");
  await runtime.deliver("1", "go", true);
  await one.result;
  await runtime.deliver("2", "go", true);
  await two.result;
  expect(history.texts("talker")).toEqual(["one", "two"]);
});

test("R10: a history that could not be read once is read the next time", async () => {
  const history = new FakeHistory();
  history.kept.set("talker", [{ role: "user", content: "before" }]);
  const { load } = history;
  let broken = true;
  history.load = (key, upTo) => {
    if (!broken) return load(key, upTo);
    broken = false;
    throw new Error("busy");
  };
  const talker = agent("talker", async (ctx) => {
    await Promise.resolve(ctx.window()).catch(() => undefined);
    return done(String((await ctx.window()).length));
  });
  expect((await new Runtime({ history }).run(talker, "").result).output).toBe("1");
});

test.each([
  ["nothing, if there is no answer", "", []],
  ["what was said, if there is one", "as far as I got", ["hello"]],
])("R4: a run whose budget is used up leaves %s", async (_, output, kept) => {
  const history = new FakeHistory();
  const talker = agent("talker", async (ctx, inbox) => {
    await ctx.remember({ role: "user", content: inbox.input });
    return { status: "partial", output, stopReason: "budget" };
  });
  const { status } = await new Runtime({ history }).run(talker, "hello", { sessionId: "s" }).result;
  expect([status, history.texts("talker")]).toEqual(["partial", kept]);
});

test("R4: two runs of one conversation that say the same are two runs", async () => {
  const kept: ChatMessage[] = [];
  const history: HistoryProvider = {
    load: (_, upTo) => ({ messages: kept.slice(0, upTo ?? kept.length), head: kept.length }),
    append: (_, messages) => void kept.push(...messages),
    clear: () => {},
  };
  const runtime = new Runtime({ history });
  const talker = agent("talker", async (ctx, inbox) => {
    await ctx.window();
    await ctx.remember({ role: "user", content: inbox.input });
    await ctx.waitFor("go");
    return done("");
  });
  const one = runtime.run(talker, "hello", { runId: "1", sessionId: "s" });
  const two = runtime.run(talker, "hello", { runId: "2", sessionId: "s" });
  await until(() => one.status === "suspended" && two.status === "suspended");
  await runtime.deliver("1", "go", true);
  await one.result;
  await runtime.deliver("2", "go", true);
  await two.result;
  expect(kept).toHaveLength(2);
});

test("R10: what stands in the history already is not written again, also where others have written before it", async () => {
  const messages: ChatMessage[] = [];
  const history: HistoryProvider = {
    load: async (_key, upTo = messages.length) => ({
      messages: messages.slice(0, upTo),
      head: messages.length,
    }),
    append: async (_key, own) => void messages.push(...own),
    clear: async () => {},
  };
  const said: ChatMessage = { role: "user", content: "said by one" };
  const other: ChatMessage = { role: "user", content: "said by another" };
  const speaker = agent("speaker", async (ctx) => {
    await ctx.window();
    await ctx.remember(said);
    messages.push(other);
    return done("");
  });
  const journal = new MemoryJournal();
  const retention = HistoryRetention.PERMANENT;
  await new Runtime({ journal, history }).run(speaker, "", { runId: "r", retention }).result;
  expect(messages).toEqual([other, said]);
  // Killed right after it wrote, before its end was on record.
  const records = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
  await new Runtime({ journal: cut("r", records), history, agents: [speaker] }).resume("r").result;
  expect(messages.filter((message) => message === said)).toHaveLength(1);
});

test("R10: a window that is read again while its history is on the way holds the history once", async () => {
  const history: HistoryProvider = {
    load: async () => {
      await turns(2);
      return { messages: [{ role: "user", content: "before" }], head: 1 };
    },
    append: async () => {},
    clear: async () => {},
  };
  const lead = agent("lead", async (ctx) => {
    const first = ctx.window();
    // The place in the history is known by now, and what stands there is not.
    await turns(3);
    await Promise.all([first, ctx.window()]);
    return done(String((await ctx.window()).length));
  });
  const run = new Runtime({ history }).run(lead, "", { retention: HistoryRetention.PERMANENT });
  expect((await run.result).output).toBe("1");
});

const ENDS: Readonly<Record<string, () => Promise<ReturnType<typeof done>>>> = {
  completed: async () => done("all of it"),
  partial: async () => ({ status: "partial", output: "half of it", stopReason: "budget" }),
  paused: async () => {
    throw new PausedError({ agentId: AgentId("talker") });
  },
  failed: async () => {
    throw new TypeError("oops");
  },
  cancelled: () => new Promise(() => {}),
};

test.each(Object.keys(ENDS))(
  "R24: a history that is kept for the run is cleared when that is %s",
  async (how) => {
    const cleared: string[] = [];
    const history: HistoryProvider = {
      load: () => ({ messages: [], head: 0 }),
      append: () => {},
      clear: ({ agentName, execId }) => void cleared.push(`${agentName} of ${execId ?? "all runs"}`),
    };
    const begun = Promise.withResolvers<void>();
    const talker = agent("talker", async (ctx, inbox) => {
      await ctx.remember({ role: "user", content: inbox.input });
      begun.resolve();
      return ENDS[how]?.() ?? done("");
    });
    for (const retention of Object.values(HistoryRetention)) {
      const run = new Runtime({ history }).run(talker, "hello", { runId: retention, retention });
      await begun.promise;
      await turns();
      if (how === "cancelled") run.cancel("enough");
      expect((await run.result).status).toBe(how === "paused" ? "partial" : how);
    }
    expect(cleared).toEqual(["talker of run"]);
  },
);
