import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  compose,
  FileHistory,
  MemoryHistory,
  SlidingWindow,
  Summarization,
  TokenBudget,
  ToolResultCompaction,
} from "@ravi/context";
import {
  type ChatMessage,
  type CompactionStrategy,
  ErrorKind,
  type HistoryProvider,
  ProviderError,
  SessionId,
  textOf,
} from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { type ScriptedModel, scriptedModel } from "@ravi/testing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { agent, conversation, startResume, tool } from "@ravi/sdk";

const LONG = "is something that takes room. ".repeat(20);
const key = { sessionId: SessionId("chat"), agentName: "bob" };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ravi-summaries-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const writer = (): ScriptedModel => scriptedModel(({ messages }) => `Notes of ${messages.length}.`);
const speaker = (): ScriptedModel => scriptedModel(({ messages }) => `I see ${messages.length}. ${LONG}`);
const summarization = (model: ScriptedModel): Summarization =>
  new Summarization({ model, keepRecentTokens: 1_000, triggerTokens: 2_000 });

/** How many messages the model saw in its latest call. */
const seen = (model: ScriptedModel): readonly string[] =>
  (model.calls.at(-1)?.request.messages ?? []).map((message) => textOf(message).slice(0, 60));

const question = (n: number): ChatMessage => ({ role: "user", content: `Question ${n} ${LONG}` });
const reply = (n: number): ChatMessage => ({ role: "assistant", content: `Reply ${n} ${LONG}` });

/** Twenty turns that are too long together. */
async function filled(history: HistoryProvider): Promise<HistoryProvider> {
  for (let n = 0; n < 20; n++) await history.append(key, [question(n), reply(n)]);
  return history;
}

describe.each<[string, () => Promise<HistoryProvider>]>([
  ["in memory", async () => new MemoryHistory()],
  ["in files", () => FileHistory.open(join(folder, "sessions"))],
])("the summary of a conversation %s", (_, open) => {
  test("R28: is paid for once, and not by each turn", async () => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const calls: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await using chat = conversation(agent({ name: "bob", model }), {
        id: "chat",
        history,
        compaction: summarization(summaries),
      });
      expect((await chat.send(`Turn ${turn}`)).status).toBe("completed");
      calls.push(summaries.calls.length);
    }
    expect(calls).toEqual([1, 1, 1, 1]);
    expect(seen(model).filter((text) => text.includes("Notes of"))).toHaveLength(1);
    expect(seen(model).at(-1)).toBe("Turn 3");
    expect((await history.load(key)).head).toBe(48);
  });

  test.each<[string, (inner: Summarization) => CompactionStrategy]>([
    ["a TokenBudget", (inner) => new TokenBudget({ strategies: [inner], contextWindow: 4_000 })],
    ["compose", (inner) => compose(new ToolResultCompaction(), inner)],
  ])("R28: is paid for once within %s, too", async (_name, within) => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const compaction = within(summarization(summaries));
    const chat = conversation(agent({ name: "bob", model }), { id: "chat", history, compaction });
    for (let turn = 0; turn < 3; turn++) await chat.send(`Turn ${turn}`);
    expect(summaries.calls).toHaveLength(1);
    expect(seen(model).filter((text) => text.includes("Notes of"))).toHaveLength(1);
  });

  test("R28: is extended by what is new once there is too much again", async () => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const chat = conversation(agent({ name: "bob", model }), {
      id: "chat",
      history,
      compaction: summarization(summaries),
    });
    for (let turn = 0; turn < 12; turn++) await chat.send(`Turn ${turn} ${LONG}`);
    const requests = summaries.calls.map(({ request }) => textOf(request.messages[1] ?? reply(0)));
    expect(requests.length).toBeGreaterThan(1);
    expect(requests.length).toBeLessThan(6);
    expect(requests[0]).toContain("Question 1 ");
    for (const request of requests.slice(1)) {
      expect(request).toContain("<notes>");
      expect(request).not.toContain("Question 1 ");
    }
  });

  test("R28: is not used once its history was cleared and begun again", async () => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const chat = conversation(agent({ name: "bob", model }), {
      id: "chat",
      history,
      compaction: summarization(summaries),
    });
    await chat.send("Before");
    await history.clear(key);
    await chat.send("Hello");
    expect(seen(model)).toEqual(["Hello"]);
    await history.clear(key);
    await filled(history);
    await chat.send("After");
    expect(summaries.calls).toHaveLength(2);
  });

  test("R28: is not used by a fork, whose history is another one", async () => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const options = { history, compaction: summarization(summaries) };
    await conversation(agent({ name: "bob", model }), { ...options, id: "chat" }).send("Here");
    const { messages } = await history.load(key);
    await history.append({ ...key, sessionId: SessionId("fork") }, messages.slice(0, 4));
    await conversation(agent({ name: "bob", model }), { ...options, id: "fork" }).send("There");
    expect(seen(model)).toHaveLength(5);
    expect(summaries.calls).toHaveLength(1);
  });

  test("R28: is not used by another strategy, which sees the whole history", async () => {
    const history = await filled(await open());
    const [summaries, model] = [writer(), speaker()];
    const bob = agent({ name: "bob", model });
    const first = conversation(bob, { id: "chat", history, compaction: summarization(summaries) });
    await first.send("Here");
    await conversation(bob, {
      id: "chat",
      history,
      compaction: new SlidingWindow({ messages: 100 }),
    }).send("There");
    expect(seen(model)).toHaveLength(43);
  });

  test("R28: is kept also if it covers a part of the turn that paid for it", async () => {
    const history = await filled(await open());
    const summaries = writer();
    let turn = 0;
    const model = scriptedModel(({ messages }) => {
      const read = messages.filter(({ role }) => role === "tool").length;
      return turn === 0 && read < 4 && model.calls.length < 30 ? { toolCalls: [{ name: "read" }] } : "Read.";
    });
    const read = tool({
      name: "read",
      description: "Reads.",
      input: z.object({}),
      execute: () => `A page. ${LONG.repeat(4)}`,
    });
    const bob = agent({ name: "bob", model, tools: [read] });
    const chat = conversation(bob, { id: "chat", history, compaction: summarization(summaries) });
    expect((await chat.send("Read all of it")).status).toBe("completed");
    const paid = summaries.calls.length;
    expect(paid).toBeGreaterThan(2);
    const shown = model.calls.at(-1)?.request.messages ?? [];
    turn++;
    await chat.send("And now?");
    expect(summaries.calls).toHaveLength(paid);
    const [, summary, ...later] = model.calls.at(-1)?.request.messages ?? [];
    expect([summary, ...later.slice(0, shown.length - 2)]).toEqual(shown.slice(1));
    expect(textOf(later.at(-1) ?? reply(0))).toBe("And now?");
  });

  test("R28: is kept also if the turn that paid for it fails", async () => {
    const history = await filled(await open());
    const summaries = writer();
    let broken = true;
    const model = scriptedModel(() => {
      if (broken) throw new ProviderError({ kind: ErrorKind.AUTH, message: "no key" });
      return "Here I am.";
    });
    const chat = conversation(agent({ name: "bob", model }), {
      id: "chat",
      history,
      compaction: summarization(summaries),
    });
    expect((await chat.send("Hello?")).status).toBe("failed");
    broken = false;
    expect((await chat.send("Hello again?")).output).toBe("Here I am.");
    expect(summaries.calls).toHaveLength(1);
  });
});

