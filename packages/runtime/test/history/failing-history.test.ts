import { describe, expect, test } from "vitest";
import {
  type AuditLog,
  BudgetExhaustedError,
  type ChatMessage,
  type HistoryKey,
  type HistoryProvider,
  HistoryRetention,
  type Journal,
  type JournalEntry,
  JournalFailedError,
  type RunEvent,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, ask, done, FakeLedger, within } from "../support/helpers.ts";

class FakeHistory implements HistoryProvider {
  readonly lists = new Map<string, ChatMessage[]>();

  async load(key: HistoryKey, upTo?: number) {
    const all = this.lists.get(JSON.stringify(key)) ?? [];
    return { messages: all.slice(0, upTo), head: all.length };
  }

  async append(key: HistoryKey, messages: readonly ChatMessage[]): Promise<void> {
    const { messages: before } = await this.load(key);
    this.lists.set(JSON.stringify(key), [...before, ...messages]);
  }

  async clear(key: HistoryKey): Promise<void> {
    this.lists.delete(JSON.stringify(key));
  }
}

function broken(method: "append" | "clear"): FakeHistory {
  const fail = (): Promise<never> => Promise.reject(new Error("the store is down"));
  return Object.assign(new FakeHistory(), { [method]: fail });
}

const model = scriptedModel(() => "paid for");

const worker = agent("worker", async (ctx) => {
  const { message } = await ctx.llm(model, ask("?"));
  ctx.remember(message);
  return done(String(message.content));
});

describe("a history that fails at the end", () => {
  test.each([
    ["append", "without a journal", undefined],
    ["append", "on a journal", new MemoryJournal()],
    ["clear", "without a journal", undefined],
    ["clear", "on a journal", new MemoryJournal()],
  ] as const)("does not lose what a child gave (%s, %s)", async (method, _, journal) => {
    const errors: string[] = [];
    const note = (message: string): void => void errors.push(message);
    const logger = { debug: note, info: note, warn: note, error: note };
    const retention = method === "append" ? HistoryRetention.PERMANENT : HistoryRetention.RUN;
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: worker, input: "", retention });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const runtime = new Runtime({ journal, logger, history: broken(method) });
    expect(await runtime.run(lead, "").result).toMatchObject({ status: "completed", output: "paid for" });
    expect(errors).toEqual([expect.stringMatching(/^the history of worker\/1 could not be (kept|cleared)/)]);
  });

  test("nor what a root gave that nobody can resume", async () => {
    const { result } = new Runtime({ history: broken("append") }).run(worker, "");
    expect(await result).toMatchObject({ status: "completed", output: "paid for" });
  });

  test("whoever watches hears that what was to last is lost, also without a log", async () => {
    const retention = HistoryRetention.PERMANENT;
    const lead = agent("lead", async (ctx) =>
      done((await ctx.hire({ agent: worker, input: "", retention })).status),
    );
    const seen: unknown[] = [];
    const onEvent = ({ agentId, event }: RunEvent): void => {
      if (agentId === "worker/1")
        seen.push(event.type === "progress" ? [event.name, event.data] : event.type);
    };
    const runtime = new Runtime({ history: broken("append") });
    expect((await runtime.run(lead, "", { onEvent }).result).output).toBe("completed");
    expect(seen.slice(-2)).toEqual([["historyLost", { error: "the store is down" }], "completed"]);
  });

  test("a root on a journal is resumed, and its history is written then", async () => {
    const journal = new MemoryJournal();
    const { result } = new Runtime({ journal, history: broken("append") }).run(worker, "", { runId: "r" });
    await expect(result).rejects.toThrow("the store is down");
    const history = new FakeHistory();
    const again = await new Runtime({ journal, history, agents: [worker] }).resume("r").result;
    expect(again).toMatchObject({ status: "completed", usage: { inputTokens: expect.any(Number) } });
    expect([...history.lists.values()]).toEqual([[expect.objectContaining({ content: "paid for" })]]);
  });
});

/** One that takes all but how a run has ended. */
function unended(journal: MemoryJournal): Journal {
  return failingAt(journal, ({ body }) => body["status"] === "completed");
}

