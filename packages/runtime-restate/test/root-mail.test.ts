import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { childLaunch, rootLaunch } from "./fakes.ts";
import { LARGE, over, StoredTree } from "./tree.ts";

const CHILD = "run/hire:a";

async function hire(tree: StoredTree): Promise<void> {
  const launch = childLaunch(rootLaunch(), CHILD, "a");
  const terms = { key: "hire:a", agentId: "a", priority: null, budget: null, onFull: "deny" } as const;
  await tree.say("hire", { execId: "run", lane: 1, launch, ...terms });
}

function letter(id: string, to = "run") {
  return { to, message: { id, from: "user", content: `content of ${id}`, at: 1 } };
}

function read(n: number, { execId = "run", wait = false } = {}) {
  const key = `inbox#${n}`;
  return { execId, lane: n + 1, key, wait, awakeable: `read ${n}`, bell: `bell ${n}` };
}

describe("a message from outside", () => {
  test("R24: messages are read in the order in which they came, and the same id counts once", async () => {
    const tree = await StoredTree.start(rootLaunch());
    for (const id of ["m1", "m2", "m1"]) expect(await tree.say("send", letter(id))).toBe(null);
    const heard = [await tree.say("mail", read(1)), await tree.say("mail", read(2))];
    expect(heard.map(({ message }) => message?.content)).toEqual(["content of m1", "content of m2"]);
    expect(heard.map(({ hasMore }) => hasMore)).toEqual([true, false]);
    await tree.say("send", letter("m2"));
    expect((await tree.say("mail", read(3))).message).toBe(null);
  });

  test("R24: who waits for a message gets it at once, and an answer that was lost is given again", async () => {
    const tree = await StoredTree.start(rootLaunch());
    expect(await tree.say("mail", read(1, { wait: true }))).not.toHaveProperty("message");
    await tree.say("send", letter("m1"));
    expect(tree.resolved.get("read 1")).toMatchObject({ value: { id: "m1", from: "user" } });
    expect(tree.resolved.has("bell 1")).toBe(false);
    expect((await tree.say("mail", read(1, { wait: true }))).message).toMatchObject({ id: "m1" });
  });

  test("R24: it can be sent to a child before that is hired, and is kept for it", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("send", letter("m1", CHILD));
    await tree.say("send", letter("m2", "run/hire:other"));
    await hire(tree);
    expect(Object.keys(tree.state.early ?? {})).toEqual(["run/hire:other"]);
    expect(await tree.say("enter", { execId: CHILD, stop: "s", bell: "b" })).toMatchObject({ hasMail: true });
    expect((await tree.say("mail", read(1, { execId: CHILD }))).message).toMatchObject({ id: "m1" });
    expect((await tree.say("mail", read(2, { execId: CHILD }))).message).toBe(null);
  });

  test("R24: it is refused when its run has ended, unless it was read", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("send", letter("read"));
    await tree.say("mail", read(1));
    await tree.say("send", letter("unread"));
    await tree.say("send", letter("early", CHILD));
    await tree.say("over", over("run"));
    expect(await tree.say("send", letter("read"))).toBe(null);
    for (const late of [letter("unread"), letter("early", CHILD), letter("new")])
      expect(await tree.say("send", late)).toEqual({ ended: "completed" });
    expect(tree.state.early).toBe(undefined);
  });

  test("R24: it is refused when its recipient has ended, also while that waits for its children, unless it was read", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await hire(tree);
    await tree.say("send", letter("read", CHILD));
    await tree.say("mail", read(1, { execId: CHILD }));
    await tree.say("send", letter("unread", CHILD));
    await tree.say("end", { execId: "run", lane: 3, awakeable: "ended" });
    expect(await tree.say("send", letter("to the root"))).toEqual({ isMissed: true });
    expect(await tree.say("send", letter("to the child", CHILD))).toBe(null);
    await tree.say("over", over(CHILD));
    for (const id of ["unread", "new"])
      expect(await tree.say("send", letter(id, CHILD))).toEqual({ isMissed: true });
    expect(await tree.say("send", letter("read", CHILD))).toBe(null);
  });

  test("R24: one that its recipient had not read when it ended is refused if it is sent again, also before its children have ended", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await hire(tree);
    await tree.say("send", letter("read"));
    await tree.say("mail", read(1));
    await tree.say("send", letter("unread"));
    await tree.say("end", { execId: "run", lane: 3, awakeable: "ended" });
    expect(await tree.say("send", letter("unread"))).toEqual({ isMissed: true });
    expect(await tree.say("send", letter("read"))).toBe(null);
  });

  test("R24: it is refused where there is no room to keep it, and then it does not count as sent", async () => {
    const tree = await StoredTree.start(rootLaunch());
    const noise = randomBytes(LARGE).toString("base64");
    const large = (id: string) => ({ to: CHILD, message: { ...letter(id).message, content: noise } });
    expect(await tree.say("send", large("m1"))).toBe(null);
    const answer = await tree.say("send", large("m2"));
    expect(answer).toMatchObject({
      refused: { message: expect.stringMatching(/^send\.message, with what/) },
    });
    expect(tree.state.delivered).toEqual(["m1"]);
  });

  test("R24: a reply to it goes nowhere, whatever its sender has called it", async () => {
    const tree = await StoredTree.start(rootLaunch());
    for (const messageId of ["constructor", "toString", "m1"]) {
      await tree.say("send", letter(messageId));
      await tree.say("reply", { execId: "run", lane: 1, messageId, value: "thanks" });
    }
    expect([...tree.resolved.keys()]).toEqual([]);
  });
});

