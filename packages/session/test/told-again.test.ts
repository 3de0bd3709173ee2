import { MemorySessionStore } from "@ravi/session";
import { describe, expect, it } from "vitest";
import { redactor } from "../src/tree/redact.ts";
import { type Draft, Session } from "../src/tree/session.ts";

// A turn that was interrupted is told again from its start: what it has written before is found, and not written twice.

const says = (content: string): Draft => ({ kind: "message", message: { role: "user", content } });

const shorter = (from: string, to: string): Draft => ({
  kind: "compaction",
  strategy: "x",
  items: [{ from, to }],
  before: 2,
  after: 1,
});

/** A session in which turn `t1` has written two messages, and turn `t2`, of another run, one after them. */
async function twoTurns(): Promise<Session> {
  let ids = 0;
  const session = new Session({
    log: new MemorySessionStore().open("s"),
    redact: redactor([]),
    now: () => 1,
    newId: () => `id${++ids}`,
  });
  session.numberIds("t1");
  await session.append(says("one"));
  await session.append(says("two"));
  session.numberIds("t2");
  await session.append(says("three"));
  return session;
}

async function again(session: Session, ...drafts: readonly Draft[]): Promise<string[]> {
  session.numberIds("t1");
  session.returnTo(null);
  const written: string[] = [];
  for (const draft of drafts) written.push(await session.append(draft));
  return written;
}

it("O19: of two who read a conversation at once, each has messages that are known", async () => {
  const session = await twoTurns();
  const lists = await Promise.all([session.messages(), session.messages()]);
  const ids = lists.map((messages) => messages.map((message) => session.idOf(message)));
  expect(ids).toEqual([
    ["t1-1", "t1-2", "t2-1"],
    ["t1-1", "t1-2", "t2-1"],
  ]);
});

const path = (session: Session): string[] => session.path().map(({ id }) => id);