function failingAt(journal: MemoryJournal, isRefused: (entry: JournalEntry) => boolean): Journal {
  const append: Journal["append"] = (runId, epoch, entries) => {
    if (entries.some(isRefused))
      throw new JournalFailedError({ what: "append", final: true, cause: undefined });
    journal.append(runId, epoch, entries);
  };
  return Object.assign(Object.create(journal) as MemoryJournal, { append });
}

test.each([
  ["that looked at its window", true, 0],
  ["that never looked at its window", false, 0],
  ["whose conversation others went on with", true, 2],
])("a run that was killed after it wrote its history writes it once (%s)", async (_, looks, others) => {
  const history = new FakeHistory();
  const journal = new MemoryJournal();
  const key = JSON.stringify({ sessionId: "s", agentName: "talker" });
  const talker = agent("talker", async (ctx) => {
    if (looks) await ctx.window();
    // Before a crash only: what others have said meanwhile.
    for (let n = 0; n < others && (history.lists.get(key) ?? []).length < others; n++)
      history.lists.set(key, [...(history.lists.get(key) ?? []), { role: "user", content: `other ${n}` }]);
    ctx.remember({ role: "user", content: "question" });
    ctx.remember({ role: "assistant", content: "answer" });
    return done("ok");
  });
  const killed = new Runtime({ journal: unended(journal), history });
  await expect(killed.run(talker, "", { runId: "r", sessionId: "s" }).result).rejects.toThrow(
    "takes no more writes",
  );
  const runtime = new Runtime({ journal, history, agents: [talker] });
  expect((await runtime.resume("r").result).status).toBe("completed");
  expect(history.lists.get(key)).toHaveLength(others + 2);
});

test("an agent that goes on after its journal has failed stores no conversation, and is not told to be completed", async () => {
  const history = new FakeHistory();
  const journal = new MemoryJournal();
  const stubborn = agent("stubborn", async (ctx) => {
    ctx.remember({ role: "user", content: "question" });
    try {
      await ctx.window();
    } catch {
      // It can do without.
    }
    return done("ok");
  });
  const failing = failingAt(journal, ({ key }) => key === "history:head");
  const told: string[] = [];
  const onEvent = ({ event }: RunEvent): void => void told.push(event.type);
  const { result } = new Runtime({ journal: failing, history }).run(stubborn, "", { runId: "r", onEvent });
  await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  expect(told).toEqual(["started", "error"]);
  expect([...history.lists.values()]).toEqual([]);

  const again = await new Runtime({ journal, history, agents: [stubborn] }).resume("r").result;
  expect(again.status).toBe("completed");
  expect([...history.lists.values()]).toEqual([[{ role: "user", content: "question" }]]);
});

test.each(["a budget", "its deadline", "its deadline, which it heeds"])(
  "an agent that is cut off by %s after its journal has failed stores no conversation",
  async (what) => {
    const history = new FakeHistory();
    const clock = virtualClock({ now: 0 });
    const journal = failingAt(new MemoryJournal(), ({ key }) => key === "history:head");
    const cutOff = agent("cut-off", async (ctx) => {
      ctx.remember({ role: "user", content: "question" });
      await Promise.resolve(ctx.window()).catch(() => {});
      if (what === "a budget")
        throw new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "cut-off" });
      await clock.advance(2_000);
      return what === "its deadline" ? new Promise<never>(() => {}) : done("ok");
    });
    const told: string[] = [];
    const onEvent = ({ event }: RunEvent): void => void told.push(event.type);
    const { result } = new Runtime({ journal, history, clock, ledger: () => new FakeLedger() }).run(
      cutOff,
      "",
      {
        onEvent,
        executionBudget: { deadlineS: 1 },
      },
    );
    await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    expect(told).toEqual(["started", "error"]);
    expect([...history.lists.values()]).toEqual([]);
  },
);

test("an audit log that never answers is waited for a while, and not for good", async () => {
  const clock = virtualClock();
  const auditLog: AuditLog = { isNoop: false, append: () => new Promise(() => {}) };
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: worker, input: "" });
    return done("ok");
  });
  const { result } = new Runtime({ clock, auditLog }).run(lead, "");
  await clock.advance(30_000);
  expect(await within(result)).toMatchObject({ status: "completed" });
  expect(clock.pending).toBe(0);
});