describe("the bell of an execution", () => {
  test("R24: it is rung by the first message, and not again before all mail is read", async () => {
    const tree = await StoredTree.start(rootLaunch());
    expect(await tree.say("enter", { execId: "run", stop: "s", bell: "bell 0" })).toMatchObject({
      hasMail: false,
    });
    const rung = () => [...tree.resolved.keys()];
    expect(rung()).toEqual([]);
    for (const id of ["m1", "m2"]) await tree.say("send", letter(id));
    expect([rung(), tree.state.execs["run"]?.bell]).toEqual([["bell 0"], undefined]);
    expect((await tree.say("mail", read(1))).hasMore).toBe(true);
    await tree.say("send", letter("m3"));
    expect(rung()).toEqual(["bell 0"]);
    expect((await tree.say("mail", read(2))).hasMore).toBe(true);
    expect((await tree.say("mail", read(3))).hasMore).toBe(false);
    await tree.say("send", letter("m4"));
    expect(rung()).toEqual(["bell 0", "bell 3"]);
  });

  test("R24: a read whose answer was lost gives the same message again, and says what has come since", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await tree.say("send", letter("m1"));
    expect(await tree.say("mail", read(1))).toMatchObject({ message: { id: "m1" }, hasMore: false });
    await tree.say("send", letter("m2"));
    expect(await tree.say("mail", read(1))).toMatchObject({ message: { id: "m1" }, hasMore: true });
    expect(await tree.say("mail", read(2))).toMatchObject({ message: { id: "m2" }, hasMore: false });
  });

  test("R24: what a parent asks rings it, too", async () => {
    const tree = await StoredTree.start(rootLaunch());
    await hire(tree);
    await tree.say("enter", { execId: CHILD, stop: "s", bell: "bell 0" });
    const { message } = letter("q1");
    await tree.say("ask", { execId: "run", lane: 2, child: CHILD, message, awakeable: "answer" });
    expect([...tree.resolved.keys()]).toEqual(["bell 0"]);
    await tree.say("mail", read(1, { execId: CHILD }));
    await tree.say("reply", { execId: CHILD, lane: 2, messageId: "q1", value: "fine" });
    expect(tree.resolved.get("answer")).toEqual({ reply: "fine" });
  });
});