test("R28: a summary is stored with its conversation beside the journal, and read by another process", async () => {
  const journal = join(folder, "journal");
  await filled(await FileHistory.open(join(journal, "sessions")));
  const summaries = writer();
  for (let turn = 0; turn < 3; turn++) {
    const bob = agent({ name: "bob", model: speaker() });
    await using chat = conversation(bob, { id: "chat", journal, compaction: summarization(summaries) });
    await chat.send(`Turn ${turn}`);
  }
  expect(summaries.calls).toHaveLength(1);
});

test("R28: a turn that is resumed sees what it saw, also if another run has paid for another summary meanwhile", async () => {
  const history = await filled(new MemoryHistory());
  const journal = new MemoryJournal();
  const [summaries, model] = [
    writer(),
    scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "user" && textOf(last) === "Pay"
        ? { toolCalls: [{ name: "pay" }] }
        : `Fine. ${LONG}`;
    }),
  ];
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    needsApproval: true,
    execute: () => "paid",
  });
  const bob = agent({ name: "bob", model, tools: [pay] });
  const options = { id: "chat", history, compaction: summarization(summaries) };
  await conversation(bob, options).send("First");
  const chat = conversation(bob, { ...options, journal });
  const asked = await chat.start("Pay");
  let name = "";
  for await (const { event } of asked.events()) {
    if (event.type !== "progress" || event.name !== "approvalRequested") continue;
    name = (event.data as { readonly name: string }).name;
    break;
  }
  await asked.suspend();
  const before = model.calls.at(-1)?.request.messages;
  // Runs without a journal do not know of the open turn.
  const other = conversation(bob, options);
  for (let turn = 0; turn < 8; turn++) await other.send(`More ${turn} ${LONG}`);
  expect(summaries.calls.length).toBeGreaterThan(1);
  const { length } = summaries.calls;
  const again = startResume(asked.runId, {
    agents: bob,
    history,
    journal,
    compaction: options.compaction,
  });
  await again.deliver(name, true);
  expect((await again.result).status).toBe("completed");
  expect(model.calls.at(-1)?.request.messages.slice(0, before?.length)).toEqual(before);
  expect(summaries.calls).toHaveLength(length);
});