describe("O19: a turn that is told again", () => {
  it("O19: finds what it has written, and goes on after what others have written since", async () => {
    const session = await twoTurns();
    expect(await again(session, says("one"), says("two"))).toEqual(["t1-1", "t1-2"]);
    expect(session.entries()).toHaveLength(3);
    expect(await session.append(says("four"))).toBe("t1-3");
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t1-3"]);
    // The next one follows that, and not once more what came from others.
    expect(await session.append(says("five"))).toBe("t1-4");
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t1-3", "t1-4"]);
    const texts = (await session.messages()).map(({ content }) => content);
    expect(texts).toEqual(["one", "two", "three", "four", "five"]);
  });

  it("O19: finds also what it has written after what others have written", async () => {
    const session = await twoTurns();
    await again(session, says("one"), says("two"), says("four"));
    expect(await again(session, says("one"), says("two"), says("four"))).toEqual(["t1-1", "t1-2", "t1-3"]);
    expect([path(session), session.entries().length]).toEqual([["t1-1", "t1-2", "t2-1", "t1-3"], 4]);
  });

  it("O19: keeps the place of what is no message, which may refer to what comes before it", async () => {
    const session = await twoTurns();
    await again(session, says("one"), says("two"), { kind: "custom", name: "notes", data: 1 });
    expect(path(session)).toEqual(["t1-1", "t1-2", "t1-3"]);
  });

  it("O19: finds what it has written also if somebody has labelled an entry meanwhile", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.append(says("four"));
    await session.label("t3-1", "here");
    await session.append(says("five"));
    const { length } = session.entries();
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.append(says("four"));
    await session.label("t3-1", "here");
    await session.append(says("five"));
    expect(session.entries()).toHaveLength(length);
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t3-1", "t3-2"]);
    expect(session.labels).toEqual(new Map([["t3-1", "here"]]));
  });

  it("O19: finds what it has written also if somebody has stored something of their own meanwhile", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.appendCustom("outside", 0);
    await session.append(says("four"));
    await session.appendCustom("outside", 1);
    await session.appendCustom("extension", 2);
    await session.append(says("five"));
    await session.appendCustom("outside", 3);
    session.endTurn();
    await session.append(shorter("t3-1", "t3-2"), "t3.c");
    const [before, { length }] = [path(session), session.entries()];
    // The extension does it again, and the others do not.
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.append(says("four"));
    await session.appendCustom("extension", 2);
    await session.append(says("five"));
    session.endTurn();
    await session.append(shorter("t3-1", "t3-2"), "t3.c");
    session.catchUp();
    expect(session.entries()).toHaveLength(length);
    expect(path(session)).toEqual(before);
    expect(before.filter((id) => !id.includes("custom"))).toEqual([
      "t1-1",
      "t1-2",
      "t2-1",
      "t3-1",
      "t3-2",
      "t3.c",
    ]);
  });

  it("O19: keeps what an extension has stored twice, twice", async () => {
    const session = await twoTurns();
    for (let telling = 0; telling < 3; telling++) {
      session.numberIds("t3");
      if (telling > 0) session.returnTo("t2-1");
      for (const said of ["four", "five"]) {
        await session.append(says(said));
        await session.appendCustom("note", "the same");
      }
    }
    expect(path(session).slice(3)).toEqual(["t3-1", "t3-custom1", "t3-2", "t3-custom2"]);
    expect(session.entries()).toHaveLength(7);
  });

  it("O19: is not disturbed by what somebody stores while it is told again: that comes at the end", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    for (const said of ["four", "five"]) await session.append(says(said));
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.append(says("four"));
    const late = await session.appendCustom("outside", 1);
    expect(session.leaf).toBe("t3-1");
    await session.append(says("five"));
    await session.append(says("six"));
    expect(path(session).slice(3)).toEqual(["t3-1", "t3-2", late, "t3-3"]);
    expect((await session.messages()).map(({ content }) => content).slice(3)).toEqual([
      "four",
      "five",
      "six",
    ]);
  });

  it("O19: does not run ahead to what somebody has stored later, though it says the same", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    for (const said of ["four", "five"]) await session.append(says(said));
    await session.appendCustom("note", 1);
    const { length } = session.entries();
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.append(says("four"));
    expect(await session.appendCustom("note", 1)).toBe("t3-custom1");
    expect(session.leaf).toBe("t3-1");
    await session.append(says("five"));
    expect(session.entries()).toHaveLength(length);
    session.endTurn();
    session.catchUp();
    expect(path(session).slice(3)).toEqual(["t3-1", "t3-2", "t3-custom1"]);
  });

  it("O19: hides nothing that others have added behind something that it stores for the first time", async () => {
    const session = await twoTurns();
    await again(session, says("one"), says("two"));
    await session.appendCustom("note", 1);
    await session.append(says("four"));
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t1-custom1", "t1-3"]);
    expect((await session.messages()).map(({ content }) => content)).toEqual(["one", "two", "three", "four"]);
    await again(session, says("one"), says("two"));
    await session.appendCustom("note", 1);
    await session.append(says("four"));
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t1-custom1", "t1-3"]);
    expect(session.entries()).toHaveLength(5);
  });

  it("O19: finds what an extension has stored also if it is stored in another order, as after an abort", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.append(says("four"));
    for (const name of ["stored", "again"]) await session.appendCustom(name, 1);
    const { length } = session.entries();
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.append(says("four"));
    for (const name of ["again", "new", "stored"]) await session.appendCustom(name, 1);
    expect(session.entries()).toHaveLength(length + 1);
  });

  it("O19: does not go astray to what an extension has stored in an attempt that failed", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.appendCustom("input", 1);
    session.moveTo("t2-1");
    await session.appendCustom("agent_end", 1);
    session.numberIds("t3");
    await session.appendCustom("input", 1);
    await session.append(says("four"));
    session.numberIds("t4");
    await session.append(says("five"));
    const before = path(session);
    session.numberIds("t3");
    session.returnTo("t2-1");
    await session.appendCustom("input", 1);
    await session.append(says("four"));
    session.endTurn();
    session.catchUp();
    expect(path(session)).toEqual(before);
  });

  it("O4, O19: says again, after what others have said since, what was taken back when it had failed", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.append(says("four"));
    session.moveTo(session.beforeTurn());
    session.numberIds("t4");
    await session.append(says("five"));
    for (let telling = 0; telling < 3; telling++) {
      session.numberIds("t3");
      session.returnTo(session.beforeTurn("t3-1"));
      expect(await session.append(says("four"))).toBe("t3-1.2");
      expect(await session.append(says("six"))).toBe("t3-2");
      session.endTurn();
      session.catchUp();
      expect(path(session).slice(3)).toEqual(["t4-1", "t3-1.2", "t3-2"]);
    }
  });

  it("O19: does not see what others have said since, though an extension has stored something after that", async () => {
    const session = await twoTurns();
    session.numberIds("t3");
    await session.append(says("four"));
    session.moveTo(session.beforeTurn());
    session.numberIds("t4");
    await session.append(says("five"));
    for (let telling = 0; telling < 3; telling++) {
      session.numberIds("t3");
      session.returnTo(session.beforeTurn("t3-1"));
      await session.appendCustom("input", 1);
      const seen = (await session.messages()).map(({ content }) => content);
      expect(seen).toEqual(["one", "two", "three"]);
      await session.append(says("four"));
      session.endTurn();
      session.catchUp();
      expect(path(session).slice(3)).toEqual(["t4-1", "t3-custom1", "t3-1.2"]);
    }
  });

  it("O19: says a second time that it was taken back, if others have taken the session elsewhere since", async () => {
    const session = await twoTurns();
    for (const id of ["t3", "t3"]) {
      session.numberIds(id);
      session.moveTo("t1-1");
      await session.writeLeaf();
      session.numberIds("t4");
      session.moveTo("t2-1");
      await session.writeLeaf();
    }
    const targets = session.entries().map((head) => Reflect.get(head.entry ?? {}, "target"));
    expect(targets.slice(3)).toEqual(["t1-1", "t2-1", "t1-1", "t2-1"]);
  });

  it("O19: knows what others have built on also if it cannot write what comes next", async () => {
    const log = new MemorySessionStore().open("s");
    let isFull = false;
    const refusing = {
      ...log,
      read: (head: Parameters<typeof log.read>[0]) => log.read(head),
      append: (...given: Parameters<typeof log.append>) => {
        if (isFull) throw new Error("the disk is full");
        return log.append(...given);
      },
      close: () => log.close(),
    };
    const session = new Session({ log: refusing, redact: redactor([]), now: () => 1, newId: () => "id" });
    session.numberIds("t1");
    await session.append(says("one"));
    session.numberIds("t2");
    await session.append(says("two"));
    session.numberIds("t1");
    session.returnTo(null);
    await session.append(says("one"));
    // What an extension stores now comes after what they have said.
    await session.appendCustom("note", 1);
    isFull = true;
    await expect(session.append(says("three"))).rejects.toThrow("full");
    expect(session.isBuiltOn).toBe(true);
  });

  it("O19: that says something else writes it under another name, on a branch of its own", async () => {
    const session = await twoTurns();
    expect(await again(session, says("one"), says("other"))).toEqual(["t1-1", "t1-2.2"]);
    expect(path(session)).toEqual(["t1-1", "t1-2.2"]);
    expect(session.entries()).toHaveLength(4);
  });

  it("O19: at another place writes it under another name, although it says the same", async () => {
    const session = await twoTurns();
    session.numberIds("t1");
    session.returnTo("t2-1");
    expect(await session.append(says("one"))).toBe("t1-1.2");
    expect(path(session)).toEqual(["t1-1", "t1-2", "t2-1", "t1-1.2"]);
  });

  it("O19: and has nothing new to say leaves the session where others have taken it", async () => {
    const session = await twoTurns();
    await again(session, says("one"), says("two"));
    await session.writeLeaf();
    expect(session.entries().map(({ kind }) => kind)).toEqual(["message", "message", "message"]);
    // Whoever goes back without telling a turn again says so.
    session.numberIds(undefined);
    session.moveTo("t1-1");
    await session.writeLeaf();
    expect(session.entries().at(-1)).toMatchObject({ kind: "leaf", parent: null, entry: { target: "t1-1" } });
    await session.writeLeaf();
    expect(session.entries()).toHaveLength(4);
  });

  it("O19: an id that cannot be in a file is refused, and nothing is written", async () => {
    const session = await twoTurns();
    for (const id of ["", "a b", "a/b", "ä", "x".repeat(121)])
      await expect(session.append(says("x"), id)).rejects.toMatchObject({ field: "entry id" });
    expect(session.entries()).toHaveLength(3);
  });
});
