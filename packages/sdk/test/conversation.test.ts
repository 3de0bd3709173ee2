import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HistoryProvider, textOf } from "@ravi/kernel";
import { MemoryHistory } from "@ravi/context";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  agent,
  cancel,
  conversation,
  ConversationBusyError,
  ExecutionTracker,
  resume,
  type RunEvent,
  run,
  runs,
  type SdkHandle,
  start,
  tool,
} from "@ravi/sdk";

let journal: string;

beforeEach(async () => {
  journal = await mkdtemp(join(tmpdir(), "ravi-conversation-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
});

/** Says how much of the conversation it was shown. */
const counter = () =>
  agent({ name: "counter", model: scriptedModel(({ messages }) => `I know ${messages.length}.`) });

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({}),
  needsApproval: true,
  execute: () => "paid",
});

/** Pays if it is told so, once somebody has approved it. */
const clerk = (version?: string) =>
  agent({
    name: "clerk",
    version,
    tools: [pay],
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "user" && textOf(last) === "Pay") return { toolCalls: [{ name: "pay" }] };
      return `I know ${messages.length}.`;
    }),
  });

async function untilAsked(handle: SdkHandle): Promise<string> {
  for await (const { event } of handle.events())
    if (event.type === "progress" && event.name === "approvalRequested")
      return (event.data as { name: string }).name;
  throw new Error("nothing was asked");
}

const said = (messages: readonly { readonly role: string }[]) => messages.map(({ role }) => role);

test("what was said is known in the next turn, and can be read", async () => {
  await using chat = conversation(counter());
  expect(await chat.messages()).toEqual([]);
  expect(await chat.send("One")).toMatchObject({ status: "completed", output: "I know 1." });
  expect((await chat.send("Two")).output).toBe("I know 3.");
  expect((await chat.messages()).map((message) => [message.role, textOf(message)])).toEqual([
    ["user", "One"],
    ["assistant", "I know 1."],
    ["user", "Two"],
    ["assistant", "I know 3."],
  ]);
});

test("two conversations without an id know nothing of each other; one with an id is that session", async () => {
  const [one, other] = [conversation(counter()), conversation(counter())];
  await one.send("One");
  expect(one.id).not.toBe(other.id);
  expect((await other.send("One")).output).toBe("I know 1.");
  const id = crypto.randomUUID();
  await run(counter(), "One", { sessionId: id });
  expect((await conversation(counter(), { id }).send("Two")).output).toBe("I know 3.");
});

test("the answer has the type of the agent's schema", async () => {
  const output = z.object({ total: z.number() });
  const reader = agent({ name: "reader", output, model: scriptedModel(['{"total":7}']) });
  const result = await conversation(reader).send("Read");
  const { total } = result.unwrap().structured;
  expect(total satisfies number).toBe(7);
});

test("pictures come with a message, and belong to the conversation from then on", async () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const model = scriptedModel(() => "A cat.");
  const chat = conversation(agent({ name: "seer", model }));
  await chat.send("What is this?", { attachments: [{ type: "image", url }] });
  await chat.send("Sure?");
  const seen = model.calls.map(({ request }) => JSON.stringify(request.messages).split(url).length - 1);
  expect(seen).toEqual([1, 1]);
});

test.each([false, true])("start gives every event from the first on (journal: %s)", async (isKept) => {
  const chat = conversation(counter(), isKept ? { journal } : {});
  const handle = await chat.start("Hi");
  await new Promise(setImmediate);
  const events: RunEvent[] = [];
  for await (const event of handle.events()) events.push(event);
  expect(events[0]).toMatchObject({ seq: 1, event: { type: "started", input: "Hi" } });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  expect(events.flatMap(({ event }) => (event.type === "text" ? [event.delta] : [])).join("")).toBe(
    "I know 1.",
  );
  expect((await handle.result).status).toBe(handle.status);
});

test("only the first reader of a turn gets what was before it: each has events of its own", async () => {
  const handle = await conversation(counter()).start("Hi");
  expect(handle.events()).not.toBe(handle.events());
  await handle.result;
});

