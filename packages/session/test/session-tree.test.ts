import { type ChatMessage, JournalFailedError } from "@ravi/kernel";
import { MemorySessionStore, type SessionEntry, type SessionLog, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { session } from "./support.ts";

const model = scriptedModel(() => "yes", { record: false });
const said = (id: string, parent: string | null, content: string): SessionEntry => {
  return { kind: "message", id, parent, at: 1, message: { role: "user", content } };
};

/** A store with these entries in session "s", whatever they are. */
function stored(...entries: readonly SessionEntry[]): MemorySessionStore {
  const store = new MemorySessionStore();
  const log = store.open("s");
  log.append(entries, { at: 1 });
  log.close();
  return store;
}

/** The same sessions, where any operation may fail. */
function failing(store: MemorySessionStore, fail: (operation: keyof SessionLog) => void): SessionStore {
  return {
    list: () => store.list(),
    delete: (id) => store.delete(id),
    open(id) {
      const log = store.open(id);
      return {
        id,
        get info() {
          return log.info;
        },
        heads: log.heads,
        read(head) {
          fail("read");
          return log.read(head);
        },
        append(...given) {
          fail("append");
          return log.append(...given);
        },
        close() {
          fail("close");
          return log.close();
        },
      };
    },
  };
}

const opened = (store: MemorySessionStore, sessionId = "s") => session({ model, store, sessionId }).open();

const texts = (messages: readonly ChatMessage[]): unknown[] => messages.map(({ content }) => content);

it.each<[string, readonly SessionEntry[]]>([
  ["two entries have the id b", [said("a", null, "1"), said("b", "a", "2"), said("b", "a", "3")]],
  [
    "the parent x of entry c does not exist",
    [said("a", null, "1"), said("b", "a", "2"), said("c", "x", "3")],
  ],
  [
    "the parent c of entry c does not exist",
    [said("a", null, "1"), said("b", "a", "2"), said("c", "c", "3")],
  ],
])("O19: a session in which %s is refused, and the line is named", async (problem, entries) => {
  await expect(opened(stored(...entries))).rejects.toMatchObject({
    code: "JOURNAL_CORRUPT",
    message: expect.stringContaining(problem),
    // The first line is the header.
    line: 4,
    position: 2,
  });
});

it("O19: a session goes on where its last leaf says, also before its first message", async () => {
  const store = stored(said("a", null, "1"), said("b", "a", "2"), {
    kind: "leaf",
    id: "l",
    parent: null,
    at: 1,
    target: "a",
  });
  const manager = await opened(store);
  expect([manager.leaf, texts(await manager.messages())]).toEqual(["a", ["1"]]);
  const begun = stored(said("a", null, "1"), { kind: "leaf", id: "l", parent: null, at: 1, target: null });
  const fresh = await opened(begun);
  expect([fresh.leaf, await fresh.messages()]).toEqual([null, []]);
});

it("O19: a label that was removed is gone, also when the session is opened again", async () => {
  const store = new MemorySessionStore();
  const one = session({ model, store, sessionId: "s" });
  await one.invoke("first");
  const first = one.sessionManager.leaf ?? "";
  await one.sessionManager.label(first, "start");
  await one.sessionManager.label(first, "begin");
  expect(one.sessionManager.labels).toEqual(new Map([[first, "begin"]]));
  await one.sessionManager.label(first, null);
  expect(one.sessionManager.labels).toEqual(new Map());
  await one.close();
  expect((await opened(store)).labels).toEqual(new Map());
});

it("O19: a fork has the labels of what it has, and of nothing else, and says where it comes from", async () => {
  const store = new MemorySessionStore();
  const one = session({ model, store, sessionId: "s" });
  await one.invoke("first");
  const first = one.sessionManager.leaf ?? "";
  await one.invoke("second");
  const second = one.sessionManager.leaf ?? "";
  await one.sessionManager.label(first, "kept");
  await one.sessionManager.label(second, "left behind");
  await one.fork(first, { newSession: true, note: "another try" });
  const manager = one.sessionManager;
  expect(manager.labels).toEqual(new Map([[first, "kept"]]));
  expect(manager.info?.origin).toEqual({ sessionId: "s", entryId: first });
  expect(texts(await manager.messages())).toEqual(["first", "yes"]);
});

it("O19: what is written while another entry is being written comes after it, and one that fails holds nobody up", async () => {
  const store = new MemorySessionStore();
  const full = new JournalFailedError({ what: "append", final: false, cause: "full" });
  // Each write takes a moment, and the first one fails.
  let writes = 0;
  const slow: SessionStore = {
    list: () => store.list(),
    delete: (id) => store.delete(id),
    open(id) {
      const log = store.open(id);
      const write = log.append.bind(log);
      const append: SessionLog["append"] = async (...given) => {
        await new Promise((resolve) => setImmediate(resolve));
        if (++writes === 1) throw full;
        return write(...given);
      };
      return Object.assign(log, { append });
    },
  };
  const agent = session({ model, store: slow, sessionId: "s" });
  const manager = await agent.open();
  const written = ["bad", "a", "b", "c"].map((name) => manager.appendCustom(name, { name }));
  const [bad, ...good] = await Promise.allSettled(written);
  expect(bad).toEqual({ status: "rejected", reason: full });
  const ids = good.map((each) => (each.status === "fulfilled" ? each.value : each.reason));
  expect(manager.path().map(({ id }) => id)).toEqual(ids);
  // Not awaited: it is written before the session is closed.
  const late = manager.appendCustom("d", null);
  await agent.close();
  const again = await opened(store);
  expect(again.path().map(({ id }) => id)).toEqual([...ids, await late]);
});

it("O19: data of an extension is what it was when it was given, and has a name", async () => {
  const manager = await opened(new MemorySessionStore());
  const data = { list: [1] };
  const written = manager.appendCustom("notes", data);
  data.list.push(2);
  expect(await manager.read(await written)).toMatchObject({
    kind: "custom",
    name: "notes",
    data: { list: [1] },
  });
  for (const name of ["", 7, undefined])
    await expect(manager.appendCustom(name as never, null)).rejects.toMatchObject({ field: "name" });
  await expect(manager.label("nothing", "x")).rejects.toMatchObject({ field: "entry id" });
  await expect(manager.read("nothing")).rejects.toMatchObject({ field: "entry id" });
});

it("O19: a fork has the system prompt of what it has, once, so that a turn of it can be told again", async () => {
  const store = new MemorySessionStore();
  const agent = session({ model, store, sessionId: "s", prompt: "Be brief." });
  await agent.invoke("first");
  await agent.invoke("second");
  const { leaf } = agent.sessionManager;
  await agent.fork(leaf ?? "", { newSession: true });
  const manager = agent.sessionManager;
  const prompts = manager.entries().filter(({ kind }) => kind === "prompt");
  const asked = await Promise.all(manager.path().map(({ id }) => manager.read(id)));
  const used = asked.flatMap((entry) => (entry.kind === "message" ? (entry.prompt ?? []) : []));
  expect([prompts.length, new Set(used)]).toEqual([1, new Set(prompts.map(({ id }) => id))]);
  expect(await manager.read(prompts[0]?.id ?? "")).toMatchObject({ kind: "prompt" });
});

it("O19: nobody goes to an entry that is no part of the conversation, here or in a new session", async () => {
  const store = new MemorySessionStore();
  const agent = session({ model, store, sessionId: "s" });
  await agent.invoke("first");
  const manager = agent.sessionManager;
  const { leaf } = manager;
  await manager.label(leaf ?? "", "start");
  const label = manager.entries().find(({ kind }) => kind === "label");
  for (const newSession of [false, true])
    for (const [id, expected] of [
      [label?.id ?? "", "an entry that is part of the conversation (not a leaf, label or prompt)"],
      ["nothing", "an entry of session s"],
    ] as const)
      await expect(agent.fork(id, { newSession })).rejects.toMatchObject({
        code: "INVALID_VALUE",
        field: "entry id",
        message: expect.stringContaining(expected),
      });
  expect([agent.sessionManager.sessionId, agent.sessionManager.leaf]).toEqual(["s", leaf]);
});

it("O19: a path to an entry that does not exist is an error that names it, and not empty", async () => {
  const manager = await opened(stored(said("a", null, "1"), said("b", "a", "2")));
  expect(manager.path("a").map(({ id }) => id)).toEqual(["a"]);
  expect(manager.path(null)).toEqual([]);
  expect(() => manager.path("c")).toThrow(
    expect.objectContaining({ field: "entry id", message: expect.stringContaining('"c"') }),
  );
});

it("O14: contextUsage is of the conversation that is open, and of where it stands", async () => {
  const store = new MemorySessionStore();
  const long = "word ".repeat(500);
  const first = session({ model: scriptedModel(() => long), store, sessionId: "s" });
  await first.invoke("Hello");
  const [question] = first.sessionManager.path();
  await first.close();

  const agent = session({ model, store, sessionId: "s" });
  expect(agent.contextUsage().tokens).toBe(0);
  await agent.open();
  const whole = agent.contextUsage().tokens;
  expect(whole).toBeGreaterThan(500);
  await agent.fork(question?.id ?? "");
  const forked = agent.contextUsage().tokens;
  expect(forked).toBeGreaterThan(0);
  expect(forked).toBeLessThan(20);
  await agent.newSession();
  expect(agent.contextUsage().tokens).toBe(0);
  await agent.switchSession("s");
  expect(agent.contextUsage().tokens).toBe(forked);
});

it("O13: a session whose messages cannot be read just now is open all the same, and is counted by the next turn", async () => {
  const memory = stored(said("a", null, "word ".repeat(500)));
  let isBroken = true;
  const store = failing(memory, (operation) => {
    if (operation !== "read" || !isBroken) return;
    throw new JournalFailedError({ what: "the session", final: false, cause: "EIO" });
  });
  const agent = session({ model, store, sessionId: "s" });
  await agent.open();
  await expect(agent.invoke("Hello")).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  isBroken = false;
  await agent.invoke("Hello");
  expect(agent.contextUsage().tokens).toBeGreaterThan(500);
});

it.each([
  [true, 1],
  [false, 0],
])(
  "O19: a session is opened again after a failure if that is final (%s), and only then",
  async (final, times) => {
    let isBroken = true;
    let closed = 0;
    const store = failing(new MemorySessionStore(), (operation) => {
      if (operation === "close") closed++;
      if (operation !== "append" || !isBroken) return;
      throw new JournalFailedError({ what: "the session", final, cause: "EIO" });
    });
    const agent = session({ model, store, sessionId: "s" });
    await expect(agent.invoke("one")).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    isBroken = false;
    await agent.invoke("two");
    expect(closed).toBe(times);
    expect(texts(await agent.sessionManager.messages())).toEqual(["two", "yes"]);
  },
);