describe("one turn at a time", () => {
  test("a second one is refused while the first runs, and begins when it has ended", async () => {
    const chat = conversation(clerk());
    const first = await chat.start("Pay");
    const name = await untilAsked(first);
    const refused = chat.send("And now?");
    await expect(refused).rejects.toThrow(ConversationBusyError);
    await expect(refused).rejects.toMatchObject({ code: "INVALID_VALUE", field: `conversation ${chat.id}` });
    await expect(chat.start("And now?")).rejects.toThrow(/handle\.send/);
    await first.deliver(name, true);
    expect((await first.result).output).toBe("I know 3.");
    expect((await chat.send("And now?")).output).toBe("I know 5.");
  });

  test("two calls at once: the second is refused although nothing has begun", async () => {
    const chat = conversation(counter(), { journal });
    const [first, second] = await Promise.allSettled([chat.send("One"), chat.send("Two")]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    expect(said(await chat.messages())).toEqual(["user", "assistant"]);
  });

  test("a turn that could not be started leaves the place free", async () => {
    const chat = conversation(counter());
    await expect(chat.send(7 as never)).rejects.toThrow(/input is 7/);
    await expect(chat.send("Hi", { atachments: [] } as never)).rejects.toThrow(/turn options\.atachments/);
    expect((await chat.send("Hi")).status).toBe("completed");
  });

  test("also of two processes, where there is a journal: only one of them has the turn", async () => {
    const [one, other] = [
      conversation(clerk(), { id: "c", journal }),
      conversation(clerk(), { id: "c", journal }),
    ];
    const handle = await one.start("Pay");
    const name = await untilAsked(handle);
    await expect(other.send("Hi")).rejects.toThrow(/c:0.*chat\.resume\(\)/);
    await handle.deliver(name, true);
    await handle.result;
    expect((await other.send("Hi")).output).toBe("I know 5.");
  });

  test("a turn of another process that ends while the next one is prepared: that begins after it", async () => {
    const inner = new MemoryHistory();
    const options = { id: "c", journal: new MemoryJournal() };
    const other = conversation(counter(), { ...options, history: inner });
    let meanwhile = async () => void (await other.send("One"));
    const history: HistoryProvider = {
      async load(key, upTo) {
        const found = inner.load(key, upTo);
        const act = meanwhile;
        meanwhile = async () => {};
        await act();
        return found;
      },
      append: (key, messages) => inner.append(key, messages),
      clear: (key) => inner.clear(key),
    };
    const { runId, output } = await conversation(counter(), { ...options, history }).send("Two");
    expect([runId, output]).toEqual(["c:2", "I know 3."]);
  });
});

test("of two that begin the same turn at once, one has it; the other can say its message after that", async () => {
  const two = [1, 2].map(() => conversation(counter(), { id: "c", journal }));
  const [one, other] = await Promise.allSettled(two.map((chat, at) => chat.send(`From ${at}`)));
  const lost = [one, other].find((each) => each?.status === "rejected");
  expect(new Set([one?.status, other?.status])).toEqual(new Set(["fulfilled", "rejected"]));
  expect(lost).toMatchObject({ reason: { isRaviError: true } });
  expect(said((await two[0]?.messages()) ?? [])).toEqual(["user", "assistant"]);
  for (const chat of two) expect((await chat.send("Again")).status).toBe("completed");
});

describe("what goes wrong in a turn is not part of the conversation", () => {
  test("a turn that is stopped by its signal is cancelled, and can be said again", async () => {
    const chat = conversation(clerk(), { journal });
    const stop = new AbortController();
    const handle = await chat.start("Pay", { signal: stop.signal });
    await untilAsked(handle);
    stop.abort();
    expect((await handle.result).status).toBe("cancelled");
    expect(await chat.messages()).toEqual([]);
    expect((await chat.send("Hi")).output).toBe("I know 1.");
    expect((await runs({ journal })).map(({ runId }) => runId)).toEqual([`${chat.id}:0`, `${chat.id}:0.1`]);
  });

  test("nor is one that fails", async () => {
    let calls = 0;
    const model = scriptedModel(({ messages }) => {
      if (++calls === 1) throw new Error("no");
      return `I know ${messages.length}.`;
    });
    const chat = conversation(agent({ name: "flaky", model }), { journal, retry: false, restart: false });
    expect((await chat.send("One")).status).toBe("failed");
    expect((await chat.send("One")).output).toBe("I know 1.");
  });

  test("nor is one whose budget is used up before the first answer, however often it is said", async () => {
    const tenant = new ExecutionTracker({ maxTokens: 10 }, { scope: "tenant acme" });
    const model = scriptedModel(({ messages }) => `I know ${messages.length}.`);
    const options = { id: "c", journal };
    const chat = conversation(agent({ name: "counter", model, budget: tenant }), options);
    for (const word of ["Hello", "Hello?"]) {
      const { status, output, stoppedBy } = await chat.send(word);
      expect([status, output, stoppedBy?.scope]).toEqual(["partial", "", "tenant acme"]);
    }
    expect(await chat.messages()).toEqual([]);
    await chat.close();
    const nextDay = conversation(agent({ name: "counter", model }), options);
    expect((await nextDay.send("Hello")).output).toBe("I know 1.");
    await nextDay.close();
  });

  test("nor is one whose time is over before the first answer", async () => {
    const clock = virtualClock();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    let calls = 0;
    const model = scriptedModel(({ messages }) => {
      if (++calls > 1) return `I know ${messages.length}.`;
      resolve();
      return new Promise<never>(() => {});
    });
    const slow = agent({ name: "slow", model });
    const chat = conversation(slow, { budget: { seconds: 5 }, clock });
    const turn = chat.send("Hello");
    await asked;
    await clock.advance(5_000);
    const { status, output, stopReason } = await turn;
    expect([status, output, stopReason]).toEqual(["partial", "", "deadline"]);
    expect(await chat.messages()).toEqual([]);
    expect((await chat.send("Hello")).output).toBe("I know 1.");
    await chat.close();
  });

  test("one that a limit stops later is", async () => {
    const spins = tool({ name: "spin", description: "Spins.", input: z.object({}), execute: () => "spun" });
    const model = scriptedModel(({ tools }) =>
      tools === undefined ? "As far as I got." : { toolCalls: [{ name: "spin" }] },
    );
    const chat = conversation(agent({ name: "spinner", model, tools: [spins], maxSteps: 1 }));
    expect((await chat.send("Spin")).status).toBe("partial");
    expect((await chat.messages()).map(({ role }) => role)).toEqual(
      expect.arrayContaining(["user", "assistant"]),
    );
    await chat.close();
  });
});

test("a turn that failed can be retried by its run, and is part of the conversation then", async () => {
  let isDown = false;
  const model = scriptedModel(({ messages }) => {
    if (isDown) throw new Error("no");
    return `I know ${messages.length}.`;
  });
  const flaky = agent({ name: "flaky", model });
  const chat = conversation(flaky, { id: "tea", journal, retry: false, restart: false });
  await chat.send("One");
  isDown = true;
  const { status, runId } = await chat.send("Two");
  expect([status, runId]).toEqual(["failed", "tea:2"]);
  isDown = false;
  await resume(runId, { agents: flaky, journal, retryFailed: true });
  expect(said(await chat.messages())).toEqual(["user", "assistant", "user", "assistant"]);
  expect((await chat.send("Three")).output).toBe("I know 5.");
});

test("a place for what is said that could not be opened is opened by the next turn", async () => {
  await writeFile(join(journal, "sessions"), "not a folder");
  await using chat = conversation(counter(), { journal });
  await expect(chat.send("One")).rejects.toThrow(/sessions/);
  await rm(join(journal, "sessions"));
  expect((await chat.send("One")).output).toBe("I know 1.");
});

describe("a conversation survives its process", () => {
  test("with a journal, what was said is there again", async () => {
    await using first = conversation(counter(), { id: "tea", journal });
    await first.send("One");
    const next = conversation(counter(), { id: "tea", journal });
    expect(said(await next.messages())).toEqual(["user", "assistant"]);
    expect((await next.send("Two")).output).toBe("I know 3.");
    expect(await next.resume()).toBeUndefined();
  });

  test("a turn that was cut off has to be resumed, or cancelled, before the next", async () => {
    const first = conversation(clerk(), { id: "tea", journal });
    await first.send("Hi");
    const cut = await first.start("Pay");
    const name = await untilAsked(cut);
    await first.close();
    expect((await cut.result).status).toBe("suspended");
    const next = conversation(clerk(), { id: "tea", journal });
    await expect(next.send("Well?")).rejects.toMatchObject({
      code: "INVALID_VALUE",
      message: expect.stringContaining('run "tea:2"') as string,
    });
    const resumed = await next.resume();
    expect(resumed?.runId).toBe("tea:2");
    await resumed?.deliver(name, true);
    expect((await resumed?.result)?.output).toBe("I know 5.");
    expect((await next.send("Well?")).output).toBe("I know 7.");
  });

  test("one that was cancelled meanwhile ends as cancelled when it is resumed", async () => {
    const first = conversation(clerk(), { id: "tea", journal });
    await untilAsked(await first.start("Pay"));
    await first.close();
    await cancel("tea:0", "never mind", { journal });
    const next = conversation(clerk(), { id: "tea", journal });
    expect((await (await next.resume())?.result)?.status).toBe("cancelled");
    expect((await next.send("Hi")).output).toBe("I know 1.");
  });

  test("one whose agent has a new version by now can be given up, as the refusal says", async () => {
    const first = conversation(clerk(), { id: "tea", journal });
    await untilAsked(await first.start("Pay"));
    await first.close();
    const next = conversation(clerk("2"), { id: "tea", journal });
    const refused = await next.resume();
    await expect(refused?.result).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
    await expect(next.send("Hi")).rejects.toThrow(/cancel\("tea:0", reason, \{ journal \}\)/);
    await cancel("tea:0", "never mind", { journal });
    expect((await (await next.resume())?.result)?.status).toBe("cancelled");
    expect((await next.send("Hi")).output).toBe("I know 1.");
  });

  test("resumed turns are watched from the first event, and take a signal", async () => {
    const first = conversation(clerk(), { id: "tea", journal, budget: { turns: 3 }, tenantId: "acme" });
    await untilAsked(await first.start("Pay"));
    await first.close();
    const stop = new AbortController();
    const next = conversation(clerk(), { id: "tea", journal, budget: { turns: 3 }, tenantId: "acme" });
    const handle = await next.resume({ signal: stop.signal });
    const events: RunEvent[] = [];
    for await (const event of handle?.events() ?? []) {
      events.push(event);
      if (event.event.type === "progress") stop.abort();
    }
    expect(events[0]?.seq).toBe(1);
    expect((await handle?.result)?.status).toBe("cancelled");
  });

  test("with a journal and a history of one's own", async () => {
    const own = { id: "c", journal: new MemoryJournal(), history: new MemoryHistory() };
    await conversation(counter(), own).send("One");
    expect((await conversation(counter(), own).send("Two")).output).toBe("I know 3.");
    const list = own.journal.list();
    expect(list.map(({ runId, status }) => [runId, status])).toEqual([
      ["c:0", "completed"],
      ["c:2", "completed"],
    ]);
  });

  test("one that only its journal can name: nothing of it is forgotten when it is closed", async () => {
    const own = { journal: new MemoryJournal() };
    const first = conversation(clerk(), own);
    await first.send("Hi");
    const name = await untilAsked(await first.start("Pay"));
    await first.close();
    const next = conversation(clerk(), { ...own, id: first.id });
    const resumed = await next.resume();
    await resumed?.deliver(name, true);
    expect((await resumed?.result)?.output).toBe("I know 5.");
  });

  test("one that ended while its process was killed: what was said is stored, and its end is told again", async () => {
    let isDead = false;
    class Dying extends MemoryJournal {
      override append(...entry: Parameters<MemoryJournal["append"]>): ReturnType<MemoryJournal["append"]> {
        if (isDead) throw new Error("killed");
        return super.append(...entry);
      }
    }
    class Last extends MemoryHistory {
      override append(...entry: Parameters<MemoryHistory["append"]>): void {
        super.append(...entry);
        isDead = entry[1].some((message) => textOf(message) === "Two");
      }
    }
    const own = { id: "c", journal: new Dying(), history: new Last() };
    const first = conversation(counter(), own);
    await first.send("One");
    await expect(first.send("Two")).rejects.toThrow("killed");
    isDead = false;
    expect(own.journal.list().map(({ runId, status }) => [runId, status])).toEqual([
      ["c:0", "completed"],
      ["c:2", "running"],
    ]);
    const next = conversation(counter(), own);
    const resumed = await next.resume();
    expect(resumed?.runId).toBe("c:2");
    expect((await resumed?.result)?.output).toBe("I know 3.");
    expect(said(await next.messages())).toEqual(["user", "assistant", "user", "assistant"]);
    expect(await next.resume()).toBeUndefined();
    expect((await next.send("Three")).output).toBe("I know 5.");
  });

  test("a journal that cannot say how one run is doing is asked for all of them", async () => {
    const journalWithout = Object.assign(new MemoryJournal(), { summary: undefined });
    const own = { id: "c", journal: journalWithout, history: new MemoryHistory() };
    const first = conversation(clerk(), own);
    await untilAsked(await first.start("Pay"));
    await first.close();
    await expect(conversation(clerk(), own).send("Hi")).rejects.toThrow(/chat\.resume\(\)/);
  });
});

describe("limits", () => {
  const prices = { scripted: { input: 1_000, output: 1_000 } };
  const speaker = () =>
    agent({
      name: "speaker",
      settings: { maxOutputTokens: 10 },
      model: scriptedModel(() => ({ text: "Hello.", usage: { inputTokens: 50, outputTokens: 10 } })),
    });

  test("of each turn, as in run", async () => {
    const chat = conversation(speaker(), { budget: { usd: 2, turns: 3 }, prices });
    for (const text of ["One", "Two"]) {
      const { limits } = await chat.send(text);
      expect(limits.budget).toMatchObject({ usd: 2, turns: 3 });
    }
  });

  test("of the whole conversation: a turn gets what is left, and none begins when nothing is", async () => {
    const chat = conversation(speaker(), { total: { usd: 5, tokens: 130 }, budget: { usd: 4.98 }, prices });
    const first = await chat.send("One");
    expect(first.limits.budget).toMatchObject({ usd: 4.98, tokens: 130 });
    expect(chat.used).toEqual({ usd: 0.06, tokens: 60, messages: 1 });
    const second = await chat.send("Two");
    expect(second.limits.budget).toMatchObject({ usd: 4.94, tokens: 70 });
    const more = conversation(speaker(), { total: { tokens: 130 }, used: { tokens: 130 } });
    await expect(more.send("Three")).rejects.toMatchObject({
      code: "BUDGET_EXHAUSTED",
      dimension: "tokens",
      used: 130,
      limit: 130,
      scope: `conversation ${more.id}`,
    });
  });

  test("a model without a known price is refused under a total in dollars, which the error names", async () => {
    const { error } = await conversation(speaker(), { total: { usd: 1 }, budget: null }).send("One");
    expect(error?.message).toMatch(/total\.usd of the conversation$/);
  });

  test("what another process has used is given", async () => {
    const chat = conversation(speaker(), { total: { usd: 1 }, used: { usd: 0.99 }, budget: null, prices });
    const { limits, status } = await chat.send("One");
    expect(limits.budget.usd).toBeCloseTo(0.01, 6);
    expect(limits.budget.turns).toBeNull();
    expect(status).not.toBe("completed");
  });

  test("a number of messages", async () => {
    const chat = conversation(speaker(), { total: { messages: 1 } });
    expect((await chat.send("One")).limits.budget.usd).toBe(1);
    const refused = chat.send("Two");
    await expect(refused).rejects.toMatchObject({ code: "BUDGET_EXHAUSTED", dimension: "turns", limit: 1 });
    await expect(refused).rejects.toThrow(/total\.messages/);
    expect(chat.used).toMatchObject({ messages: 1, usd: null });
  });

  test("what was used is not known in dollars: no turn begins under a limit in dollars", async () => {
    const chat = conversation(speaker(), { total: { usd: 1 }, used: { usd: null }, prices });
    await expect(chat.send("One")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "used.usd" });
    expect(chat.used.messages).toBe(0);
  });

  test("an amount that is undefined is one that is absent", async () => {
    const used = { usd: undefined, tokens: undefined, messages: undefined };
    const chat = conversation(speaker(), { total: { tokens: 1_000 }, used, prices });
    await chat.send("One");
    expect(chat.used).toEqual({ usd: 0.06, tokens: 60, messages: 1 });
  });

  test("a turn that is suspended and resumed counts once", async () => {
    const chat = conversation(clerk(), { id: "c", journal });
    const handle = await chat.start("Pay");
    await untilAsked(handle);
    await handle.suspend();
    expect(chat.used).toMatchObject({ tokens: 0, messages: 0 });
    const resumed = await chat.resume();
    await resumed?.deliver(await untilAsked(resumed), true);
    const tokens = ({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) =>
      inputTokens + outputTokens;
    const result = await resumed?.result;
    expect(chat.used).toMatchObject({ tokens: result && tokens(result.usage), messages: 1 });
  });
});

describe("close", () => {
  test("ends the running turn and takes no other; a second call changes nothing", async () => {
    const chat = conversation(clerk());
    const handle = await chat.start("Pay");
    await untilAsked(handle);
    await Promise.all([chat.close(), chat.close()]);
    expect((await handle.result).status).toBe("cancelled");
    await expect(chat.send("Hi")).rejects.toThrow(/is closed/);
    await expect(chat.resume()).rejects.toThrow(/is closed/);
    await expect(chat.messages()).rejects.toThrow(/is closed/);
    await chat.close();
  });

  test("while a turn is being prepared: it does not begin", async () => {
    const chat = conversation(counter(), { journal });
    const turn = chat.send("Hi");
    const closing = chat.close();
    await expect(turn).rejects.toThrow(/is closed/);
    await closing;
    expect(await runs({ journal })).toEqual([]);
    expect(existsSync(join(journal, "ravi.db-wal"))).toBe(false);
  });

  test("forgets what only this object could name, and closes no history that was given", async () => {
    const cleared: string[] = [];
    class Watched extends MemoryHistory {
      override clear(key: Parameters<HistoryProvider["clear"]>[0]): void {
        cleared.push(key.sessionId);
        super.clear(key);
      }
      close(): void {
        cleared.push("closed");
      }
    }
    await using given = conversation(counter(), { history: new Watched() });
    await given.send("Hi");
    await given.close();
    expect(cleared).toEqual([]);
    const chat = conversation(counter());
    await chat.send("Hi");
    await chat.close();
    expect((await run(counter(), "Hi", { sessionId: chat.id })).output).toBe("I know 1.");
    const named = conversation(counter(), { id: `named-${chat.id}` });
    await named.send("Hi");
    await named.close();
    expect((await run(counter(), "Hi", { sessionId: named.id })).output).toBe("I know 3.");
  });
});

test("wrong options are refused at once", () => {
  const wrong: [object, RegExp][] = [
    [{ sessionId: "s" }, /conversation options\.sessionId/],
    [{ runId: "r" }, /conversation options\.runId/],
    [{ signal: new AbortController().signal }, /conversation options\.signal/],
    [{ id: "" }, /conversation options\.id is ""/],
    [{ id: null }, /conversation options\.id is null/],
    [{ id: 7 }, /conversation options\.id is 7/],
    [{ id: "a\nb" }, /conversation options\.id/],
    // With a place behind it, it has to be the id of a run, of whichever turn.
    [{ id: "x".repeat(500) }, /conversation options\.id/],
    [{ journal: 7 }, /journal is 7/],
    [{ hooks: { dispatch() {} } }, /hooks is an object/],
    [{ budget: { usd: -1 } }, /budget\.usd/],
    [{ total: { dollars: 1 } }, /total\.dollars/],
    [{ total: { messages: 1.5 } }, /total\.messages/],
    [{ used: { tokens: -1 } }, /used\.tokens/],
  ];
  for (const [options, error] of wrong) expect(() => conversation(counter(), options)).toThrow(error);
  expect(() => conversation({} as never)).toThrow(/agent/);
});

test("what comes from elsewhere under the same session is known too", async () => {
  const chat = conversation(counter(), { id: "s", journal });
  await chat.send("One");
  await start(counter(), "Two", { journal, sessionId: "s" }).result;
  expect((await chat.send("Three")).output).toBe("I know 5.");
});
